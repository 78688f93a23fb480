package exporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluiceci/sluice/pkg/blob/blobtest"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// kept is a kind of destination under test, and how a user reads from it.
type kept struct {
	destination
	read func(name string) (string, bool) // a name's text
	list func() []string                  // all names, latest/ left out
}

func TestDirectoryConforms(t *testing.T) { conform(t, inDirectory(t)) }

func TestBucketConforms(t *testing.T) {
	conform(t, inBucket(t, blobtest.Serve(t), "exports"))
}

func inDirectory(t *testing.T) kept {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	d, err := openDestination(DestinationConfig{Name: "dir", URL: "file://" + dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return kept{
		destination: d,
		read: func(name string) (string, bool) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			return string(text), err == nil
		},
		list: func() (names []string) {
			_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
				if name, _ := filepath.Rel(dir, path); err == nil && entry.Type().IsRegular() && name != ".lock" {
					names = append(names, name)
				}
				return err
			})
			return names
		},
	}
}

func inBucket(t *testing.T, server *blobtest.Server, name string) kept {
	t.Helper()
	b := server.Bucket(t, name, "some/where")
	d, err := openDestination(DestinationConfig{Name: "s3", URL: server.URL(name, "some/where"), AccessKey: "KEY", SecretKey: "SECRET"},
		func(name string) (string, error) {
			return map[string]string{"KEY": blobtest.AccessKey, "SECRET": blobtest.SecretKey}[name], nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return kept{
		destination: d,
		read: func(name string) (string, bool) {
			text, err := os.ReadFile(filepath.Join(server.Dir, b.URL(name)[len("s3://"):]))
			return string(text), err == nil
		},
		list: func() (names []string) {
			root := filepath.Join(server.Dir, name, "some", "where")
			_ = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
				if name, _ := filepath.Rel(root, path); err == nil && !entry.IsDir() && !strings.HasPrefix(name, latestFolder+"/") {
					names = append(names, name)
				}
				return nil
			})
			return names
		},
	}
}

// conform is what every destination promises.
func conform(t *testing.T, k kept) {
	t.Run("put", func(t *testing.T) { testPut(t, k) })
	t.Run("put fails", func(t *testing.T) { testPutFails(t, k) })
	t.Run("put other bytes", func(t *testing.T) { testPutOther(t, k) })
	t.Run("put at once", func(t *testing.T) { testPutAtOnce(t, k) })
	t.Run("claim", func(t *testing.T) { testClaim(t, k) })
	t.Run("lead", func(t *testing.T) { testLead(t, k) })
	t.Run("lead at once", func(t *testing.T) { testLeadAtOnce(t, k) })
	t.Run("lead fails", func(t *testing.T) { testLeadFails(t, k) })
	t.Run("sweep", func(t *testing.T) {
		before := len(k.list())
		if err := k.sweep(t.Context(), time.Now()); err != nil || len(k.list()) != before {
			t.Errorf("sweep = %v; %d names of %d are left, want all", err, len(k.list()), before)
		}
	})
}

