package event

import "github.com/sluiceci/sluice/pkg/release"

// ChangeReceived says that a revision arrived. One run may hear of its commit by a push and by a pull request: the key
// is the kind, so that each is told once.
type ChangeReceived struct {
	Change release.Change `json:"change,omitzero"`
}

// ChangeIgnored says that no trigger of the definition wants a change.
type ChangeIgnored struct {
	Kind   release.ChangeKind `json:"kind,omitempty"`
	Reason string             `json:"reason,omitempty"`
}

// RunPlanned says that a run has its frozen plan.
type RunPlanned struct {
	Change    release.Change        `json:"change,omitzero"`
	Plan      release.Digest        `json:"plan,omitempty"` // blob
	Release   release.ReleasePolicy `json:"release,omitzero"`
	Builds    int32                 `json:"builds,omitempty"`    // tasks to build the candidate
	Tests     int32                 `json:"tests,omitempty"`     // tasks requested once there is a candidate
	Skipped   int32                 `json:"skipped,omitempty"`   // left out, with reasons in the plan
	GateTests []release.TaskID      `json:"gateTests,omitempty"` // tests that must succeed
	GateOn    []release.ChangeKind  `json:"gateOn,omitempty"`    // kinds of change that may publish
	Untested  bool                  `json:"untested,omitempty"`  // no test is required, on purpose
	Targets   []TargetName          `json:"targets,omitempty"`
	Warnings  []string              `json:"warnings,omitempty"`

	KeepGoing   bool  `json:"keepGoing,omitempty"`   // tasks are started although they can no longer change the outcome
	Supersede   bool  `json:"supersede,omitempty"`   // a newer run of the same branch or pull request ends this one
	RetryBudget int32 `json:"retryBudget,omitempty"` // retries of all tasks together; 0 means no limit

	Trust       release.Trust `json:"trust,omitempty"`       // of the change, as the installation judged it
	TrustReason string        `json:"trustReason,omitempty"` // why it is no higher
}

// TargetName names a target and its kind.
type TargetName struct {
	Name string `json:"name,omitempty"`
	Kind string `json:"kind,omitempty"`
}

// RunRejected says that the definition at the commit gives no plan.
type RunRejected struct {
	Change   release.Change `json:"change,omitzero"`
	Problems []Problem      `json:"problems,omitempty"`
}

// Problem is one error of a definition, where it is and what to do.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int32  `json:"line,omitempty"`
	Column  int32  `json:"column,omitempty"`
	Message string `json:"message,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// RunPermissionRequested says that a run of an untrusted change waits until somebody who may lets it run. It is bound to the
// run, and so to the commit: the next commit asks again.
type RunPermissionRequested struct {
	Change release.Change `json:"change,omitzero"`
	Reason string         `json:"reason,omitempty"` // why the change is untrusted
}

// RunPermitted says that somebody lets a run of an untrusted change run. It stays untrusted.
type RunPermitted struct {
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Note    string `json:"note,omitempty"`
}

// RunCancelRequested says that somebody wants a run to end.
type RunCancelRequested struct {
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Now     bool   `json:"now,omitempty"` // a commit to a target that is under way is broken off too
}

// RunRetryRequested asks for tasks to be tried again, on the frozen plan. No tasks means all that did not succeed.
type RunRetryRequested struct {
	Request string           `json:"request,omitempty"`
	By      string           `json:"by,omitempty"`
	Tasks   []release.TaskID `json:"tasks,omitempty"`
}

// RunFinished says how a run ended. A retry opens it again: each round ends once.
type RunFinished struct {
	Round   int32           `json:"round,omitempty"`
	Outcome release.Outcome `json:"outcome,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// EventType, Key: see Payload.
func (ChangeReceived) EventType() Type         { return TypeChangeReceived }
func (c ChangeReceived) Key() string           { return string(c.Change.Kind) }
func (ChangeIgnored) EventType() Type          { return TypeChangeIgnored }
func (c ChangeIgnored) Key() string            { return string(c.Kind) }
func (RunPlanned) EventType() Type             { return TypeRunPlanned }
func (RunPlanned) Key() string                 { return "" }
func (RunRejected) EventType() Type            { return TypeRunRejected }
func (RunRejected) Key() string                { return "" }
func (RunPermissionRequested) EventType() Type { return TypeRunPermissionRequested }
func (RunPermissionRequested) Key() string     { return "" }
func (RunPermitted) EventType() Type           { return TypeRunPermitted }
func (r RunPermitted) Key() string             { return r.Request }
func (RunCancelRequested) EventType() Type     { return TypeRunCancelRequested }
func (r RunCancelRequested) Key() string       { return r.Request }
func (RunRetryRequested) EventType() Type      { return TypeRunRetryRequested }
func (r RunRetryRequested) Key() string        { return r.Request }
func (RunFinished) EventType() Type            { return TypeRunFinished }
func (r RunFinished) Key() string              { return number(r.Round) }
