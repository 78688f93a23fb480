package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

func (r *run) built() release.Condition {
	c := release.Condition{Name: "builds"}
	switch {
	case r.counts.badBuilds > 0 && r.buildsOver():
		c.Final, c.Reason = true, "these builds did not succeed: "+strings.Join(r.badBuilds(), "; ")+r.mootBuilds()
	case !r.allBuilds():
		c.Reason = fmt.Sprintf("%d of %d builds have been requested", r.counts.builds, r.planned.Builds)
	case !r.buildsOver():
		c.Reason = fmt.Sprintf("%d of %d builds have not ended: %s", r.counts.openBuilds, r.counts.builds, r.openBuilds())
	default:
		c.Met, c.Final, c.Reason = true, true, fmt.Sprintf("%d builds succeeded", r.counts.builds)
	}
	return c
}

func (r *run) buildsOver() bool { return r.allBuilds() && r.counts.openBuilds == 0 }

func (r *run) badBuilds() []string {
	return r.name(func(t *task) bool { return t.build() && t.status == failed && !t.verdict().moot && t.culprit() == t }, func(t *task) string {
		return string(t.id) + ": " + t.verdict().reason
	})
}

// mootBuilds says how many builds were not made because others had failed.
func (r *run) mootBuilds() string {
	n := 0
	for _, t := range r.list {
		if t.build() && t.status == failed && t.culprit().verdict().moot {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 more was not started after that"
	}
	return fmt.Sprintf("; %d more were not started after that", n)
}

func (r *run) openBuilds() string {
	return strings.Join(r.name(func(t *task) bool { return t.build() && t.status == open }, func(t *task) string {
		return string(t.id)
	}), ", ")
}

func (t *task) build() bool { return t.known() && !AfterCandidate(t.spec.kind) }

// name lists the first tasks that are so.
func (r *run) name(so func(*task) bool, as func(*task) string) []string {
	const most = 20
	var out []string
	for _, t := range r.list {
		if !so(t) {
			continue
		}
		if len(out) == most {
			return append(out, "…")
		}
		out = append(out, as(t))
	}
	slices.Sort(out)
	return out
}

func (r *run) assembled() release.Condition {
	c := release.Condition{Name: "candidate"}
	reasons, refused := r.refusals[r.round()]
	switch found := r.candidate(); {
	case r.empty():
		c.Final, c.Reason = true, "the plan has no task"
	case found != nil:
		c.Met, c.Final = true, true
		c.Reason = fmt.Sprintf("%d artifacts, every stamp verified: %s", found.Artifacts, found.Candidate)
	case refused:
		c.Final, c.Reason = true, or(joined(reasons), "the builder rejected it")
	case r.counts.badBuilds > 0 && r.buildsOver():
		c.Final, c.Reason = true, "the builds give none"
	default:
		c.Reason = "it is not assembled yet"
	}
	return c
}

func (r *run) empty() bool {
	return r.planned.Builds == 0 && r.planned.Tests == 0 && r.counts.known == 0
}
