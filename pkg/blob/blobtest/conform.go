package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Conform is what every store promises. The sizes straddle the parts in which uploads go.
func Conform(t *testing.T, s blob.Store) {
	for _, size := range []int{0, 1, 100, 1 << 20, 5<<20 - 1, 5 << 20, 5<<20 + 1, 17 << 20} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) { roundTrip(t, s, Random(size)) })
	}
	t.Run("again", func(t *testing.T) { again(t, s) })
	t.Run("at once", func(t *testing.T) { atOnce(t, s) })
	t.Run("missing", func(t *testing.T) { missing(t, s) })
	t.Run("bad digest", func(t *testing.T) { badDigest(t, s) })
	t.Run("failing source", func(t *testing.T) { failingSource(t, s) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, s) })
	t.Run("known", func(t *testing.T) { known(t, s) })
	t.Run("known but wrong", func(t *testing.T) { knownWrong(t, s) })
	t.Run("limit", func(t *testing.T) { limit(t, s) })
}

// Random makes bytes that are never the same twice.
func Random(size int) []byte {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return b
}

func roundTrip(t *testing.T, s blob.Store, want []byte) {
	d, n, err := s.Put(t.Context(), iotest.HalfReader(bytes.NewReader(want)))
	if err != nil || d != release.DigestOf(want) || n != int64(len(want)) {
		t.Fatalf("Put = %s, %d, %v; want %s, %d", d, n, err, release.DigestOf(want), len(want))
	}
	if has, err := s.Has(t.Context(), d); !has || err != nil {
		t.Errorf("Has = %t, %v after Put", has, err)
	}
	rc, size, err := s.Open(t.Context(), d)
	if err != nil || size != n {
		t.Fatalf("Open = %d bytes, %v; want %d", size, err, n)
	}
	got, err := io.ReadAll(rc)
	if err := errors.Join(err, rc.Close()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v; want the %d that were put", len(got), err, len(want))
	}
	readAt(t, s, d, want)
}

func readAt(t *testing.T, s blob.Store, d release.Digest, want []byte) {
	r, size, err := blob.OpenAt(t.Context(), s, d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	got, err := io.ReadAll(io.NewSectionReader(r, int64(len(want)/2), size))
	if err != nil || !bytes.Equal(got, want[len(want)/2:]) {
		t.Errorf("read %d bytes of the second half, %v; want %d", len(got), err, len(want)-len(want)/2)
	}
}

func again(t *testing.T, s blob.Store) {
	for _, b := range [][]byte{Random(1000), Random(9 << 20)} {
		for range 2 {
			if d, _, err := s.Put(t.Context(), bytes.NewReader(b)); err != nil || d != release.DigestOf(b) {
				t.Errorf("Put = %s, %v; want %s, and no error for a blob that is there", d, err, release.DigestOf(b))
			}
		}
	}
}

func atOnce(t *testing.T, s blob.Store) {
	b := Random(100_000)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if d, _, err := s.Put(t.Context(), bytes.NewReader(b)); err != nil || d != release.DigestOf(b) {
				t.Errorf("Put = %s, %v; want %s", d, err, release.DigestOf(b))
				return
			}
			if got, err := blob.ReadAll(t.Context(), s, release.DigestOf(b), 1<<20); err != nil || !bytes.Equal(got, b) {
				t.Errorf("read %d bytes, %v after Put", len(got), err)
			}
		})
	}
	all.Wait()
}

func missing(t *testing.T, s blob.Store) {
	d := release.DigestOf(Random(10))
	if has, err := s.Has(t.Context(), d); has || err != nil {
		t.Errorf("Has = %t, %v; want false", has, err)
	}
	_, _, err := s.Open(t.Context(), d)
	if !errors.Is(err, fs.ErrNotExist) || !fault.Is(err, fault.Invalid) {
		t.Errorf("Open of a missing blob = %v (%s); want fs.ErrNotExist of kind invalid", err, fault.Of(err))
	}
	_, _, err = blob.OpenAt(t.Context(), s, d)
	if !errors.Is(err, fs.ErrNotExist) || !fault.Is(err, fault.Invalid) {
		t.Errorf("OpenAt of a missing blob = %v (%s); want fs.ErrNotExist of kind invalid", err, fault.Of(err))
	}
}

