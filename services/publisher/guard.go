package publisher

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"regexp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// guarded stands before every target and holds law 6: what was tested is what is published. It refuses a release that
// has anything outside its candidate, and gives the target readers that fail rather than end when the bytes are not
// those of the digest.
type guarded struct {
	target Target
	most   int64 // bytes of one file that the target takes; 0 is any
}

func (g guarded) Access(ctx context.Context, r Release) error {
	if len(r.Items) == 0 {
		return g.target.Access(ctx, r)
	}
	return admitted(ctx, r, g.target.Access)
}

func (g guarded) Probe(ctx context.Context, r Release) (Probe, error) {
	r, err := admit(r)
	if err != nil {
		return Probe{}, err
	}
	for _, item := range r.Items {
		if g.most > 0 && item.Artifact.Size > g.most {
			return Probe{}, fault.New(fault.Invalid, "cannot publish %q: it has %d bytes, the target takes files of at most %d (option max_size)",
				item.Artifact.Name, item.Artifact.Size, g.most)
		}
	}
	return g.target.Probe(ctx, r)
}

func (g guarded) Stage(ctx context.Context, r Release) error { return admitted(ctx, r, g.target.Stage) }
func (g guarded) Commit(ctx context.Context, r Release) error {
	return admitted(ctx, r, g.target.Commit)
}

func (g guarded) Verify(ctx context.Context, r Release) error {
	return admitted(ctx, r, g.target.Verify)
}

func (g guarded) Undo(ctx context.Context, r Release) error {
	can, is := g.target.(undoer)
	if !is {
		return fault.New(fault.Invalid, "cannot undo the commit: a target of this kind cannot take back what users see")
	}
	return admitted(ctx, r, can.Undo)
}

func admitted(ctx context.Context, r Release, step func(context.Context, Release) error) error {
	r, err := admit(r)
	if err != nil {
		return err
	}
	return step(ctx, r)
}

// fileName is what an artifact may be called where it is published: one path segment, not hidden, not an option.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+!~@=-]{0,249}$`)

func admit(r Release) (Release, error) {
	c := r.Candidate
	if want := release.NewCandidate(c.Run, c.Commit, c.Artifacts).ID; c.ID != want {
		return r, fault.New(fault.Denied, "cannot publish candidate %s: its artifacts make %s; it was changed after it was tested", c.ID, want)
	}
	if len(r.Items) == 0 {
		return r, fault.New(fault.Invalid, "cannot publish candidate %s: nothing of it is selected", c.ID)
	}
	items := make([]Item, 0, len(r.Items))
	seen := map[string]bool{}
	for _, item := range r.Items {
		a := item.Artifact
		switch {
		case !holds(c, a):
			return r, fault.New(fault.Denied, "cannot publish %q (%s): it is not in candidate %s", a.Name, a.Digest, c.ID)
		case !fileName.MatchString(a.Name):
			return r, fault.New(fault.Invalid, "cannot publish %q: expected a plain file name of at most 250 letters, digits and . _ + - ! ~ @ =", a.Name)
		case seen[a.Name]:
			return r, fault.New(fault.Invalid, "cannot publish two artifacts named %q to one target: select one of them", a.Name)
		}
		seen[a.Name] = true
		items = append(items, Item{Artifact: a, Open: checkedOpen(item)})
	}
	r.Items = items
	return r, nil
}

// holds asks for the whole artifact, not the digest alone: tested bytes under an untested name were never tested.
func holds(c release.Candidate, a release.Artifact) bool {
	for _, one := range c.Artifacts {
		if one.Digest == a.Digest && one.Name == a.Name && one.Type == a.Type && one.Task == a.Task {
			return a.Digest.Valid()
		}
	}
	return false
}

func checkedOpen(item Item) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		rc, err := item.Open(ctx)
		if err != nil {
			return nil, err
		}
		return &checkedReader{source: bufio.NewReader(rc), closer: rc, sum: sha256.New(), artifact: item.Artifact}, nil
	}
}

// checkedReader gives the last bytes only after the digest of all of them is right, so that an upload of wrong bytes
// breaks off instead of completing.
type checkedReader struct {
	source   *bufio.Reader
	closer   io.Closer
	sum      hash.Hash
	artifact release.Artifact
}

func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	r.sum.Write(p[:n])
	if err == nil {
		_, err = r.source.Peek(1)
	}
	if !errors.Is(err, io.EOF) {
		return n, dropEarlyError(n, err)
	}
	if got := release.DigestFrom(r.sum.Sum(nil)); got != r.artifact.Digest {
		return 0, fault.New(fault.Denied, "cannot publish %q: the store gave bytes with digest %s, expected %s", r.artifact.Name, got, r.artifact.Digest)
	}
	if n > 0 {
		return n, nil
	}
	return 0, io.EOF
}

// dropEarlyError leaves an error of the look-ahead to the next read, which meets it again.
func dropEarlyError(n int, err error) error {
	if n > 0 {
		return nil
	}
	return err
}

func (r *checkedReader) Close() error { return r.closer.Close() }
