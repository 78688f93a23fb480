package publisher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// orders are what people said about a release, and what forbids it. The publisher folds them itself: the scheduler may have
// opened the gate on older knowledge, and what a person was told is accepted must be kept. Where the order of two matters it
// is the stream's.
type orders struct {
	cancel    said
	abrupt    bool   // the cancellation breaks off what is under way
	undo      said   // what is visible is to be taken back
	again     uint64 // place of the newest retry: it takes back a cancellation and an undo before it
	holds     []hold
	resumed   uint64
	approvals map[approval]bool
	reviews   map[review]bool
	refused   map[int32]string // why a round gives nothing to publish
}

// said is what somebody said, and where it stands in the stream.
type said struct {
	seq        uint64
	by, reason string
}

// hold keeps commits from beginning: all, or those to one target.
type hold struct {
	said
	before string
}

type approval struct {
	by        string
	candidate release.Digest
}

// review is an approval of a protected environment.
type review struct {
	environment, reviewer string
	candidate             release.Digest
}

func newOrders() orders {
	return orders{approvals: map[approval]bool{}, reviews: map[review]bool{}, refused: map[int32]string{}}
}

// apply folds one fact. opened is the place of gate.opened, or 0.
func (o *orders) apply(e event.Event, opened uint64) {
	switch p := e.Data.(type) {
	case event.RunCancelRequested:
		if late := opened > 0 && strings.HasPrefix(p.Request, "superseded-"); e.Seq > o.cancel.seq && !late {
			o.cancel, o.abrupt = said{e.Seq, p.By, p.Reason}, p.Now
		}
	case event.RunRetryRequested:
		if opened == 0 {
			o.again = max(o.again, e.Seq)
		}
	case event.PublicationRetryRequested:
		o.again = max(o.again, e.Seq)
	case event.PublicationUndoRequested:
		if opened > 0 && e.Seq > o.undo.seq {
			o.undo = said{e.Seq, p.By, p.Reason}
		}
	case event.GateHeld:
		if h := (hold{said{e.Seq, p.By, p.Reason}, p.Before}); !slices.Contains(o.holds, h) {
			o.holds = append(o.holds, h)
		}
	case event.GateResumed:
		o.resumed = max(o.resumed, e.Seq)
	case event.GateApproved:
		o.approvals[approval{p.Person(), p.Candidate}] = true
	case event.EnvironmentApproved:
		o.reviews[review{p.Environment, p.Reviewer, p.Candidate}] = true
	case event.CandidateRejected:
		o.refused[p.Round] = "the candidate was rejected: " + strings.Join(p.Reasons, "; ")
	case event.GateClosed:
		o.refused[p.Round] = "the gate is shut: " + p.Reason
	}
}

// cancelled is why the release is to stop, or "".
func (o *orders) cancelled() string {
	if o.cancel.seq <= o.again {
		return ""
	}
	return "the run was cancelled by " + o.cancel.String()
}

// undone is why what is visible is taken back, or "".
func (o *orders) undone() string {
	if o.undo.seq <= o.again {
		return ""
	}
	return "what can be taken back is taken back by " + o.undo.String()
}

// stopped is why the release is to stop, or "".
func (o *orders) stopped() string { return cmp.Or(o.cancelled(), o.undone()) }

// broken is why a commit that is under way is broken off, or "".
func (o *orders) broken() string {
	if o.abrupt {
		return o.stopped()
	}
	return o.undone()
}

// held is why no commit to a target begins, or "".
func (o *orders) held(target string, reversible bool) string {
	for _, h := range o.holds {
		switch {
		case h.seq <= o.resumed:
		case h.before == "":
			return "the run is held by " + h.String()
		case h.before == release.Irreversible && !reversible:
			return "commits that cannot be undone are held by " + h.String()
		case h.before == target:
			return fmt.Sprintf("the commit to %s is held by %s", target, h.String())
		}
	}
	return ""
}

// approvers counts the people who approved a candidate.
func (o *orders) approvers(candidate release.Digest) int32 {
	var n int32
	for a := range o.approvals {
		if a.candidate == candidate {
			n++
		}
	}
	return n
}

// reviewers lists who approved an environment for a candidate.
func (o *orders) reviewers(environment string, candidate release.Digest) []string {
	var out []string
	for r := range o.reviews {
		if r.environment == environment && r.candidate == candidate {
			out = append(out, r.reviewer)
		}
	}
	return out
}

func (s said) String() string {
	by := s.by
	if by == "" {
		by = "somebody"
	}
	if s.reason == "" {
		return by
	}
	return by + ": " + s.reason
}