func badDigest(t *testing.T, s blob.Store) {
	for _, d := range []release.Digest{"", "sha256:", "sha256:../../etc/passwd", "md5:00"} {
		if _, _, err := s.Open(t.Context(), d); !fault.Is(err, fault.Invalid) {
			t.Errorf("Open(%q) = %v; want an error of kind invalid", d, err)
		}
		if _, err := s.Has(t.Context(), d); !fault.Is(err, fault.Invalid) {
			t.Errorf("Has(%q) = %v; want an error of kind invalid", d, err)
		}
	}
}

func failingSource(t *testing.T, s blob.Store) {
	broken := fault.New(fault.Denied, "broken pipe")
	for _, size := range []int{10, 9 << 20} {
		b := Random(size)
		r := io.MultiReader(bytes.NewReader(b), iotest.ErrReader(broken))
		if _, _, err := s.Put(t.Context(), r); !errors.Is(err, broken) || !fault.Is(err, fault.Denied) {
			t.Errorf("Put of %d bytes and an error = %v (%s); want the source's own error", size, err, fault.Of(err))
		}
		if has, _ := s.Has(t.Context(), release.DigestOf(b)); has {
			t.Errorf("the %d bytes before the source failed were stored", size)
		}
	}
}

func cancelled(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	b := Random(9 << 20)
	_, _, err := s.Put(ctx, io.MultiReader(bytes.NewReader(b), cancelling(cancel)))
	if !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Transient) {
		t.Errorf("Put with an ended context = %v (%s); want context.Canceled of kind transient", err, fault.Of(err))
	}
	if has, _ := s.Has(t.Context(), release.DigestOf(b)); has {
		t.Error("a blob was stored after its context had ended")
	}
}

// cancelling is an empty reader that cancels when it is read.
type cancelling context.CancelFunc

func (c cancelling) Read([]byte) (int, error) { c(); return 0, nil }

func known(t *testing.T, s blob.Store) {
	for _, b := range [][]byte{Random(0), Random(1000), Random(9 << 20)} {
		d := release.DigestOf(b)
		if err := blob.PutKnown(t.Context(), s, d, int64(len(b)), bytes.NewReader(b)); err != nil {
			t.Errorf("PutKnown of %d bytes: %v", len(b), err)
		}
		if got, err := blob.ReadAll(t.Context(), s, d, 1<<30); err != nil || !bytes.Equal(got, b) {
			t.Errorf("read %d bytes, %v; want the %d that were put", len(got), err, len(b))
		}
		if err := blob.PutKnown(t.Context(), s, d, int64(len(b)), iotest.ErrReader(errors.New("read"))); err != nil {
			t.Errorf("PutKnown of what is there: %v; want the source left alone", err)
		}
	}
}

func knownWrong(t *testing.T, s blob.Store) {
	for _, size := range []int{1000, 9 << 20} {
		d := release.DigestOf(Random(size))
		err := blob.PutKnown(t.Context(), s, d, int64(size), bytes.NewReader(Random(size)))
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("PutKnown of other bytes = %v (%s); want an error of kind invalid", err, fault.Of(err))
		}
		if has, _ := s.Has(t.Context(), d); has {
			t.Errorf("%d bytes were stored under a digest that they do not have", size)
		}
	}
}

func limit(t *testing.T, s blob.Store) {
	d, err := blob.PutBytes(t.Context(), s, Random(100))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.ReadAll(t.Context(), s, d, 99); !fault.Is(err, fault.Invalid) {
		t.Errorf("ReadAll of 100 bytes with a limit of 99 = %v; want an error of kind invalid", err)
	}
	if b, err := blob.ReadAll(t.Context(), s, d, 100); err != nil || len(b) != 100 {
		t.Errorf("ReadAll of 100 bytes with a limit of 100 = %d, %v", len(b), err)
	}
}
