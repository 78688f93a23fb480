package blob_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/blob/blobtest"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// shelved is where a directory keeps a blob.
func shelved(dir string, d release.Digest) string {
	return filepath.Join(dir, "sha256", d.Hex()[:2], d.Hex())
}

// leftovers lists the temporary files of a directory.
func leftovers(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return left
}

func TestDamageIsSeenAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	s := blob.Dir(dir)
	for _, damaged := range []string{"hellO", "hell", "hello!", ""} {
		d, err := blob.PutBytes(t.Context(), s, []byte("hello"))
		if err != nil {
			t.Fatal(err)
		}
		path := shelved(dir, d)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = blob.ReadAll(t.Context(), s, d, 100)
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), string(d)) || !strings.Contains(err.Error(), string(release.DigestOf([]byte(damaged)))) {
			t.Errorf("reading %q under the digest of %q = %v (%s), want kind internal and both digests", damaged, "hello", err, fault.Of(err))
		}
		if _, _, err := s.Put(t.Context(), strings.NewReader("hello")); err != nil {
			t.Fatal(err)
		}
		if b, err := blob.ReadAll(t.Context(), s, d, 100); err != nil || string(b) != "hello" {
			t.Errorf("after Put again: %q, %v; want the blob healed", b, err)
		}
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := blob.Dir(dir)
	if err := blob.Sweep(t.Context(), s, time.Now()); err != nil {
		t.Errorf("Sweep of a store that is not there yet = %v", err)
	}
	d, err := blob.PutBytes(t.Context(), s, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "tmp", "put-123")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		before time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 1}, {time.Now().Add(time.Hour), 0}} {
		if err := blob.Sweep(t.Context(), s, test.before); err != nil {
			t.Fatal(err)
		}
		if got := len(leftovers(t, dir)); got != test.want {
			t.Errorf("%d temporary files after Sweep of those before %s, want %d", got, test.before, test.want)
		}
	}
	if has, _ := s.Has(t.Context(), d); !has {
		t.Error("Sweep removed a blob")
	}
}

// smallDisk mounts a file system of one MiB, where the tests may.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getenv("CI") == "true" && os.Geteuid() == 0 && !errors.Is(err, unix.EPERM) {
			t.Fatalf("cannot mount a small disk: %v", err)
		}
		t.Skipf("no small disk: mounting one needs root and CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	s := blob.Dir(dir)
	kept, err := blob.PutBytes(t.Context(), s, blobtest.Random(100_000))
	if err != nil {
		t.Fatal(err)
	}
	big := blobtest.Random(2 << 20)
	_, _, err = s.Put(t.Context(), bytes.NewReader(big))
	if !fault.Is(err, fault.Transient) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Put on a full disk = %v (%s), want ENOSPC of kind transient", err, fault.Of(err))
	}
	if left := leftovers(t, dir); len(left) != 0 {
		t.Errorf("%d partial files are left", len(left))
	}
	if has, _ := s.Has(t.Context(), release.DigestOf(big)); has {
		t.Error("half a blob is there")
	}
	if _, err := blob.ReadAll(t.Context(), s, kept, 1<<20); err != nil {
		t.Errorf("a blob from before: %v", err)
	}
	if _, err := blob.PutBytes(t.Context(), s, blobtest.Random(100_000)); err != nil {
		t.Errorf("Put of what fits, after the disk was full: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, raw := range []string{
		"", "blobs", "/var/blobs", "file://host/path", "file:relative", "file:///x?mode=1", "ftp://host/x", "s3://", "s3:///prefix",
		"s3://b/../x", "s3://b//x", "s3://b?endpoint=localhost:9000", "s3://b?region=a&colour=red", "s3://b?path_style=maybe",
		"s3://user:hunter2@b/x", "s3://b?endpoint=http://user:hunter2@host", "s3://b%zz:hunter2@",
	} {
		_, err := blob.Open(t.Context(), raw)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("Open(%q) = %v (%s), want an error of kind invalid", raw, err, fault.Of(err))
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q) = %v, which tells a secret", raw, err)
		}
	}
}

func TestCopy(t *testing.T) {
	from, to := blob.Dir(t.TempDir()), blob.Dir(t.TempDir())
	d, err := blob.PutBytes(t.Context(), from, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := blob.Copy(t.Context(), to, from, d); err != nil {
			t.Fatal(err)
		}
	}
	rc, n, err := to.Open(t.Context(), d)
	if err != nil || n != 5 {
		t.Fatalf("Open = %d bytes, %v", n, err)
	}
	defer func() { _ = rc.Close() }()
	if b, err := io.ReadAll(rc); err != nil || string(b) != "hello" {
		t.Errorf("read %q, %v", b, err)
	}
}