// counted is a file of bytes that counts how often it is opened, and may fail after its bytes.
func counted(b []byte, fails error) (file, *atomic.Int32) {
	opened := new(atomic.Int32)
	return file{digest: release.DigestOf(b), size: int64(len(b)), mediaType: "text/plain", open: func(context.Context) (io.ReadCloser, error) {
		opened.Add(1)
		if fails != nil {
			return io.NopCloser(io.MultiReader(bytes.NewReader(b), iotest.ErrReader(fails))), nil
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	}}, opened
}

func testPut(t *testing.T, k kept) {
	for _, size := range []int{0, 10, 9 << 20} {
		name := fmt.Sprintf("put/%d/x.bin", size)
		b := blobtest.Random(size)
		f, opened := counted(b, nil)
		for range 2 {
			if err := k.put(t.Context(), name, f); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := k.read(name); got != string(b) {
			t.Errorf("%s has %d bytes, want the %d that were put", name, len(got), size)
		}
		if opened.Load() != 1 {
			t.Errorf("%s was read %d times, want once: it was there", name, opened.Load())
		}
	}
}

func testPutFails(t *testing.T, k kept) {
	before := len(k.list())
	for _, size := range []int{10, 9 << 20} {
		damaged := fault.New(fault.Internal, "wrong digest")
		f, _ := counted(blobtest.Random(size), damaged)
		if err := k.put(t.Context(), "fails/x.bin", f); !errors.Is(err, damaged) || !fault.Is(err, fault.Internal) {
			t.Errorf("put = %v (%s), want the source's error", err, fault.Of(err))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f, _ = counted(blobtest.Random(size), nil)
		if err := k.put(ctx, "fails/x.bin", f); !fault.Is(err, fault.Transient) {
			t.Errorf("put = %v (%s), want the end of the context, kind transient", err, fault.Of(err))
		}
	}
	if after := k.list(); len(after) != before {
		t.Errorf("there are %d names, want the %d from before: %q", len(after), before, after)
	}
}

func testPutOther(t *testing.T, k kept) {
	f, _ := counted([]byte("one"), nil)
	other, _ := counted([]byte("other"), nil)
	if err := k.put(t.Context(), "other/x", f); err != nil {
		t.Fatal(err)
	}
	if err := k.put(t.Context(), "other/x", other); !fault.Is(err, fault.Conflict) {
		t.Errorf("put of other bytes = %v (%s), want kind conflict", err, fault.Of(err))
	}
	if got, _ := k.read("other/x"); got != "one" {
		t.Errorf("the file is now %q, want it unchanged", got)
	}
}

func testPutAtOnce(t *testing.T, k kept) {
	b := blobtest.Random(1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			f, _ := counted(b, nil)
			if err := k.put(t.Context(), "at/once/x", f); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, _ := k.read("at/once/x"); got != string(b) {
		t.Errorf("the file has %d bytes, want %d", len(got), len(b))
	}
}

func testClaim(t *testing.T, k kept) {
	var winners sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			now, err := k.claim(t.Context(), "claim/run.json", fmt.Appendf(nil, "run %d", i))
			if err != nil {
				t.Error(err)
			}
			winners.Store(string(now), true)
		})
	}
	all.Wait()
	var n int
	winners.Range(func(winner, _ any) bool {
		n++
		if got, _ := k.read("claim/run.json"); got != winner {
			t.Errorf("%q is there, and %q was returned", got, winner)
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d won, want one", n)
	}
}

// leading puts a manifest's folder and makes latest/ lead to it.
func leading(t *testing.T, k kept, m manifest, replaces func([]byte) (bool, error)) error {
	t.Helper()
	text, err := document(m)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := counted(text, nil)
	if err := k.put(t.Context(), m.Home+"/"+manifestFile, f); err != nil {
		t.Fatal(err)
	}
	return k.lead(t.Context(), latestFolder, m, replaces)
}

func testLead(t *testing.T, k kept) {
	one, two := manifest{Repo: "r", Home: "master/1", Run: "1"}, manifest{Repo: "r", Home: "master/2", Run: "2"}
	if err := leading(t, k, one, func(now []byte) (bool, error) { return now == nil, nil }); err != nil {
		t.Fatal(err)
	}
	if text, _ := k.read("latest/manifest.json"); !strings.Contains(text, `"master/1"`) {
		t.Errorf("latest/manifest.json is %q", text)
	}
	if err := leading(t, k, two, func([]byte) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	if text, _ := k.read("latest/manifest.json"); !strings.Contains(text, `"master/1"`) {
		t.Errorf("latest/manifest.json is %q although it was not to be replaced", text)
	}
	err := leading(t, k, two, func(now []byte) (bool, error) { return strings.Contains(string(now), `"master/1"`), nil })
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := k.read("latest/manifest.json"); !strings.Contains(text, `"master/2"`) {
		t.Errorf("latest/manifest.json is %q", text)
	}
}

// However many lead at once, nobody overwrites what it has not seen: a number only grows.
func testLeadAtOnce(t *testing.T, k kept) {
	var all sync.WaitGroup
	for i := range 6 {
		m := manifest{Repo: "r", Home: fmt.Sprintf("many/%d", i), Planned: time.Unix(int64(1000+i), 0).UTC(), Pushed: uint64(1000 + i)}
		all.Go(func() {
			for {
				err := leading(t, k, m, func(now []byte) (bool, error) { yes, _, err := replaces(latestFolder, m, now); return yes, err })
				if err == nil {
					return
				}
				if !fault.Is(err, fault.Transient) {
					t.Errorf("lead = %v (%s), want kind transient for who was second", err, fault.Of(err))
					return
				}
			}
		})
	}
	all.Wait()
	if text, _ := k.read("latest/manifest.json"); !strings.Contains(text, `"many/5"`) {
		t.Errorf("latest/manifest.json is %q, want the newest", text)
	}
}

func testLeadFails(t *testing.T, k kept) {
	refused := fault.New(fault.Conflict, "not yours")
	err := leading(t, k, manifest{Home: "refused/1"}, func([]byte) (bool, error) { return true, refused })
	if !errors.Is(err, refused) || !fault.Is(err, fault.Conflict) {
		t.Errorf("lead = %v (%s), want the error of replaces", err, fault.Of(err))
	}
	if text, _ := k.read("latest/manifest.json"); strings.Contains(text, "refused") {
		t.Error("latest/ was replaced all the same")
	}
}

func TestDirectoryKeepsWhatIsNotItsOwn(t *testing.T) {
	k := inDirectory(t)
	own := k.location("latest")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	err := leading(t, k, manifest{Home: "master/1"}, func([]byte) (bool, error) { return true, nil })
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("lead = %v (%s), want kind conflict: a folder of somebody else's is there", err, fault.Of(err))
	}
}

// A link that somebody put into the directory does not take files elsewhere.
func TestDirectoryIsNotLeft(t *testing.T) {
	k, elsewhere := inDirectory(t), t.TempDir()
	if err := os.MkdirAll(k.location("."), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, k.location("master")); err != nil {
		t.Fatal(err)
	}
	f, _ := counted([]byte("x"), nil)
	if err := k.put(t.Context(), "master/x", f); err == nil {
		t.Error("put = nil, want an error")
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("%s was written elsewhere", left[0].Name())
	}
}

func TestDirectorySweepsWhatCrashesLeft(t *testing.T) {
	k := inDirectory(t)
	left := k.location(aside + "/LEFT")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		before time.Time
		stays  bool
	}{{time.Now().Add(-time.Hour), true}, {time.Now().Add(time.Hour), false}} {
		if err := k.sweep(t.Context(), test.before); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); (err == nil) != test.stays {
			t.Errorf("sweep of what is older than %s: %v, want it to stay: %t", test.before, err, test.stays)
		}
	}
}

func TestOpenDestinationRefuses(t *testing.T) {
	none := func(name string) (string, error) { return "", fmt.Errorf("there is no secret %q", name) }
	for name, c := range map[string]DestinationConfig{
		"no name":          {URL: "file:///x"},
		"odd name":         {Name: "a.b", URL: "file:///x"},
		"no URL":           {Name: "a"},
		"another kind":     {Name: "a", URL: "ftp://host/x"},
		"relative path":    {Name: "a", URL: "file:x"},
		"host":             {Name: "a", URL: "file://x/y"},
		"no bucket":        {Name: "a", URL: "s3:///x"},
		"option":           {Name: "a", URL: "s3://b/x?colour=red"},
		"key in URL":       {Name: "a", URL: "s3://key:word@b/x"},
		"unknown secret":   {Name: "a", URL: "s3://b/x", AccessKey: "KEY", SecretKey: "SECRET"},
		"glob of projects": {Name: "a", URL: "file:///x", Projects: []string{"["}},
	} {
		_, err := openDestination(c, none)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v (%s), want an error of kind invalid", name, err, fault.Of(err))
		}
		if err != nil && strings.Contains(err.Error(), "word") {
			t.Errorf("%s: %v tells a secret", name, err)
		}
	}
}
