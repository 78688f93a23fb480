package publisher

import (
	"context"
	"fmt"
	"io"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Target is a place that artifacts are published to. Its methods are the steps of a publication in their order, each
// idempotent: a step that was cut off anywhere, or done before, is done again by calling it again.
//
// The same digest under the same name is success; another digest under the same name is fault.Conflict, found by the
// earliest step that can see it, and nothing is replaced. What may succeed later is fault.Transient.
type Target interface {
	// Access asks whether the release may be written: are the credentials taken, may they write, is there room. Nothing stays of
	// it. Before the run has built anything the release has no items.
	Access(context.Context, Release) error
	// Probe asks the target what it has already. It changes nothing.
	Probe(context.Context, Release) (Probe, error)
	// Stage does everything that users cannot see and that can be undone.
	Stage(context.Context, Release) error
	// Commit makes the release visible.
	Commit(context.Context, Release) error
	// Verify downloads what users would download and compares digests.
	Verify(context.Context, Release) error
}

// undoer is a target whose commits can be undone.
type undoer interface {
	// Undo takes back what Commit made visible, where users still see it. What was there before is there again: see Had.
	Undo(context.Context, Release) error
}

// Release is what one target gets of a run: items of its candidate, and the words that its options may use.
type Release struct {
	Run       release.RunID
	Project   string
	Commit    release.Commit
	Branch    string
	Change    release.Change // that is published
	Candidate release.Candidate
	Items     []Item
	Had       map[string]release.Digest // for Undo: what each name stood for before the release; empty is nothing
	Leave     []string                  // names that a run has taken which was pushed later: where they may move they stay with it

	plan *plan.Plan // frozen
}

// Item is an artifact and a way to its bytes.
type Item struct {
	Artifact release.Artifact
	Open     func(context.Context) (io.ReadCloser, error)
}

// Probe is what a target has already of a release.
type Probe struct {
	Files  []File
	Shared []string // names that only one release may write at a time
}

// File is one thing that a target publishes, by the name that users ask for.
type File struct {
	Name     string
	Digest   release.Digest
	Location string         // address or path, for people
	Present  bool           // the target has it with this digest
	Before   release.Digest // what a name that moves stands for now, when that is something else
}

// Present counts the files that are there.
func (p Probe) Present() int {
	n := 0
	for _, f := range p.Files {
		if f.Present {
			n++
		}
	}
	return n
}

func (p Probe) String() string {
	return fmt.Sprintf("%d of %d already there", p.Present(), len(p.Files))
}

func (p *Probe) add(name string, d release.Digest, location string, present bool) {
	p.Files = append(p.Files, File{Name: name, Digest: d, Location: location, Present: present})
}
