// Package plan has the resolved, frozen list of what a run does, and the rules that resolve it. A plan is made once from
// the definition at a commit (Resolve), stored as a blob under its own digest, and never changes: a rerun uses the same
// plan. Making one does no I/O; the same inputs give the same bytes.
package plan

import (
	"encoding/json"
	"fmt"

	"github.com/sluiceci/sluice/pkg/release"
)

// Plan is everything that a run of one change may do.
type Plan struct {
	Project    string                `json:"project"`
	Definition release.Digest        `json:"definition,omitempty"` // of the definition's text
	Change     release.Change        `json:"change"`
	Release    release.ReleasePolicy `json:"release"`

	// A result without its configuration is worth little: what the tasks were resolved with.
	Environment string            `json:"environment,omitempty"`
	Presets     []string          `json:"presets,omitempty"`
	Settings    map[string]string `json:"settings,omitempty"` // by dotted path, after presets and overrides

	Tasks    []Task    `json:"tasks"`
	Skipped  []Skipped `json:"skipped"`
	Warnings []string  `json:"warnings"`
	Gate     Gate      `json:"gate"`
	Targets  []Target  `json:"targets,omitempty"`
}

// Task is one unit on one pool.
type Task struct {
	ID             release.TaskID     `json:"id"`
	Name           string             `json:"name"` // for people: "wheel (3.12, linux-x86_64)"
	Job            string             `json:"job,omitempty"`
	Kind           release.TaskKind   `json:"kind"`
	Pool           string             `json:"pool"`
	Needs          []release.TaskID   `json:"needs,omitempty"`
	NeedsArtifacts []string           `json:"needs_artifacts,omitempty"` // "jar.native": job and output type
	Inputs         []Input            `json:"inputs,omitempty"`
	Matrix         map[string]string  `json:"matrix,omitempty"`
	Variables      map[string]string  `json:"variables,omitempty"`
	Secrets        []string           `json:"secrets,omitempty"` // names; values are resolved where the task runs
	Image          string             `json:"image,omitempty"`
	Tags           []string           `json:"tags,omitempty"`
	Resources      map[string]float64 `json:"resources,omitempty"` // cpu, gpu, memory (bytes), nodes
	TimeoutS       float64            `json:"timeout_s,omitempty"` // of the command, in seconds
	Timeouts       release.Timeouts   `json:"timeouts"`
	Retry          []release.Retry    `json:"retry,omitempty"`
	Stage          string             `json:"stage,omitempty"`
	Smoke          bool               `json:"smoke,omitempty"`
	Group          string             `json:"group,omitempty"`
	Team           string             `json:"team,omitempty"`
	Owner          string             `json:"owner,omitempty"`
	Frequency      string             `json:"frequency,omitempty"`
	Concurrency    string             `json:"concurrency_group,omitempty"`
	Priority       int32              `json:"priority,omitempty"` // higher goes first
	SoftFail       bool               `json:"soft_fail,omitempty"`
	Stable         bool               `json:"stable,omitempty"` // counts for gate.require "tests.stable"
	Prepare        string             `json:"prepare,omitempty"`
	Run            string             `json:"run,omitempty"` // text for "sh -eu"
	Directory      string             `json:"directory,omitempty"`
	Checkout       string             `json:"checkout,omitempty"` // "commit" (default) or "none"
	Outputs        []Output           `json:"outputs,omitempty"`
	Reports        Reports            `json:"reports,omitzero"`
	Why            string             `json:"why,omitempty"` // why it is in the plan and on this pool
}

// Output names files that a task leaves in its workspace.
type Output struct {
	Type      string `json:"type"` // "wheel"
	Path      string `json:"path"` // glob below the workspace; a match that is a directory is packed as one artifact
	Stamped   bool   `json:"stamped,omitempty"`
	StampIn   string `json:"stamp_in,omitempty"`
	Optional  bool   `json:"optional,omitempty"` // no match is not an error
	MediaType string `json:"media_type,omitempty"`
}

// Input is a set of artifacts laid into $SLUICE_INPUTS/<job>/ before the command runs.
type Input struct {
	Job  string           `json:"job"`
	Type string           `json:"type,omitempty"` // empty: every output of the job
	From []release.TaskID `json:"from"`
}

// Reports names the files that tell what a test task found.
type Reports struct {
	JUnit   string `json:"junit,omitempty"`   // glob
	Results string `json:"results,omitempty"` // path of a results.json
}

// Skipped is a task, or a whole job, that is not in the plan, with the reason.
type Skipped struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Gate is what the run's candidate must meet before it is published.
type Gate struct {
	Builds bool             `json:"builds"`          // every build task succeeds (always demanded)
	Tests  []release.TaskID `json:"tests,omitempty"` // these test tasks succeed
	// Untested says that none are demanded on purpose: the definition requires builds only, or the change cannot publish
	// and every test was left out with its reason. Without it a gate that demands no test never opens.
	Untested bool     `json:"untested,omitempty"`
	On       []string `json:"on,omitempty"` // kinds of change that may publish; "push" by default
}

// Target is a place that artifacts are published to, as the definition configures it.
type Target struct {
	Name    string            `json:"name"`           // "pypi"
	Kind    string            `json:"kind"`           // "pypi", "pypi-index", "maven", "oci"
	Select  []string          `json:"select"`         // "wheel", "jar.native": types, or job and type
	Options map[string]string `json:"options"`        // of the kind; a value "$NAME" is a secret's name
	When    string            `json:"when,omitempty"` // why it is offered
}

// Task returns the task with an id.
func (p *Plan) Task(id release.TaskID) (*Task, bool) {
	for i := range p.Tasks {
		if p.Tasks[i].ID == id {
			return &p.Tasks[i], true
		}
	}
	return nil, false
}

// Encode writes the plan in its one canonical form; its digest is the plan's identity.
func (p *Plan) Encode() ([]byte, release.Digest, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, "", fmt.Errorf("cannot encode plan: %w", err)
	}
	return b, release.DigestOf(b), nil
}

// Decode reads what Encode wrote.
func Decode(b []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("cannot decode plan: %w", err)
	}
	return &p, nil
}
