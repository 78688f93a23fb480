package ray

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRepeatedRunIsBounded: ten million runs of one test took 16 GiB before anybody looked at them.
func TestRepeatedRunIsBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[string]bool{"1000": true, "1001": false, "10000000": false} {
		_, found := read(change(t, "group: g", "group: g\n  repeated_run: "+n), Options{})
		refused := len(found) > 0 && strings.Contains(found.Error(), "repeated_run is ")
		if refused == want {
			t.Errorf("repeated_run: %s gives %v", n, found)
		}
	}
	s := mustRead(t, change(t, "group: g", "group: g\n  repeated_run: 1000"))
	for range 50 {
		s.Tests = append(s.Tests, s.Tests[0])
	}
	if _, err := s.Select(Request{}); err == nil || !strings.Contains(err.Error(), "cannot plan 51000 runs") {
		t.Errorf("51 tests of 1000 runs give %v", err)
	}
}

// TestEqualNamesAreNotQuadratic: nine thousand tests of one name took minutes to get ids.
func TestEqualNamesAreNotQuadratic(t *testing.T) {
	t.Parallel()
	s := mustRead(t, valid)
	for range 20_000 {
		s.Tests = append(s.Tests, s.Tests[0])
	}
	selection, err := s.Select(Request{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	tasks, err := s.Tasks(selection.Steps, TaskOptions{})
	if took := time.Since(began); err != nil || took > 30*time.Second {
		t.Fatalf("%d tasks took %s, %v", len(tasks), took, err)
	}
	ids := map[string]bool{}
	for _, task := range tasks {
		ids[fmt.Sprint(task.ID)] = true
	}
	if len(ids) != len(selection.Steps) {
		t.Errorf("%d tasks have %d ids", len(selection.Steps), len(ids))
	}
}

// TestWhatIsSelectedRuns: a test that says to run no times, or fewer, runs once, as it does with Ray.
func TestWhatIsSelectedRuns(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"0", "-3", "1"} {
		s := mustRead(t, change(t, "group: g", "group: g\n  repeated_run: "+n))
		if got, err := s.Select(Request{}); err != nil || len(got.Steps) != 1 {
			t.Errorf("repeated_run: %s gives %d steps, %v", n, len(got.Steps), err)
		}
	}
}
