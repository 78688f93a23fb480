package builder

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	parameterOnly = "only" // of a commit that is on no branch: the one task that is wanted
	stateJailed   = "jailed"
)

// only selects the task that a change asks for by a parameter, as a bisection's do. It is heard where nothing can be
// published: a commit that is on no branch.
func only(r definition.Request) definition.Request {
	glob := r.Change.Parameters[parameterOnly]
	if glob == "" || r.Change.Branch != "" || !strings.HasPrefix(r.Change.Ref, "refs/commits/") {
		return r
	}
	r.Select = append(slices.Clone(r.Select), glob)
	r.Change.Parameters = maps.Clone(r.Change.Parameters)
	delete(r.Change.Parameters, parameterOnly)
	return r
}

// jailed asks the stream which tests of a project are jailed now, and why. Whoever selects tasks by name wants them, jailed
// or not.
func (b *builder) jailed(ctx context.Context, r definition.Request) (map[string]string, error) {
	project := r.Change.Project
	if project == "" || len(r.Select) > 0 {
		return nil, nil
	}
	keys := []string{release.Slug(project)}
	if _, err := b.deps.Bus.Get(ctx, event.TypeTestMoved.FilterRun(event.Fleet, keys...)); err != nil {
		if bus.Empty(err) {
			return nil, nil
		}
		return nil, err
	}
	moves, err := b.moves(ctx, project, keys)
	if err != nil {
		return nil, err
	}
	out, now := map[string]string{}, b.deps.Now()
	for test, e := range moves {
		m := e.Data.(event.TestMoved)
		if m.To != stateJailed || !m.Until.IsZero() && !now.Before(m.Until) {
			continue // a jail that is over: the test is run again, to see
		}
		if out[test], err = b.why(ctx, e, m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// moves are the last of each test of a project.
func (b *builder) moves(ctx context.Context, project string, keys []string) (map[string]event.Event, error) {
	f, err := b.deps.Bus.Follow(ctx, bus.Following{
		Name: Name + "-jail", Types: []event.Type{event.TypeTestMoved}, Run: string(event.Fleet), Keys: keys,
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]event.Event{}
	for {
		batch, err := f.Next(ctx, 10*time.Second)
		if err != nil {
			return nil, err
		}
		for _, e := range batch.Events {
			m := e.Data.(event.TestMoved)
			last, known := out[m.Test]
			if m.Project == project && (!known || m.Number > last.Data.(event.TestMoved).Number) {
				out[m.Test] = e
			}
		}
		if batch.Live || len(batch.Events) == 0 {
			return out, nil
		}
	}
}

// why is the reason that a jailed test is left out with.
func (b *builder) why(ctx context.Context, e event.Event, m event.TestMoved) (string, error) {
	text := "jailed since " + e.Time.UTC().Format(time.DateOnly)
	issue := m.Issue
	synced, err := b.deps.Bus.Get(ctx, event.TypeIssueSynced.FilterRun(event.Fleet, event.TestKey(m.Project, m.Test)))
	if err == nil {
		issue = synced.Data.(event.IssueSynced).Issue
	} else if !bus.Empty(err) {
		return "", err
	}
	if issue != 0 {
		text += fmt.Sprintf(", issue #%d", issue)
	}
	text += ", owner " + cmp.Or(m.Owner, "nobody")
	if !m.Until.IsZero() {
		text += ", until " + m.Until.UTC().Format(time.DateOnly)
	}
	return text, nil
}
