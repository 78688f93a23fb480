package definition

// leave takes out the tasks that a request skips. What needs them goes with them when it is linked.
func (r *resolver) leave() {
	for _, glob := range r.req.Skip {
		if !validGlob(glob) {
			r.refuse("/skip "+shorten(printable(glob), 60), "", "expected a glob on a task's id or name")
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
			r.refuse("/skip "+shorten(printable(glob), 60), nearest(glob, r.taskNames()), "no task has such an id or name")
		}
	}
}
