package executor

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// packed lists the files of a packed directory with their content.
func (w *world) packed(d release.Digest) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	if d == "" {
		return files
	}
	from, _, err := w.blobs.Open(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	for reader := tar.NewReader(from); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			w.t.Fatal(err)
		}
		b, err := io.ReadAll(reader)
		if err != nil {
			w.t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			files[h.Name] = string(b)
		}
	}
}

// gang is a task on three nodes of this machine.
func gang(run string) plan.Task {
	return plan.Task{Run: run, Gang: plan.Gang{Each: true}, Lease: release.LeaseRequest{Provider: "lab", Nodes: 3}}
}

func TestGang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	task := gang(`test -e prepared; echo "$SLUICE_NODE_INDEX of $SLUICE_NODE_COUNT: $SLUICE_NODE_NAME $SLUICE_NODE_ADDRESS" | tee out.txt > "$SLUICE_ARTIFACTS/told"
echo "here $SLUICE_NODE_INDEX"; echo "{\"success\": true, \"n\": $SLUICE_NODE_INDEX}" > results.json`)
	task.Prepare = "echo x > prepared"
	task.Outputs = []plan.Output{{Type: "text", Path: "*.txt"}}
	task.Reports.Results = "results.json"
	f := w.run(task, withLease(w.held("lab", "a", "b", "c")))
	if f.Class != release.ClassOK || len(f.Artifacts) != 3 || f.Metrics["nodes.2.n"] != 2 {
		t.Fatalf("got %+v, log %q", f, w.log(f))
	}
	files := w.packed(f.Files)
	for i, a := range f.Artifacts {
		want := fmt.Sprintf("%d of 3: %s local\n", i, string("abc"[i]))
		if a.Name != fmt.Sprintf("%d-out.txt", i) || w.blob(a.Digest) != want || files[fmt.Sprintf("nodes/%d/told", i)] != want {
			t.Errorf("artifact %+v has %q; files %v", a, w.blob(a.Digest), files)
		}
		if !strings.Contains(w.log(f), fmt.Sprintf("[%d] here %d\n", i, i)) {
			t.Errorf("log %q", w.log(f))
		}
	}
}

// TestGangStartsTogether: no command starts before every preparation has ended, and all of them run at once.
func TestGangStartsTogether(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	task := gang(fmt.Sprintf(`test $(ls %[1]s/prepared.* | wc -l) = 3; : > %[1]s/running.$SLUICE_NODE_INDEX
i=0; while test $(ls %[1]s/running.* | wc -l) -lt 3; do i=$((i+1)); test $i -lt 1000; sleep 0.02; done`, dir))
	task.Prepare = fmt.Sprintf("sleep 0.$SLUICE_NODE_INDEX; : > %s/prepared.$SLUICE_NODE_INDEX", dir)
	if f := w.run(task, withLease(w.held("lab", "a", "b", "c"))); f.Class != release.ClassOK {
		t.Errorf("got %+v, log %q", f, w.log(f))
	}
}

func TestGangStaggers(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	task := gang(fmt.Sprintf("echo $SLUICE_NODE_INDEX >> %s/order", dir))
	task.Gang.Stagger = release.Duration(300 * time.Millisecond)
	began := time.Now()
	f := w.run(task, withLease(w.held("lab", "a", "b", "c")))
	took := time.Since(began)
	got, err := os.ReadFile(filepath.Join(dir, "order"))
	if err != nil || f.Class != release.ClassOK || len(got) != 6 || took < 600*time.Millisecond {
		t.Errorf("got %+v, %q after %s", f, got, took)
	}
}

// TestGangNeeds counts successes, and tells by name what was lost.
func TestGangNeeds(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		need   int32
		class  release.Class
		reason string
	}{
		{2, release.ClassOK, ""},
		{0, release.ClassCommand, "of 3 nodes succeeded, expected 3: node 1 (b at local): the command ended with exit status 7"},
	} {
		t.Run(fmt.Sprint(one.need), func(t *testing.T) {
			t.Parallel()
			w, dir := newWorld(t), t.TempDir()
			w.start("one", nil)
			// The others end first: what is not needed any more is ended.
			task := gang(fmt.Sprintf(`test $SLUICE_NODE_INDEX = 1 || { echo > %[1]s/$SLUICE_NODE_INDEX; exit 0; }
while ! test -e %[1]s/0 || ! test -e %[1]s/2; do sleep 0.02; done; exit 7`, dir))
			task.Gang.Need = one.need
			task.Cleanup = fmt.Sprintf("test $SLUICE_PHASE != cleanup || echo $SLUICE_NODE_INDEX >> %s/cleaned", dir)
			f := w.run(task, withLease(w.held("lab", "a", "b", "c")))
			if f.Class != one.class || !strings.Contains(f.Reason, one.reason) || !strings.Contains(w.log(f), "node 1 (b at local): the command ended with exit status 7") {
				t.Errorf("class %s, %q, log %q", f.Class, f.Reason, w.log(f))
			}
			if cleaned, err := os.ReadFile(filepath.Join(dir, "cleaned")); err != nil || len(cleaned) != 6 {
				t.Errorf("cleaned %q: %v", cleaned, err)
			}
		})
	}
}

func TestGangThatCannotSucceedIsEnded(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.start("one", nil)
	task := gang(fmt.Sprintf(`test $SLUICE_NODE_INDEX = 1 || { echo up > %[1]s/up.$SLUICE_NODE_INDEX; sleep 600; }
while ! test -e %[1]s/up.0 || ! test -e %[1]s/up.2; do sleep 0.02; done; exit 7`, dir))
	f := w.run(task, withLease(w.held("lab", "a", "b", "c")))
	if f.Class != release.ClassCommand || !strings.Contains(f.Reason, "node 1 (b at local): the command ended with exit status 7") {
		t.Errorf("class %s, %q", f.Class, f.Reason)
	}
}

func TestGangCannot(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name, reason string
		lease        func(*world) release.Lease
	}{
		{"no places", `cannot lease from provider "lab"`, func(*world) release.Lease { return release.Lease{} }},
		{"no address", `cannot reach a place at "rack"`, func(w *world) release.Lease {
			l := w.held("lab", "a")
			l.Places[0].Address = "rack"
			return l
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start("one", nil)
			if f := w.run(gang(":"), withLease(one.lease(w))); f.Class != release.ClassConfig || !strings.Contains(f.Reason, one.reason) {
				t.Errorf("class %s, %q", f.Class, f.Reason)
			}
		})
	}
}

func TestVariants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	task := plan.Task{
		Run: `echo "variant $SLUICE_VARIANT $USERS"; test $USERS != 4 || exit 3
test $USERS = 8 || echo "{\"success\": true, \"rps\": $USERS}" > results.json`,
		Reports: plan.Reports{Results: "results.json"},
	}
	for _, users := range []string{"1", "2", "4", "8", "16"} {
		task.Variants = append(task.Variants, plan.Variant{Name: "u" + users, Variables: map[string]string{"USERS": users}})
	}
	f := w.run(task, func(_ *plan.Plan, d *event.TaskDispatched) { d.Measured = []string{"u1"} })
	if !slices.Equal(f.Measured, []string{"u1", "u2", "u16"}) || f.Metrics["u2.rps"] != 2 || f.Metrics["u16.rps"] != 16 || len(f.Metrics) != 2 {
		t.Errorf("measured %v, %v", f.Measured, f.Metrics)
	}
	if f.Class != release.ClassCommand || f.Reason != "variant u4: the command ended with exit status 3; 3 of 5 variants are measured" {
		t.Errorf("class %s, %q", f.Class, f.Reason)
	}
	log := w.log(f)
	if strings.Contains(log, "variant u1 1\n") || !strings.Contains(log, "variant u8: cannot read report") || !strings.Contains(log, "variant u16 16\n") {
		t.Errorf("log %q", log)
	}
}
