package definition

import "github.com/sluiceci/sluice/pkg/release"

// leave takes out the tasks that a request skips. What needs them goes with them when it is linked.
func (r *resolver) leave() {
	r.jail()
	for _, glob := range r.req.Skip {
		if !validGlob(glob) {
			r.refuse(Flag("/skip", glob), "", "expected a glob on a task's id or name")
			continue
		}
		found := 0
		for _, t := range r.everyTask() {
			if !t.named(glob) {
				continue
			}
			found++
			if t.skipped == "" {
				t.skipped = "skipped by /skip " + shorten(printable(glob), 60)
			}
		}
		if found == 0 {
			r.refuse(Flag("/skip", glob), nearest(glob, r.taskNames()), "no task has such an id or name")
		}
	}
}

// jail takes out the definition's own tests that are jailed; those of a suite are its dialect's to leave out.
func (r *resolver) jail() {
	if len(r.req.Jailed) == 0 {
		return
	}
	for _, j := range r.jobs {
		if j.kind != release.Test || j.suite != nil {
			continue
		}
		for _, t := range j.tasks {
			if why := r.req.Jailed[t.name]; why != "" && t.skipped == "" {
				t.skipped = why
			}
		}
	}
}
