package event

import (
	"cmp"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// CandidateAssembled says that every build is in, each artifact that should carry the commit carries it, and the set is
// frozen. Rounds count the retries that a person asked for.
type CandidateAssembled struct {
	Round     int32          `json:"round,omitempty"`
	Candidate release.Digest `json:"candidate,omitempty"` // the candidate's id
	Blob      release.Digest `json:"blob,omitempty"`      // the candidate, JSON
	Plan      release.Digest `json:"plan,omitempty"`
	Commit    release.Commit `json:"commit,omitempty"`
	Artifacts int32          `json:"artifacts,omitempty"`
}

// CandidateRejected says that the builds give no candidate, with every reason.
type CandidateRejected struct {
	Round   int32    `json:"round,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// GateOpened says that a candidate met every condition and may be published.
type GateOpened struct {
	Round      int32               `json:"round,omitempty"`
	Candidate  release.Digest      `json:"candidate,omitempty"`
	Blob       release.Digest      `json:"blob,omitempty"`
	Plan       release.Digest      `json:"plan,omitempty"`
	Conditions []release.Condition `json:"conditions,omitempty"`
}

// GateClosed says that nothing of this round will be published, and which conditions were not met.
type GateClosed struct {
	Round      int32               `json:"round,omitempty"`
	Conditions []release.Condition `json:"conditions,omitempty"`
	Reason     string              `json:"reason,omitempty"`
}

// GateApproved says that a person approves the release of a candidate. Another candidate needs another approval.
type GateApproved struct {
	By        string         `json:"by,omitempty"` // the person's name for people
	Note      string         `json:"note,omitempty"`
	Candidate release.Digest `json:"candidate,omitempty"` // id of the candidate that was approved
	Approver  string         `json:"approver,omitempty"`  // subject: "github:ada", "token:ada"; of old facts only the name is known
}

// Person is who approved, as approvals are counted: two people may have one name, and nobody chooses their subject.
func (g GateApproved) Person() string { return cmp.Or(g.Approver, g.By) }

// EnvironmentApproved says that a reviewer lets a run use a protected environment. Its publications are of the candidate that
// the reviewer saw: another candidate needs another approval.
type EnvironmentApproved struct {
	Environment string         `json:"environment,omitempty"`
	Reviewer    string         `json:"reviewer,omitempty"` // subject, as the installation names reviewers: "github:ada"
	By          string         `json:"by,omitempty"`       // the reviewer's name for people
	Note        string         `json:"note,omitempty"`
	Candidate   release.Digest `json:"candidate,omitempty"` // id of the candidate that there was; empty before there is one
}

// GateHeld keeps the gate from opening until GateResumed. A gate that has opened stays open, but no commit to a target
// begins.
type GateHeld struct {
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Before  string `json:"before,omitempty"` // only the commit to this target waits; the gate may open
}

// GateResumed lifts every hold given before it.
type GateResumed struct {
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
}

// PublicationRequested asks for one step of a target. The kind is the first token of its key, so that each kind of
// target has a consumer.
type PublicationRequested struct {
	Target string                   `json:"target,omitempty"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"` // to be reached
	Round  int32                    `json:"round,omitempty"`
	Plan   release.Digest           `json:"plan,omitempty"`
	Blob   release.Digest           `json:"blob,omitempty"` // candidate
}

// PublicationAdvanced says that a target has reached a state.
type PublicationAdvanced struct {
	Target string                   `json:"target,omitempty"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"`
	Round  int32                    `json:"round,omitempty"`
	Files  []PublishedFile          `json:"files,omitempty"`
	Detail string                   `json:"detail,omitempty"`

	// Shared are names that only one release writes at a time: tags, projects of an index, the list of versions of an artifact.
	Shared []string `json:"shared,omitempty"`
}

// PublicationDelayed says that a step of a target waits, and for what. It is said now and then while the wait goes on, for
// people: nothing follows from it.
type PublicationDelayed struct {
	Target string                   `json:"target,omitempty"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"` // not reached yet
	Round  int32                    `json:"round,omitempty"`
	Tried  int32                    `json:"tried,omitempty"`  // how often
	Reason string                   `json:"reason,omitempty"` // the last error, or what it waits for
	Next   time.Time                `json:"next,omitzero"`    // it is tried again
	Until  time.Time                `json:"until,omitzero"`   // when it is given up
	Since  time.Time                `json:"since,omitzero"`   // when it was asked for
}

// PublicationChecked says what a target answered before it was asked to take anything: when the run was planned, whether it
// can be written; and when the candidate was assembled, whether its names are free. The gate does not wait for it, but stays
// shut when a name is taken by other bytes.
type PublicationChecked struct {
	Target string          `json:"target,omitempty"`
	Kind   string          `json:"kind,omitempty"`
	Round  int32           `json:"round,omitempty"`
	Fault  string          `json:"fault,omitempty"` // kind of the error; empty when the target can take the candidate
	Reason string          `json:"reason,omitempty"`
	Files  []PublishedFile `json:"files,omitempty"`

	Planned bool `json:"planned,omitempty"` // asked when the run was planned, before anything was built
}

// PublishedFile is a file of a target.
type PublishedFile struct {
	Name    string         `json:"name,omitempty"`
	Digest  release.Digest `json:"digest,omitempty"`
	URL     string         `json:"url,omitempty"`
	Present bool           `json:"present,omitempty"` // the same bytes were there already
	Before  release.Digest `json:"before,omitempty"`  // what a name that moves stood for before
}

// PublicationFailed says that a step cannot be made and a person must decide.
type PublicationFailed struct {
	Target string                   `json:"target,omitempty"`
	Kind   string                   `json:"kind,omitempty"`
	State  release.PublicationState `json:"state,omitempty"` // not reached
	Round  int32                    `json:"round,omitempty"`
	Fault  string                   `json:"fault,omitempty"` // kind of the error
	Reason string                   `json:"reason,omitempty"`
}

// PublicationRetryRequested asks for the failed targets of a release to go on.
type PublicationRetryRequested struct {
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
}

// PublicationUndoRequested asks to take back what a release that is not complete has made visible, where that can be taken back.
type PublicationUndoRequested struct {
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// ReleasePublished says that every target has the candidate, downloaded and compared.
type ReleasePublished struct {
	Round     int32          `json:"round,omitempty"`
	Candidate release.Digest `json:"candidate,omitempty"`
	Targets   []TargetName   `json:"targets,omitempty"`
}

// ReleaseFailed says which targets a person must look at, and what each has.
type ReleaseFailed struct {
	Round   int32    `json:"round,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// ArtifactExported says that a part of a run stands at a destination of the exporter.
type ArtifactExported struct {
	Destination string         `json:"destination,omitempty"`
	Part        string         `json:"part,omitempty"` // "candidate", "results", "latest"
	Round       int32          `json:"round,omitempty"`
	Location    string         `json:"location,omitempty"` // URL or path of the folder
	Manifest    release.Digest `json:"manifest,omitempty"` // of the list of files
	Files       int32          `json:"files,omitempty"`
	Bytes       int64          `json:"bytes,omitempty,string"`
}

// EventType, Key: see Payload.
func (CandidateAssembled) EventType() Type { return TypeCandidateAssembled }
func (c CandidateAssembled) Key() string   { return number(c.Round) }

func (CandidateRejected) EventType() Type { return TypeCandidateRejected }
func (c CandidateRejected) Key() string   { return number(c.Round) }

func (GateOpened) EventType() Type { return TypeGateOpened }
func (g GateOpened) Key() string   { return number(g.Round) }

func (GateClosed) EventType() Type { return TypeGateClosed }
func (g GateClosed) Key() string   { return number(g.Round) }

func (GateApproved) EventType() Type { return TypeGateApproved }
func (g GateApproved) Key() string {
	if !g.Candidate.Valid() {
		return release.Slug(g.Person())
	}
	return release.Slug(g.Person()) + "-" + g.Candidate.Hex()[:12]
}

func (EnvironmentApproved) EventType() Type { return TypeEnvironmentApproved }
func (a EnvironmentApproved) Key() string {
	key := release.Slug(a.Environment) + "." + release.Slug(a.Reviewer)
	if !a.Candidate.Valid() {
		return key
	}
	return key + "." + a.Candidate.Hex()[:12]
}

func (GateHeld) EventType() Type { return TypeGateHeld }
func (g GateHeld) Key() string   { return g.Request }

func (GateResumed) EventType() Type { return TypeGateResumed }
func (g GateResumed) Key() string   { return g.Request }

func (PublicationRequested) EventType() Type { return TypePublicationRequested }
func (p PublicationRequested) Key() string   { return p.Kind + "." + step(p.Target, p.State, p.Round) }

func (PublicationAdvanced) EventType() Type { return TypePublicationAdvanced }
func (p PublicationAdvanced) Key() string   { return step(p.Target, p.State, p.Round) }

func (PublicationDelayed) EventType() Type { return TypePublicationDelayed }
func (p PublicationDelayed) Key() string {
	return step(p.Target, p.State, p.Round) + "." + number(p.Tried)
}

func (PublicationChecked) EventType() Type { return TypePublicationChecked }
func (p PublicationChecked) Key() string {
	if p.Planned {
		return release.Slug(p.Target) + ".planned"
	}
	return release.Slug(p.Target) + "." + number(p.Round)
}

func (PublicationFailed) EventType() Type { return TypePublicationFailed }
func (p PublicationFailed) Key() string   { return step(p.Target, p.State, p.Round) }

func (PublicationRetryRequested) EventType() Type { return TypePublicationRetryRequested }
func (p PublicationRetryRequested) Key() string   { return p.Request }

func (PublicationUndoRequested) EventType() Type { return TypePublicationUndoRequested }
func (p PublicationUndoRequested) Key() string   { return p.Request }

func (ReleasePublished) EventType() Type { return TypeReleasePublished }
func (ReleasePublished) Key() string     { return "" }

func (ReleaseFailed) EventType() Type { return TypeReleaseFailed }
func (r ReleaseFailed) Key() string   { return number(r.Round) }

func (ArtifactExported) EventType() Type { return TypeArtifactExported }
func (a ArtifactExported) Key() string {
	return release.Slug(a.Destination) + "." + a.Part + "." + number(a.Round)
}

func step(target string, state release.PublicationState, round int32) string {
	return release.Slug(target) + "." + string(state) + "." + number(round)
}
