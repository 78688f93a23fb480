package images

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/await"
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestDefect12AnImageThatDoesNotComeIsAnError: the wait ends with a code of its own and names what is missing.
func TestDefect12AnImageThatDoesNotComeIsAnError(t *testing.T) {
	t.Parallel()
	began := time.Date(2024, 11, 1, 0, 0, 0, 0, time.UTC)
	w := Wait{Began: began, Limit: WaitLimit, Want: []string{"a", "b", "c"}, Have: map[string]bool{"b": true}}
	step, err := w.Next(began.Add(WaitLimit))
	if step.Do != await.TimedOut || outcome.CodeOf(err) != 31 || !strings.Contains(err.Error(), "2 of 3 images within 2h0m0s: a, c") {
		t.Errorf("%+v, %v (code %d)", step, err, outcome.CodeOf(err))
	}
}

// TestDefect14TheDigestCoversTheContent: whatever changes in a custom image changes its tag, and nothing else does.
func TestDefect14TheDigestCoversTheContent(t *testing.T) {
	t.Parallel()
	base := Custom{Base: "b", Script: []byte("pip install a"), ScriptName: "foo.sh", Lock: []byte("a==1"), Env: map[string]string{"A": "1", "B": "2"}}
	seen := map[release.Digest]string{base.Digest(): "the image itself"}
	for what, change := range map[string]func(*Custom){
		"the script's content": func(c *Custom) { c.Script = []byte("pip install b") },
		"the script's name":    func(c *Custom) { c.ScriptName = "bar.sh" },
		"the base":             func(c *Custom) { c.Base = "c" },
		"the lock":             func(c *Custom) { c.Lock = []byte("a==2") },
		"a variable":           func(c *Custom) { c.Env = map[string]string{"A": "1", "B": "3"} },
		"fewer variables":      func(c *Custom) { c.Env = map[string]string{"A": "1"} },
		"what moves between":   func(c *Custom) { c.Script, c.Lock = []byte("pip install aa"), []byte("==1") },
	} {
		c := base
		change(&c)
		if other, ok := seen[c.Digest()]; ok {
			t.Errorf("%s: the same digest as %s", what, other)
		}
		seen[c.Digest()] = what
	}
	same := base
	same.Env = map[string]string{"B": "2", "A": "1"}
	if same.Digest() != base.Digest() || !strings.HasPrefix(base.Tag("123456-py39-cpu"), "123456-py39-cpu-") || len(base.Tag("x")) != 2+64 {
		t.Errorf("tag %s", base.Tag("x"))
	}
}
