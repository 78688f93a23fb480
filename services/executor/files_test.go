package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestSteps: directories in the order of the steps, unique also when steps start at once, kept whatever the outcome.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	f := w.run(plan.Task{
		Secrets: []string{"TOKEN"},
		Prepare: `"$SLUICE_STEP" cluster 'set up' -- sh -c 'echo made > "$SLUICE_STEP_DIR/state"; echo loud'`,
		Run: `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$SLUICE_STEP" load user$i -- sh -c 'echo x > "$SLUICE_STEP_DIR/out"' & done; wait
dir=$("$SLUICE_STEP" notes plain); echo "$TOKEN" > "$dir/secret"; mkfifo "$dir/fifo"; ln -s /etc/passwd "$dir/link"; echo ok > "$dir/fine"
"$SLUICE_STEP" last fails -- sh -c 'exit 5'`,
		Cleanup: `"$SLUICE_STEP" after cleanup -- true`,
	}, nil)
	if f.Class != release.ClassCommand || f.ExitCode != 5 {
		t.Fatalf("got %+v, log %q", f, w.log(f))
	}
	files := w.packed(f.Files)
	numbers := map[string]string{}
	for name := range files {
		dir, _, _ := strings.Cut(name, "/")
		number, rest, _ := strings.Cut(dir, "__")
		if numbers[number] != "" && numbers[number] != rest {
			t.Errorf("number %s is that of %s and of %s", number, rest, numbers[number])
		}
		numbers[number] = rest
	}
	if len(numbers) != 16 || numbers["000"] != "cluster__set_up" || numbers["013"] != "notes__plain" || numbers["015"] != "after__cleanup" {
		t.Errorf("the steps are %v", numbers)
	}
	if files["000__cluster__set_up/log.txt"] != "loud\n" || files["014__last__fails/exit_code"] != "5\n" || files["013__notes__plain/fine"] != "ok\n" {
		t.Errorf("the files are %v", files)
	}
	for _, left := range []string{"secret", "fifo", "link"} {
		if _, there := files["013__notes__plain/"+left]; there || !strings.Contains(w.log(f), "left out of the artifacts: 013__notes__plain/"+left) {
			t.Errorf("%s was packed, or is not told; log %q", left, w.log(f))
		}
	}
}

func TestNoFilesNoBlob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	if f := w.run(plan.Task{Run: `rm -rf "$SLUICE_ARTIFACTS"; ln -s / "$SLUICE_ARTIFACTS"`}, nil); f.Files != "" || f.Class != release.ClassOK {
		t.Errorf("got %+v", f)
	}
}

