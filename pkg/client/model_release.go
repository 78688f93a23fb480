package client

import (
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Gate is the verdict on one round of a run.
type Gate struct {
	Round      int32               `json:"round"`
	State      string              `json:"state"` // "open" or "closed"
	Reason     string              `json:"reason,omitempty"`
	Candidate  release.Digest      `json:"candidate,omitempty"`
	At         time.Time           `json:"at,omitzero"`
	Conditions []release.Condition `json:"conditions"`
}

// Candidate is what the builds of one round gave.
type Candidate struct {
	Round     int32          `json:"round"`
	State     string         `json:"state"` // "assembled" or "rejected"
	ID        release.Digest `json:"candidate,omitempty"`
	Content   release.Digest `json:"content,omitempty"` // blob
	Artifacts int32          `json:"artifacts"`
	Reasons   []string       `json:"reasons,omitempty"`
	At        time.Time      `json:"at,omitzero"`
}

// Step is how far one target came towards one state.
type Step struct {
	Target    string                   `json:"target"`
	Kind      string                   `json:"kind,omitempty"`
	State     release.PublicationState `json:"state"`
	Round     int32                    `json:"round"`
	Requested time.Time                `json:"requested_at,omitzero"`
	Reached   time.Time                `json:"reached_at,omitzero"`
	Detail    string                   `json:"detail,omitempty"`
	Files     []event.PublishedFile    `json:"files,omitempty"`
	Failed    time.Time                `json:"failed_at,omitzero"`
	Fault     string                   `json:"fault,omitempty"`
	Reason    string                   `json:"reason,omitempty"`
}

// Broken reports whether the step failed and was not made since.
func (s Step) Broken() bool { return !s.Failed.IsZero() && s.Reached.Before(s.Failed) }

// Release is how the publication of a run ended.
type Release struct {
	State     string             `json:"state"` // "published" or "failed"
	Round     int32              `json:"round"`
	Candidate release.Digest     `json:"candidate,omitempty"`
	Targets   []event.TargetName `json:"targets,omitempty"`
	Reasons   []string           `json:"reasons,omitempty"`
	At        time.Time          `json:"at,omitzero"`
}

// Export is a part of a run that is kept elsewhere.
type Export struct {
	Destination string         `json:"destination"`
	Part        string         `json:"part"`
	Round       int32          `json:"round"`
	Location    string         `json:"location,omitempty"`
	Manifest    release.Digest `json:"manifest,omitempty"`
	Files       int32          `json:"files"`
	Bytes       int64          `json:"bytes"`
	At          time.Time      `json:"at,omitzero"`
}

// Moment is a fact in the timeline of a run.
type Moment struct {
	Seq    uint64         `json:"seq"`
	ID     string         `json:"id"`
	Type   event.Type     `json:"type"`
	Key    string         `json:"key,omitempty"`
	Task   release.TaskID `json:"task,omitempty"`
	At     time.Time      `json:"time"`
	Source string         `json:"source"`
	Cause  string         `json:"cause,omitempty"`
	Line   string         `json:"line"` // the fact in one sentence
	Tone   string         `json:"tone"` // "good", "bad", "warn" or "plain"
}

// Artifact is an output of a task.
type Artifact struct {
	Task      release.TaskID    `json:"task"`
	Name      string            `json:"name"`
	Type      string            `json:"type,omitempty"`
	Attempt   int32             `json:"attempt,omitempty"`
	Job       string            `json:"job,omitempty"`
	Digest    release.Digest    `json:"digest,omitempty"`
	Size      int64             `json:"size"` // bytes
	MediaType string            `json:"media_type,omitempty"`
	Directory bool              `json:"directory,omitempty"`
	Stamped   bool              `json:"stamped,omitempty"`
	Matrix    map[string]string `json:"matrix,omitempty"`
}

// Rehearsal is what a publication of a run would do now, in the order of its commits.
type Rehearsal struct {
	Run       release.RunID              `json:"run"`
	Candidate release.Digest             `json:"candidate"`
	Refused   string                     `json:"refused,omitempty"` // why nothing would be published
	Targets   []event.PublicationChecked `json:"targets"`
}

// OK reports whether everything would be published.
func (r Rehearsal) OK() bool {
	bad := func(t event.PublicationChecked) bool { return t.Fault != "" }
	return r.Refused == "" && !slices.ContainsFunc(r.Targets, bad)
}
