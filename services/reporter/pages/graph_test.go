package pages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

func detail(tasks ...readmodel.Task) *view.Detail {
	return &view.Detail{Run: readmodel.Run{ID: "4f2a9c1d-test", State: readmodel.StateRunning}, Tasks: tasks}
}

func TestGraphLayersByNeeds(t *testing.T) {
	t.Parallel()
	nodes := taskNodes(detail(
		readmodel.Task{ID: "lock"}, readmodel.Task{ID: "wheel", Needs: []release.TaskID{"lock"}},
		readmodel.Task{ID: "test", Needs: []release.TaskID{"wheel", "lock", "gone"}}, readmodel.Task{ID: "jar"},
	))
	layered(nodes)
	for i, want := range []int{0, 1, 2, 0} {
		if nodes[i].layer != want {
			t.Errorf("%s is in layer %d, want %d", nodes[i].id, nodes[i].layer, want)
		}
	}
}

func TestGraphDrawsDirectNeedsOnly(t *testing.T) {
	t.Parallel()
	got := drawGraph(detail(
		readmodel.Task{ID: "lock"}, readmodel.Task{ID: "wheel", Needs: []release.TaskID{"lock"}},
		readmodel.Task{ID: "test", Needs: []release.TaskID{"wheel", "lock"}},
	))
	if n := strings.Count(string(got), `class="edge`); n != 2 {
		t.Fatalf("%d lines are drawn, want lock to wheel and wheel to test", n)
	}
}

func TestGraphOfACycleEnds(t *testing.T) {
	t.Parallel()
	if got := drawGraph(detail(
		readmodel.Task{ID: "a", Needs: []release.TaskID{"b"}}, readmodel.Task{ID: "b", Needs: []release.TaskID{"a", "b"}},
	)); !strings.Contains(string(got), "<svg") {
		t.Fatalf("a cycle is drawn as %q", got)
	}
}

func TestGraphOfManyTasksDrawsJobs(t *testing.T) {
	t.Parallel()
	var tasks []readmodel.Task
	for i := range 400 {
		state := string(release.Success)
		if i == 7 {
			state = string(release.Failure)
		}
		tasks = append(tasks, readmodel.Task{ID: release.TaskID(fmt.Sprintf("wheel-%d", i)), Job: "wheel", State: state, Needs: []release.TaskID{"lock"}})
	}
	got := string(drawGraph(detail(append(tasks, readmodel.Task{ID: "lock", Job: "lock", State: string(release.Success)})...)))
	if strings.Count(got, "<a ") != 2 || !strings.Contains(got, "399 of 400") || !strings.Contains(got, `class="node bad"`) {
		t.Fatalf("400 tasks of two jobs are drawn as %q", got)
	}
}

func TestDrawingsEscape(t *testing.T) {
	t.Parallel()
	evil := `"><script>alert(1)</script>`
	got := string(drawGraph(detail(readmodel.Task{ID: "a", Name: evil, State: evil}))) + string(meter(readmodel.Run{Builds: 1}))
	if strings.Contains(got, "<script") {
		t.Fatalf("drawn as %q", got)
	}
}

// TestBarsStayInside draws attempts with impossible times.
func TestBarsStayInside(t *testing.T) {
	t.Parallel()
	now := time.Now()
	task := readmodel.Task{Attempts: []readmodel.Attempt{
		{Dispatched: now.Add(-time.Hour), Started: now.Add(time.Hour), Finished: now.Add(-time.Hour)}, {Started: now.Add(-100 * time.Hour)},
	}}
	got := string(drawBar(task, now.Add(-time.Minute), now, false, now))
	for _, bad := range []string{`x="-`, `width="-`, "NaN", "Inf"} {
		if strings.Contains(got, bad) {
			t.Fatalf("%s in %q", bad, got)
		}
	}
}

func TestTook(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "–", -1: "–", 3 * time.Millisecond: "3 ms", 1500 * time.Millisecond: "1.5 s", 42 * time.Second: "42 s",
		62 * time.Second: "1m 02s", 3*time.Hour + 4*time.Minute: "3h 04m", 50 * time.Hour: "2d 02h",
	} {
		if got := took(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestWebTakesPagesOnly(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://forge.example/a?b": "https://forge.example/a?b", "javascript:alert(1)": "", "//x": "", "http://": "", "data:text/html,x": "", ":": "",
	} {
		if got := web(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