// cachingTask counts in its cache how often it ran with it.
func cachingTask(id release.TaskID, size int) plan.Task {
	return plan.Task{
		ID: id, Run: fmt.Sprintf("mkdir -p deps; cat deps/seen 2>/dev/null || echo none; echo $SLUICE_TASK >> deps/seen; head -c %d /dev/zero > deps/big", size),
		Caches: []plan.Cache{{Key: "deps", Path: "deps"}},
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	said := func(task plan.Task, change func(*plan.Plan, *event.TaskDispatched)) string {
		t.Helper()
		w.dispatch(task, change)
		f := await(w, event.TaskFinished{Pool: "linux", Task: task.ID, Attempt: 1})
		if f.Class != release.ClassOK {
			t.Fatalf("got %+v, log %q", f, w.log(f))
		}
		return w.log(f)
	}
	if got := said(cachingTask("a", 10), nil); got != "none\n" {
		t.Errorf("first %q", got)
	}
	if got := said(cachingTask("b", 10), nil); got != "a\n" {
		t.Errorf("second %q", got)
	}
	if got := said(cachingTask("c", 10), nil); got != "a\nb\n" {
		t.Errorf("third %q", got)
	}
	other := cachingTask("d", 10)
	other.Caches[0].Key = "other"
	if got := said(other, nil); got != "none\n" {
		t.Errorf("another key %q", got)
	}
}

// TestCachesByTrust: a run reads what runs of its own ref wrote, or else what releases wrote. A release reads what releases
// wrote, and nothing else.
func TestCachesByTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", w.anyChange)
	for i, c := range []struct {
		trust release.Trust
		ref   string
		want  string
	}{
		{release.TrustUntrusted, "refs/pull/1/head", "none"},
		{release.TrustUntrusted, "refs/pull/1/head", "0"},
		{release.TrustUntrusted, "refs/pull/2/head", "none"},
		{"", "refs/pull/1/head", "0 1"}, // no level is the lowest
		{release.TrustTrusted, "refs/pull/1/head", "none"},
		{release.TrustTrusted, "refs/heads/x", "none"},
		{release.TrustRelease, "refs/heads/master", "none"},
		{release.TrustRelease, "refs/heads/releases/2", "6"},
		{release.TrustTrusted, "refs/heads/x", "5"},
		{release.TrustTrusted, "refs/heads/y", "6 7"},
		{release.TrustUntrusted, "refs/pull/3/head", "6 7"},
		{release.TrustRelease, "refs/heads/master", "6 7"},
	} {
		task := cachingTask(release.TaskID(fmt.Sprint(i)), 10)
		w.dispatch(task, func(p *plan.Plan, _ *event.TaskDispatched) { p.Trust, p.Change.Ref = c.trust, c.ref })
		f := await(w, event.TaskFinished{Pool: "linux", Task: task.ID, Attempt: 1})
		if got := strings.Join(strings.Fields(w.log(f)), " "); f.Class != release.ClassOK || got != c.want {
			t.Errorf("run %d, %s of %s, finds %q, want %q; %+v", i, c.trust, c.ref, got, c.want, f)
		}
	}
}

// TestCachesFollowNoLink: a command that puts a link where its cache, or the directory above, was has nothing kept from there,
// and neither has one that moves its workspace away.
func TestCachesFollowNoLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	loot := t.TempDir()
	if err := os.MkdirAll(filepath.Join(loot, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(loot, "b", "key"), []byte("PRIVATE"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, run := range []string{
		"rm -rf a; ln -s " + loot + " a", "mkdir -p a; rm -rf a/b; ln -s " + loot + "/b a/b", "mv ../work ../away; mkdir ../work; ln -s " + loot + " ../work/a",
	} {
		for n := range 2 {
			id := release.TaskID(fmt.Sprintf("t%d-%d", i, n))
			w.dispatch(plan.Task{ID: id, Run: "cat a/b/key || true; " + run, Caches: []plan.Cache{{Key: fmt.Sprint(i), Path: "a/b"}}}, nil)
			if f := await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1}); strings.Contains(w.log(f), "PRIVATE") {
				t.Errorf("after %s the cache is %q", run, w.log(f))
			}
		}
	}
}

// TestAGlobIsNoDenialOfService: six ** over a tree of sixty directories, and pipes where files are expected.
func TestAGlobIsNoDenialOfService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	deep := "d=.; for i in $(seq 60); do d=$d/a; done; mkdir -p $d"
	f := w.run(plan.Task{Run: deep, Outputs: []plan.Output{{Type: "x", Path: strings.Repeat("**/", 6) + "zz", Optional: true}}}, nil)
	if f.Class != release.ClassOK {
		t.Errorf("got %+v", f)
	}
	for id, task := range map[release.TaskID]plan.Task{
		"output":  {Run: "mkfifo p", Outputs: []plan.Output{{Type: "x", Path: "p"}}},
		"report":  {Run: "mkfifo p", Reports: plan.Reports{JUnit: "p"}},
		"results": {Run: "mkfifo p", Reports: plan.Reports{Results: "p"}},
	} {
		task.ID = id
		w.dispatch(task, nil)
		if f := await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1}); f.Class == release.ClassOK || !strings.Contains(f.Reason, "named pipe") {
			t.Errorf("%s: got %+v", id, f)
		}
	}
	w.dispatch(plan.Task{ID: "cache", Run: "mkdir -p c; mkfifo c/p; echo x > c/file", Caches: []plan.Cache{{Key: "k", Path: "c"}}}, nil)
	if f := await(w, event.TaskFinished{Pool: "linux", Task: "cache", Attempt: 1}); f.Class != release.ClassOK {
		t.Errorf("got %+v", f)
	}
}

