package microcheck

import (
	"strings"
	"testing"
)

// TestCover is 2.9's microcheck.
func TestCover(t *testing.T) {
	t.Parallel()
	found := func(s string) Test { return Test{Found: strings.Split(s, "")} }
	flaky := func(s string) Test { return Test{Found: strings.Split(s, ""), Flaky: true} }
	four := map[string]Test{"t1": found("a"), "t2": flaky("ab"), "t3": found("c"), "t4": found("d")}
	for name, c := range map[string]struct {
		tests map[string]Test
		part  float64
		want  string
	}{
		"50 %":       {four, 0.5, "t1 t3"},
		"75 %":       {four, 0.75, "t1 t3 t4"},
		"100 %":      {four, 1, "t1 t2 t3 t4"},
		"one is all": {map[string]Test{"t1": found("a"), "t2": found("ab"), "t3": found("abc")}, 1, "t3"},
		"flaky last": {map[string]Test{"t1": found("a"), "t2": found("ab"), "t3": flaky("abc")}, 0.75, "t2 t3"},
		"0 %":        {four, 0, ""},
		"nothing":    {nil, 1, ""},
		"twice":      {map[string]Test{"t1": found("aa"), "t2": found("bc")}, 0.5, "t2"},
	} {
		if got := strings.Join(Cover(c.tests, c.part), " "); got != c.want {
			t.Errorf("2.9 %s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	got := Select([]string{"high"}, []string{"changed", "high"}, []string{"Fix x\n\n@microcheck //a:b //c:d\n", "no @microcheck here", "@microcheck //a:b"},
		[]string{"old", "new"}, map[string]bool{"old": true})
	if strings.Join(got, " ") != "//a:b //c:d changed high new" {
		t.Errorf("%q", got)
	}
}
