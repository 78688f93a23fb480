package publisher

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Access tries the credentials with an upload that has no file.
func (t *pypi) Access(ctx context.Context, _ Release) error { return t.login(ctx) }

// Access asks whether the repository takes a file. It asks for a name that no client reads.
func (t *maven) Access(ctx context.Context, r Release) error {
	return t.store.writable(ctx, path.Join(t.group(r), ".sluice-access"), room(r))
}

// group is the directory of the target's groupId, as far as it is known before there is a file.
func (t *maven) group(r Release) string {
	group, err := r.expand(t.options["group"], nil)
	if err != nil || !coordinate.MatchString(group) {
		return ""
	}
	return strings.ReplaceAll(group, ".", "/")
}

// Access asks whether the directory can be written and has room.
func (t *pypiIndex) Access(_ context.Context, r Release) error { return t.folder.writable(room(r)) }

// Access begins an upload in every repository of the release, and gives it up.
func (t *oci) Access(ctx context.Context, r Release) error {
	repositories, err := t.repositories(r)
	if err != nil {
		return err
	}
	for _, repository := range repositories {
		registry, err := openRegistry(ctx, t.setup, repository)
		if err == nil {
			err = registry.writable(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repositories are those of the release's images. Before there are images it is the one of all of them, if there is one.
func (t *oci) repositories(r Release) ([]string, error) {
	var out []string
	for _, item := range r.Items {
		repository, err := r.expand(t.setup.Options["repository"], &item)
		if err != nil {
			return nil, err
		}
		out = append(out, repository)
	}
	if len(r.Items) == 0 {
		repository, err := r.expand(t.setup.Options["repository"], nil)
		if err != nil {
			return nil, nil //nolint:nilerr // its words are those of an image
		}
		out = append(out, repository)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// room is how many bytes a release takes.
func room(r Release) int64 {
	var n int64
	for _, item := range r.Items {
		n += max(item.Artifact.Size, 0)
	}
	return n
}

// writable makes a file in the folder and removes it, and looks whether there is room.
func (f *folder) writable(size int64) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := ".new-" + strings.ToLower(rand.Text())[:12]
	if err := writeSynced(root, name, strings.NewReader("")); err != nil {
		return diskFault("write to", f.path, err)
	}
	if err := root.Remove(name); err != nil {
		return diskFault("write to", f.path, err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(f.path, &disk); err != nil {
		return diskFault("look at the disk of", f.path, err)
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < size { //nolint:gosec // no disk has 2^63 bytes
		return fault.New(fault.Transient, "cannot publish to %s: the release has %d bytes, the disk has room for %d; make room", f.path, size, free)
	}
	return nil
}

var errAsking = errors.New("the body is not sent: it was only asked whether it may be")

// unsent is a body that notes whether the server wants it, and is never sent.
type unsent struct{ wanted atomic.Bool }

func (b *unsent) Read([]byte) (int, error) {
	b.wanted.Store(true)
	return 0, errAsking
}

// mayWrite asks whether a file may be put at an address, and puts none: the request waits for the server's word before its
// body ("Expect: 100-continue") and ends there. A server that says nothing before it has the body tells nothing.
func (r *remote) mayWrite(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	body := &unsent{}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, io.NopCloser(body))
	if err != nil {
		return fault.New(fault.Invalid, "cannot write: the address is not a URL")
	}
	req.ContentLength = 1
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := r.do(req)
	switch {
	case err == nil:
		return resp.Body.Close()
	case body.wanted.Load() || statusOf(err) != 0 && !fault.Is(err, fault.Denied) && !fault.Is(err, fault.Transient):
		return nil // it would take the file, or does not like this name
	case fault.Is(err, fault.Denied):
		return fmt.Errorf("the credentials do not allow to write: %w", err)
	default:
		return err
	}
}

// writable begins an upload and gives it up: whoever may do that may push.
func (g *registry) writable(ctx context.Context) error {
	address := url.URL{Scheme: g.repo.Scheme(), Host: g.repo.RegistryStr(), Path: "/v2/" + g.repo.RepositoryStr() + "/blobs/uploads/"}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), nil)
	if err != nil {
		return fault.New(fault.Invalid, "cannot write to %s: %w", g.repo.Name(), err)
	}
	client := http.Client{Transport: g.login, CheckRedirect: g.remote.redirect}
	resp, err := client.Do(req)
	if err != nil {
		return g.remote.broken(req, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the credentials do not allow to push: %w", g.remote.refused(req, resp))
	}
	g.giveUp(ctx, client, resp)
	return nil
}

// giveUp ends an upload that has no bytes. A registry that does not let it end forgets it by itself.
func (g *registry) giveUp(ctx context.Context, client http.Client, begun *http.Response) {
	at, err := begun.Location()
	if err != nil || !g.remote.owns(at) {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, at.String(), nil)
	if err != nil {
		return
	}
	if resp, err := client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}