func TestCachesHaveALimit(t *testing.T) {
	t.Parallel()
	s, err := openCaches(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const size, limit = 40 << 10, 100 << 10
	put := func(name string) {
		t.Helper()
		from := t.TempDir()
		if err := os.WriteFile(filepath.Join(from, "file"), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.keep(t.Context(), name, opened(t, from), size, limit); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "a"} {
		put(name)
	}
	if laid, err := s.lay(t.Context(), "b", opened(t, t.TempDir()), "x"); !laid || err != nil { // b is used last
		t.Fatal(laid, err)
	}
	put("c")
	var names []string
	for _, e := range s.entries("") {
		names = append(names, e.name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"b", "c"}) {
		t.Errorf("kept %v", names)
	}
	if err := s.keep(t.Context(), "d", opened(t, s.dir), size, 1); err == nil {
		t.Error("kept what is larger than all may be")
	}
	if err := s.keep(t.Context(), "d", opened(t, s.dir), 0, size); err == nil {
		t.Error("kept what grew beyond the limit since it was measured")
	}
}

func opened(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// TestCachesAtOnce: writers and readers of one name, over two executors' stores; nobody ever sees half of an entry.
func TestCachesAtOnce(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), t.TempDir()
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(from, fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for range 2 {
		s, err := openCaches(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			to := t.TempDir()
			group.Go(func() {
				for i := range 10 {
					if err := s.keep(t.Context(), "n", opened(t, from), 20, 1<<20); err != nil {
						t.Error(err)
					}
					there := filepath.Join(to, fmt.Sprint(i))
					if _, err := s.lay(t.Context(), "n", opened(t, to), fmt.Sprint(i)); err != nil {
						t.Error(err)
					}
					if entries, _ := os.ReadDir(there); len(entries) != 20 && len(entries) != 0 {
						t.Errorf("%d files of 20", len(entries))
					}
				}
			})
		}
	}
	group.Wait()
}

// TestFullDiskEndsTheAttempt: on a small disk of its own, where one can be mounted, and on one that counts as small.
func TestFullDiskEndsTheAttempt(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	for name, small := range map[string]func(*testing.T, *world) func(string) (int64, error){
		"counted": func(_ *testing.T, w *world) func(string) (int64, error) {
			return func(dir string) (int64, error) {
				used, err := treeSize(w.t.Context(), dir, sizing)
				return size - used, err
			}
		},
		"mounted": func(t *testing.T, w *world) func(string) (int64, error) {
			if err := syscall.Mount("tmpfs", w.dir, "tmpfs", 0, "size=64m"); err != nil {
				return nil // only root can
			}
			t.Cleanup(func() { _ = syscall.Unmount(w.dir, syscall.MNT_DETACH) })
			return space
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			free := small(t, w)
			if free == nil {
				return
			}
			w.start("one", func(c *Config) { c.MinFree, c.space = size/2, free })
			w.dispatch(plan.Task{Run: "head -c 60m /dev/zero > big; head -c 10m /dev/zero > more || exit 9; sleep 600"}, nil)
			f := w.finished()
			if f.Class != release.ClassInfra || !strings.Contains(f.Reason, "the executor's disk was full") {
				t.Errorf("got %+v", f)
			}
			w.clean()
			w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool { return !b.Draining }) // there is room again
		})
	}
}
