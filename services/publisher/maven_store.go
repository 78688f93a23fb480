package publisher

import (
	"bytes"
	"context"
	"crypto/md5"  //nolint:gosec // Maven's clients ask for it; digests decide
	"crypto/sha1" //nolint:gosec // Maven's clients ask for it; digests decide
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"path"

	"github.com/sluiceci/sluice/pkg/release"
)

// mavenStore is where a Maven repository lies. Reading what is not there gives fs.ErrNotExist.
type mavenStore interface {
	where() string
	location(name string) string
	read(ctx context.Context, name string, limit int64) ([]byte, error)
	sum(ctx context.Context, name string, size int64) (checksums, error)
	stage(ctx context.Context, f mavenContent) error
	put(ctx context.Context, name string, f mavenContent) error
	lock(ctx context.Context) (unlock func(), err error)
	writable(ctx context.Context, name string, size int64) error
}

// mavenContent is bytes whose sums are known; open may be called several times.
type mavenContent struct {
	sums checksums
	size int64
	open func() (io.Reader, error)
}

func textContent(b []byte) mavenContent {
	sums, _ := sumOf(bytes.NewReader(b)) // memory does not fail
	return mavenContent{sums: sums, size: int64(len(b)), open: func() (io.Reader, error) { return bytes.NewReader(b), nil }}
}

// checksums are hexadecimal, by file ending.
type checksums map[string]string

func checksumEndings() []string { return []string{".md5", ".sha1", ".sha256", ".sha512"} }

func (c checksums) digest() release.Digest { return release.Digest("sha256:" + c[".sha256"]) }

func sumOf(r io.Reader) (checksums, error) {
	hashes := map[string]hash.Hash{".md5": md5.New(), ".sha1": sha1.New(), ".sha256": sha256.New(), ".sha512": sha512.New()} //nolint:gosec // see the imports
	var all []io.Writer
	for _, h := range hashes {
		all = append(all, h)
	}
	if _, err := io.Copy(io.MultiWriter(all...), r); err != nil {
		return nil, err
	}
	sums := checksums{}
	for ending, h := range hashes {
		sums[ending] = hex.EncodeToString(h.Sum(nil))
	}
	return sums, nil
}

// mavenFolder is a repository in a directory. Files are staged by their digest and renamed into place.
type mavenFolder struct{ folder *folder }

func (s mavenFolder) where() string { return "the repository in " + s.folder.path }

func (s mavenFolder) location(name string) string { return path.Join(s.folder.path, name) }

func (s mavenFolder) read(_ context.Context, name string, limit int64) ([]byte, error) {
	return s.folder.read(name, limit)
}

func (s mavenFolder) sum(_ context.Context, name string, _ int64) (sums checksums, err error) {
	err = s.folder.view(name, func(r io.Reader) error {
		sums, err = sumOf(r)
		return err
	})
	return sums, err
}

func stagedPath(f mavenContent) string { return path.Join(".staged", f.sums.digest().Hex()) }

func (s mavenFolder) stage(_ context.Context, f mavenContent) error {
	if staged, err := s.folder.digest(stagedPath(f)); err == nil && staged == f.sums.digest() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r, err := f.open()
	if err != nil {
		return err
	}
	return s.folder.write(stagedPath(f), r)
}

func (s mavenFolder) put(ctx context.Context, name string, f mavenContent) error {
	if err := s.stage(ctx, f); err != nil {
		return err
	}
	return s.folder.move(stagedPath(f), name)
}

func (s mavenFolder) writable(_ context.Context, _ string, size int64) error {
	return s.folder.writable(size)
}

func (s mavenFolder) lock(ctx context.Context) (func(), error) { return s.folder.lock(ctx) }

// mavenServer is a repository behind HTTP PUT. It has no staging area.
type mavenServer struct{ remote *remote }

func (s mavenServer) where() string { return clean(s.remote.base) }

func (s mavenServer) location(name string) string { return s.remote.at(name) }

func (s mavenServer) read(ctx context.Context, name string, limit int64) ([]byte, error) {
	return s.remote.read(ctx, s.remote.at(name), limit)
}

func (s mavenServer) sum(ctx context.Context, name string, size int64) (sums checksums, err error) {
	err = s.remote.get(ctx, s.remote.at(name), "", unknownSize(size), func(resp *http.Response) error {
		sums, err = sumOf(resp.Body)
		return err
	})
	return sums, err
}

func (mavenServer) stage(context.Context, mavenContent) error { return nil }

func (s mavenServer) put(ctx context.Context, name string, f mavenContent) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	return s.remote.send(ctx, http.MethodPut, s.remote.at(name), "application/octet-stream", f.size, r)
}

func (mavenServer) lock(context.Context) (func(), error) { return func() {}, nil }

func (s mavenServer) writable(ctx context.Context, name string, _ int64) error {
	return s.remote.mayWrite(ctx, s.remote.at(name))
}
