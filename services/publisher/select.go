package publisher

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// OpenBlob opens stored bytes by their digest.
type OpenBlob func(context.Context, release.Digest) (io.ReadCloser, error)

// Select picks a target's items from the candidate, and from nowhere else. Each selector must pick something: a
// release that silently lacks its wheels is not a release.
func Select(c release.Candidate, t plan.Target, open OpenBlob) ([]Item, error) {
	var picked []release.Artifact
	for _, selector := range t.Select {
		before := len(picked)
		for _, a := range c.Artifacts {
			if selects(selector, a) {
				picked = append(picked, a)
			}
		}
		if len(picked) == before {
			return nil, fault.New(fault.Invalid, "cannot publish to target %q: %q selects nothing; the candidate has %s",
				t.Name, selector, strings.Join(selectors(c), ", "))
		}
	}
	return items(t, picked, open)
}

// selects understands "wheel" (a type) and "jar.native" (a job and a type).
func selects(selector string, a release.Artifact) bool {
	return selector == a.Type || selector == a.Job+"."+a.Type
}

func selectors(c release.Candidate) []string {
	var all []string
	for _, a := range c.Artifacts {
		all = append(all, a.Job+"."+a.Type)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// items makes each name one item. Tasks that made the same bytes under the same name agree (a pure wheel built on every
// Python); tasks that made different bytes under one name do not, and nobody can say which was meant.
func items(t plan.Target, picked []release.Artifact, open OpenBlob) ([]Item, error) {
	byName := map[string]release.Artifact{}
	var out []Item
	for _, a := range picked {
		first, seen := byName[a.Name]
		if seen && first.Digest == a.Digest {
			continue
		}
		if seen {
			return nil, fault.New(fault.Conflict, "cannot publish %q to target %q: task %s made %s and task %s made %s under that name; select one, or give them different names",
				a.Name, t.Name, first.Task, first.Digest, a.Task, a.Digest)
		}
		byName[a.Name] = a
		out = append(out, Item{Artifact: a, Open: func(ctx context.Context) (io.ReadCloser, error) { return open(ctx, a.Digest) }})
	}
	return out, nil
}
