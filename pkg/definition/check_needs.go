package definition

import (
	"slices"
	"strings"
)

func (c *checker) needs(name string, job *Job) {
	for i := range job.Needs.List {
		if c.full() {
			return
		}
		n := &job.Needs.List[i]
		t := n.text()
		of, kind := n.of()
		if t.At.Line == 0 {
			continue // told when it was read
		}
		if n.Artifacts.Value != "" && !strings.Contains(n.Artifacts.Value, ".") {
			c.fail(t.At, firstOf(nearest(t.Value, keysOf(c.def.outputTypes())), "write JOB.TYPE, for example jar.native"),
				"expected an artifact as JOB.TYPE, or a TYPE that a build makes, found %q", shorten(printable(t.Value), 60))
			continue
		}
		if !c.need(name, t, of) {
			continue
		}
		if types := c.jobs[of].Outputs.Names(); kind != "" && !slices.Contains(types, kind) {
			c.fail(t.At, nearest(kind, types), "job %s has no output %q, it has: %s", of, shorten(printable(kind), 60), enumerate(types, 20))
		}
		c.where(n, of)
	}
}

func (c *checker) need(name string, at Text, needed string) bool {
	switch _, known := c.jobs[needed]; {
	case !known:
		c.fail(at.At, nearest(needed, keysOf(c.jobs)), "job %s needs %q, which is no job", name, shorten(printable(needed), 60))
		return false
	case !c.test[name] && c.test[needed]:
		c.fail(at.At, "tests run on the candidate, which the builds make", "build %s needs test %s; a build may not need a test", name, needed)
		return false
	}
	return true
}

// where checks that the job that is needed has the keys that where decides.
func (c *checker) where(n *Need, of string) {
	keys := c.jobs[of].Matrix.keys()
	for _, e := range n.Where {
		if !slices.Contains(keys, e.Name) {
			c.fail(e.At, nearest(e.Name, keys), "job %s has no matrix key %q%s", of, shorten(printable(e.Name), 60), amongKeys(keys))
		}
		if !validGlob(e.Value.Value) {
			c.fail(e.Value.At, "", "expected a glob, found %q", shorten(printable(e.Value.Value), 60))
		}
	}
}

func amongKeys(keys []string) string {
	if len(keys) == 0 {
		return ": it has no matrix"
	}
	return ", expected one of " + enumerate(keys, 20)
}

// places checks what a job says of the places that it leases.
func (c *checker) places(name string, job *Job) {
	g := job.Gang
	if g.At.Line > 0 && job.Lease.At.Line == 0 {
		c.fail(g.At, "for example lease: {from: lab, nodes: 2}", "job %s runs on the nodes of a lease, but leases none", name)
	}
	if nodes := max(1, job.Lease.Nodes.Value); g.Need.At.Line > 0 && (g.Need.Value < 1 || g.Need.Value > nodes) {
		c.fail(g.Need.At, "", "expected a number of nodes between 1 and %d, which is what the lease has, found %d", nodes, g.Need.Value)
	}
	if job.Lease.At.Line > 0 && job.Lease.From.Value == "" && !c.told(job.Lease.At) {
		c.fail(job.Lease.At, "", "the lease of job %s names no provider", name)
	}
	if t := job.Timeout.Nodes; t.Set && job.Lease.At.Line == 0 {
		c.fail(t.At, "", "timeout.nodes is for the nodes of a lease, but job %s leases none", name)
	}
	for _, p := range job.Lease.Places {
		if !strings.Contains(p.Value, openMark) && (p.Value == "" || !validGlob(p.Value)) {
			c.fail(p.At, "", "expected a glob of places, found %q", shorten(printable(p.Value), 60))
		}
	}
}

// checkProviders checks the providers that the definition brings.
func checkProviders(c *checker) {
	for _, e := range c.def.Providers {
		p := e.Value
		if !jobName.MatchString(e.Name) {
			c.fail(e.At, "", "expected a provider's name of letters, digits, - and _, found %q", shorten(printable(e.Name), 60))
		}
		if p.Limit.Value < 0 {
			c.fail(p.Limit.At, "", "expected a limit from 0, found %d", p.Limit.Value)
		}
		c.secrets(p.Secrets)
		for _, t := range []Text{p.Create, p.Destroy, p.Ready} {
			c.template(t, nil, nil)
		}
		c.commands([]Text{p.Create, p.Destroy, p.Ready}, &Matrix{}, "the jobs that lease its places")
	}
}
