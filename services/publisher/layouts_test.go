package publisher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestAnImageIsReadOnceToKnowItAndOnceToPushIt counts how often the archive is opened on the way to the registry.
func TestAnImageIsReadOnceToKnowItAndOnceToPushIt(t *testing.T) {
	t.Parallel()
	w := ociWorld(t, true)
	w.target.Options["tags"], w.target.Options["moving_tags"] = "1.0, latest", "latest"
	r := candidate(t, w.release(t, "one"))
	opened := 0
	open := r.Items[0].Open
	r.Items[0].Open = func(ctx context.Context) (io.ReadCloser, error) {
		opened++
		return open(ctx)
	}
	known := newLayouts()
	target := func() Target {
		made, err := Open(w.target, Setup{Temp: t.TempDir(), Layouts: known}, func(string) (string, error) { return secretValue, nil })
		check(t, err)
		return made
	}
	for step, want := range []int{1, 2, 2, 2, 2} {
		var err error
		switch step {
		case 0, 4:
			_, err = target().Probe(t.Context(), r)
		case 1:
			err = target().Stage(t.Context(), r)
		case 2:
			err = target().Commit(t.Context(), r)
		case 3:
			err = target().Verify(t.Context(), r)
		}
		check(t, err)
		if opened != want {
			t.Fatalf("after step %d the archive was opened %d times, want %d", step, opened, want)
		}
	}
	// What is remembered lets no other bytes through.
	r.Items[0].Open = func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(imageTar(t, "two", true))), nil
	}
	if err := target().Stage(t.Context(), r); !fault.Is(err, fault.Denied) {
		t.Errorf("staging other bytes than the candidate's: %v", err)
	}
}

// TestLayoutsAreBounded fills the memory of layouts.
func TestLayoutsAreBounded(t *testing.T) {
	t.Parallel()
	known := newLayouts()
	for i := range byte(5) {
		known.keep(release.DigestOf([]byte{i}), imageLayout{dir: "gone", raw: make([]byte, maxManifest/2)})
	}
	n := 0
	for i := range byte(5) {
		if l, is := known.find(release.DigestOf([]byte{i})); is {
			if n += len(l.raw); l.dir != "" {
				t.Error("what was unpacked is remembered")
			}
		}
	}
	if n == 0 || n > maxLayouts {
		t.Errorf("%d bytes are remembered", n)
	}
}

// TestCopyHashed compares the copy and its digest at sizes around its buffers, and passes errors on.
func TestCopyHashed(t *testing.T) {
	t.Parallel()
	source := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 5<<20 + 3} {
		b := make([]byte, size)
		_, _ = source.Read(b)
		var to bytes.Buffer
		got, err := copyHashed(&to, bytes.NewReader(b))
		if err != nil || got != release.DigestOf(b) || !bytes.Equal(to.Bytes(), b) {
			t.Errorf("of %d bytes: %s, %v", size, got, err)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := copyHashed(io.Discard, io.MultiReader(bytes.NewReader(make([]byte, 300<<10)), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a read that breaks off: %v", err)
	}
	if _, err := copyHashed(failing{broken}, bytes.NewReader(make([]byte, 3<<20))); !errors.Is(err, broken) {
		t.Errorf("a write that breaks off: %v", err)
	}
}

// failing is a file on a disk that is gone.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }
