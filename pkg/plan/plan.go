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
	Base       release.Commit        `json:"base,omitempty"` // the commit that changed paths are told since; empty when every path counts
	Release    release.ReleasePolicy `json:"release"`
	Trust      release.Trust         `json:"trust,omitempty"`     // of the change, as the installation judged it when the plan was made
	TrustWhy   string                `json:"trust_why,omitempty"` // why it is no higher, or what it rests on

	// A result without its configuration is worth little: what the tasks were resolved with.
	Environment string            `json:"environment,omitempty"`
	Presets     []string          `json:"presets,omitempty"`
	Settings    map[string]string `json:"settings,omitempty"` // by dotted path, after presets and overrides

	Tasks    []Task    `json:"tasks"`
	Skipped  []Skipped `json:"skipped"`
	Warnings []string  `json:"warnings"`
	Gate     Gate      `json:"gate"`
	Targets  []Target  `json:"targets,omitempty"`

	KeepGoing   bool       `json:"keep_going,omitempty"`   // tasks are started although they can no longer change the outcome
	Supersede   bool       `json:"supersede,omitempty"`    // a newer run of the same branch or pull request ends this one
	RetryBudget int32      `json:"retry_budget,omitempty"` // retries of all tasks together; 0 means no limit
	Providers   []Provider `json:"providers,omitempty"`    // that the definition brings
}

// Provider makes places with commands of the definition, for one task at a time, and destroys them after, even when making
// them failed half-way.
type Provider struct {
	Name    string           `json:"name"`
	Create  string           `json:"create"`            // text for "sh -eu"; prints the address of each place to $SLUICE_PLACES
	Destroy string           `json:"destroy"`           // must succeed on what is half made, or not there
	Ready   string           `json:"ready,omitempty"`   // succeeds once every node is up; until then it is run again
	Expiry  release.Duration `json:"expiry,omitempty"`  // after which a sweeper destroys what is left
	Limit   int32            `json:"limit,omitempty"`   // places at once
	Secrets []string         `json:"secrets,omitempty"` // names
}

// Task is one unit on one pool.
type Task struct {
	ID             release.TaskID       `json:"id"`
	Name           string               `json:"name"` // for people: "wheel (3.12, linux-x86_64)"
	Job            string               `json:"job,omitempty"`
	Kind           release.TaskKind     `json:"kind"`
	Pool           string               `json:"pool"`
	Needs          []release.TaskID     `json:"needs,omitempty"`
	NeedsArtifacts []string             `json:"needs_artifacts,omitempty"` // "jar.native": job and output type
	Inputs         []Input              `json:"inputs,omitempty"`
	Matrix         map[string]string    `json:"matrix,omitempty"`
	Variables      map[string]string    `json:"variables,omitempty"`
	Environment    string               `json:"environment,omitempty"` // that the task runs in
	Secrets        []string             `json:"secrets,omitempty"`     // names; values are resolved where the task runs
	Tokens         []IDToken            `json:"id_tokens,omitempty"`   // that tell others which task this is
	Image          string               `json:"image,omitempty"`
	Tags           []string             `json:"tags,omitempty"`
	Resources      map[string]float64   `json:"resources,omitempty"` // cpu, gpu, memory (bytes), nodes
	TimeoutS       float64              `json:"timeout_s,omitempty"` // of the command, in seconds
	Timeouts       release.Timeouts     `json:"timeouts"`
	Retry          []release.Retry      `json:"retry,omitempty"`
	Exits          []release.Exit       `json:"exits,omitempty"` // what statuses of run and prepare mean; the first that fits counts
	Stage          string               `json:"stage,omitempty"`
	Smoke          bool                 `json:"smoke,omitempty"`
	Group          string               `json:"group,omitempty"`
	Team           string               `json:"team,omitempty"`
	Owner          string               `json:"owner,omitempty"`
	Frequency      string               `json:"frequency,omitempty"`
	Concurrency    string               `json:"concurrency_group,omitempty"`
	GroupLimit     int32                `json:"concurrency_limit,omitempty"` // attempts of the group at once
	Priority       int32                `json:"priority,omitempty"`          // higher goes first
	SoftFail       bool                 `json:"soft_fail,omitempty"`
	Stable         bool                 `json:"stable,omitempty"` // counts for gate.require "tests.stable"
	Prepare        string               `json:"prepare,omitempty"`
	Run            string               `json:"run,omitempty"`          // text for "sh -eu"
	Cleanup        string               `json:"cleanup,omitempty"`      // text for "sh -eu" that runs last whatever happened, and first on places that it leased
	SkipPhases     []string             `json:"skip_phases,omitempty"`  // of "cleanup-first", "prepare", "test", "cleanup": not run
	Fetch          Fetch                `json:"fetch,omitzero"`         // instead of run: its one output is fetched
	LongRunning    bool                 `json:"long_running,omitempty"` // to reach the timeout of the command is to succeed
	Keep           release.Duration     `json:"keep,omitempty"`         // how long a failed attempt's workspace and places are left for a person
	Network        string               `json:"network,omitempty"`      // of a container or sandbox: "none" (default there) or "full"
	Caches         []Cache              `json:"caches,omitempty"`
	Variants       []Variant            `json:"variants,omitempty"` // the command runs once for each, in order, on one lease
	Lease          release.LeaseRequest `json:"lease,omitzero"`
	Gang           Gang                 `json:"gang,omitzero"`
	Directory      string               `json:"directory,omitempty"`
	Checkout       string               `json:"checkout,omitempty"` // "commit" (default) or "none"
	Outputs        []Output             `json:"outputs,omitempty"`
	Reports        Reports              `json:"reports,omitzero"`
	Why            string               `json:"why,omitempty"` // why it is in the plan and on this pool
}

// Pools is the pool of each task: what another pool says of it does not count.
func (p *Plan) Pools() map[release.TaskID]string {
	out := make(map[release.TaskID]string, len(p.Tasks))
	for _, t := range p.Tasks {
		out[t.ID] = t.Pool
	}
	return out
}

// Fetch is where the one output of a task is fetched that somebody else builds. How long it may take to come is the
// task's queue timeout; until then it is asked for again and again, and nobody holds an executor for it.
type Fetch struct {
	URL     string           `json:"url"`
	Every   release.Duration `json:"every"`              // between two questions
	Digest  release.Digest   `json:"digest,omitempty"`   // it must have; empty: any
	Commit  release.Commit   `json:"commit,omitempty"`   // it must carry; empty: none is looked for
	MaxSize int64            `json:"max_size,omitempty"` // bytes; 0: what the installation allows
}

// Wanted reports whether the task fetches its output.
func (f Fetch) Wanted() bool { return f.URL != "" }

// IDToken is a signed token that a task gets as a variable: with it the task proves to another service what it is.
type IDToken struct {
	Name     string   `json:"name"` // of the variable
	Audience []string `json:"aud"`  // who is to believe it
}

// Variant is one measurement of a task that makes several in sequence, on the same places.
type Variant struct {
	Name      string            `json:"name"`
	Variables map[string]string `json:"variables,omitempty"`
}

// Cache is a directory that attempts with the same key find as the last one left it.
type Cache struct {
	Key   string   `json:"key"`   // its files' digests are part of it: "pip-{{ python }}"
	Files []string `json:"files"` // globs of the checkout whose content is part of the key
	Path  string   `json:"path"`  // below the workspace
}

// Gang is how the command runs on several nodes of a lease at once. The zero gang runs it once, beside them all.
type Gang struct {
	Each    bool             `json:"each,omitempty"`    // once on every node, started together
	Stagger release.Duration `json:"stagger,omitempty"` // between the starts of one node and the next
	Need    int32            `json:"need,omitempty"`    // how many must succeed; 0 means all
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
