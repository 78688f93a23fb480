package definition

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

const longestID = 80

// identify gives every task an id that says what it is: "wheel-3_12-linux-x86_64". Where that is not enough, because
// two read the same or one is too long, letters derived from the whole row are added to each of them.
func (r *resolver) identify() {
	count := map[string]int{}
	for _, j := range r.jobs {
		for _, t := range j.tasks {
			t.id = t.firstID()
			count[strings.ToLower(string(t.id))]++
		}
	}
	r.ids = make(map[release.TaskID]*task, len(count))
	for _, j := range r.jobs {
		for _, t := range j.tasks {
			if count[strings.ToLower(string(t.id))] > 1 || len(t.id) > longestID {
				t.id = t.id[:min(len(t.id), longestID-9)] + "-" + release.TaskID(release.Derive(t.identity()...)[:8])
			}
			if _, twice := r.ids[t.id]; twice {
				r.fail(j.Value.Matrix.At, "remove one of the rows", "the matrix of %s makes %s twice", j.Name, t.name)
				return
			}
			r.ids[t.id] = t
		}
	}
}

// firstID is the id that says what a task is; an imported task brings its own.
func (t *task) firstID() release.TaskID {
	if t.ready != nil && release.Token(string(t.ready.ID)) {
		return t.ready.ID
	}
	return release.TaskID(t.readable())
}

func (t *task) readable() string {
	if t.ready != nil {
		return idText(t.name)
	}
	parts := []string{t.job.Name}
	for _, k := range t.order {
		parts = append(parts, t.values[k])
	}
	return idText(strings.Join(parts, "-"))
}

func idText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

func (t *task) identity() []string {
	out := []string{"task", t.job.Name}
	if t.ready != nil {
		out = append(out, t.name)
	}
	for _, k := range t.order {
		out = append(out, k, t.values[k])
	}
	return out
}
