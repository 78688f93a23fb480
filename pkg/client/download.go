package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Folder is where artifacts are downloaded to: <folder>/<task>/<name>. Nothing is written outside it, whatever names a
// server gives, and through no link that leads out.
type Folder struct {
	root *os.Root
}

// OpenFolder makes a folder, unless there is one.
func OpenFolder(name string) (*Folder, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fault.New(fault.Invalid, "cannot download to %s: %w", name, err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot download to %s: %w", name, err)
	}
	return &Folder{root}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Path is the path of an artifact below a folder. A name that is more than a file's name is refused.
func (a Artifact) Path() (string, error) {
	name := a.Name
	if a.Directory && !strings.HasSuffix(name, ".tar") {
		name += ".tar" // a directory travels as one file
	}
	bad := strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || r == ':' || unicode.IsControl(r) })
	if bad || a.Name == "" || a.Name == "." || a.Name == ".." || len(name) > 240 || !filepath.IsLocal(name) {
		return "", fault.New(fault.Denied, "cannot store artifact %q of task %s: its name is no plain file name", Line(a.Name), Line(string(a.Task)))
	}
	if !release.Token(string(a.Task)) {
		return "", fault.New(fault.Denied, "cannot store artifact %q: its task %q is no task's name", Line(a.Name), Line(string(a.Task)))
	}
	if !a.Digest.Valid() {
		return "", fault.New(fault.Invalid, "cannot store artifact %q: its digest is %q, expected sha256", Line(a.Name), Line(string(a.Digest)))
	}
	return filepath.Join(string(a.Task), name), nil
}

// Download stores an artifact in a folder, compared with its digest, and reports the path below the folder and whether
// the same bytes were there already. A file of other bytes is never replaced.
func (c *Client) Download(ctx context.Context, run release.RunID, a Artifact, to *Folder) (path string, present bool, err error) {
	path, err = a.Path()
	if err != nil {
		return "", false, err
	}
	if present, err = to.has(path, a); present || err != nil {
		return path, present, err
	}
	if err := to.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return path, false, fault.New(fault.Invalid, "cannot store artifact %s: %w", path, err)
	}
	part := path + ".part"
	defer func() { _ = to.root.Remove(part) }() // gone already when all went well
	if err := c.fetch(ctx, run, a, to, part); err != nil {
		return path, false, err
	}
	if err := to.root.Rename(part, path); err != nil {
		return path, false, fault.New(fault.Invalid, "cannot store artifact %s: %w", path, err)
	}
	return path, false, nil
}

// has reports whether the file is there with the right bytes.
func (f *Folder) has(path string, a Artifact) (bool, error) {
	file, err := f.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.Invalid, "cannot look at %s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false, fault.New(fault.Invalid, "cannot look at %s: %w", path, err)
	}
	if found := digest(sum); found != a.Digest {
		return false, fault.New(fault.Conflict, "cannot store artifact %s: a file of that name is there with other bytes (%s, expected %s); "+
			"remove it or choose another folder", path, found, a.Digest)
	}
	return true, nil
}

func digest(sum hash.Hash) release.Digest { return release.DigestFrom(sum.Sum(nil)) }

// fetch downloads an artifact to a new file and compares its size and digest.
func (c *Client) fetch(ctx context.Context, run release.RunID, a Artifact, to *Folder, part string) error {
	answer, err := c.artifact(ctx, run, a)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	file, err := to.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fault.New(fault.Invalid, "cannot store artifact %s: %w", part, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(answer, a.Size+1))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	switch found := digest(sum); {
	case err != nil:
		return fault.New(fault.Transient, "cannot download artifact %s: %w", Line(a.Name), err)
	case n != a.Size || found != a.Digest:
		return fault.New(fault.Invalid, "cannot download artifact %s: %d bytes of digest %s came, expected %d bytes of digest %s; nothing was kept",
			Line(a.Name), n, found, a.Size, a.Digest)
	}
	return nil
}
