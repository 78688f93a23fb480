package publisher

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// standing is how far a target has come, what it waits for, and what was tried: by the functions that decide.
type standing struct {
	Target string                   `json:"target"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"` // the last that it reached
	Reason string                   `json:"reason"`          // what it waits for, or why it cannot go on
	Since  time.Time                `json:"since,omitzero"`
	Broken bool                     `json:"broken,omitempty"` // it goes on when somebody asks for it
	Error  string                   `json:"error,omitempty"`  // the last, of a step that is tried again
	Tried  int32                    `json:"tried,omitempty"`
	Next   time.Time                `json:"next,omitzero"`  // it is tried again
	Until  time.Time                `json:"until,omitzero"` // when it is given up

	waits bool
}

// standings are those of a run that is being published, in the order of commits.
func (s *saga) standings(run release.RunID) []standing {
	if s.opened == nil || s.planned == nil || s.published {
		return nil
	}
	var out []standing
	for _, name := range s.sorted() {
		out = append(out, s.standing(run, s.targets[name]))
	}
	slices.SortStableFunc(out, func(a, b standing) int { return cmp.Compare(rankOf(a.Kind), rankOf(b.Kind)) })
	return out
}

func (s *saga) standing(run release.RunID, t *progress) standing {
	out := standing{Target: t.name, Kind: t.kind, State: t.reached, Since: t.moved}
	next := t.reached.Next()
	_, _, failed := t.failure(s.round)
	switch {
	case failed:
		out.Broken, out.Reason = true, fmt.Sprintf("%s; sluice retry %s tries again", t.describe(s.round), run)
	case s.failed[s.round]:
		out.Broken, out.Reason = t.reached != release.Verified, fmt.Sprintf("%s; the release ended; sluice retry %s goes on", t.describe(s.round), run)
	case t.reached == release.Verified:
		out.Reason = "it is there, downloaded again and compared"
	case s.stopped() && next == release.Committed && !t.visible():
		out.Reason = "its commit does not begin: " + cmp.Or(s.orders.stopped(), "another target failed")
	case t.lingers:
		out.Reason, out.waits = "a commit that was asked for may still be made; when it has ended it is taken back", true
	case t.requested[attempt{next, s.round}]:
		out.Reason = fmt.Sprintf("it is being %s", next)
		s.tried(t, next, &out)
	case next == release.Committed && s.obstacle(t) != "":
		out.Reason, out.waits = s.obstacle(t), true
	default:
		out.Reason = "the next step is being asked for"
	}
	return out
}

// tried adds what is known of a step that is tried again and again.
func (s *saga) tried(t *progress, next release.PublicationState, out *standing) {
	d := t.delay
	if d == nil || d.State != next || d.Round != s.round {
		return
	}
	out.Reason, out.waits = fmt.Sprintf("it is to be %s", next), true
	out.Error, out.Tried, out.Next, out.Until = d.Reason, d.Tried, d.Next, d.Until
}

// wait notes that a step is to be tried again; of two notes the later counts.
func (t *progress) wait(p event.PublicationDelayed) {
	if t.delay == nil || !p.Next.Before(t.delay.Next) {
		t.delay = &p
	}
}

// String is a standing in one line.
func (s standing) String() string {
	text := fmt.Sprintf("target %s: %s", s.Target, s.Reason)
	if s.Error != "" {
		text += fmt.Sprintf(": %s (tried %d times, next at %s, given up at %s)", s.Error, s.Tried,
			s.Next.UTC().Format(time.RFC3339), s.Until.UTC().Format(time.RFC3339))
	}
	if !s.Since.IsZero() {
		text += ", since " + s.Since.UTC().Format(time.RFC3339)
	}
	return text
}
