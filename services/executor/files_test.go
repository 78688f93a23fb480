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
		f := await(w, event.TaskFinished{Task: task.ID, Attempt: 1})
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
	pull := func(p *plan.Plan, _ *event.TaskDispatched) { p.Change.Kind = release.PullRequest }
	if got := said(cachingTask("e", 10), pull); got != "none\n" {
		t.Errorf("a pull request finds what the branch left, or could fill it: %q", got)
	}
	if got := said(cachingTask("f", 10), nil); got != "a\nb\nc\n" {
		t.Errorf("after the pull request %q", got)
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
		if err := s.keep(t.Context(), name, from, limit); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "a"} {
		put(name)
	}
	if err := s.lay(t.Context(), "b", filepath.Join(t.TempDir(), "x")); err != nil { // b is used last
		t.Fatal(err)
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
	if err := s.keep(t.Context(), "d", s.dir, 1); err == nil {
		t.Error("kept what is larger than all may be")
	}
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
					if err := s.keep(t.Context(), "n", from, 1<<20); err != nil {
						t.Error(err)
					}
					there := filepath.Join(to, fmt.Sprint(i))
					if err := s.lay(t.Context(), "n", there); err != nil {
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
		"counted": func(*testing.T, *world) func(string) (int64, error) {
			return func(dir string) (int64, error) { return size - treeSize(dir), nil }
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
