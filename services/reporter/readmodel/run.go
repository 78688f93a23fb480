package readmodel

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Run is a run as the list shows it.
type Run struct {
	ID       release.RunID      `json:"run"`
	Born     uint64             `json:"born"` // place of its first event in the stream; runs are listed by it
	Seq      uint64             `json:"seq"`  // place of its newest event
	Updated  time.Time          `json:"updated_at,omitzero"`
	Project  string             `json:"project,omitempty"`
	Repo     string             `json:"repo,omitempty"`
	Forge    string             `json:"forge,omitempty"`
	Kind     release.ChangeKind `json:"kind,omitempty"`
	Branch   string             `json:"branch,omitempty"`
	Ref      string             `json:"ref,omitempty"`
	Commit   release.Commit     `json:"commit,omitempty"`
	Title    string             `json:"title,omitempty"`
	Author   string             `json:"author,omitempty"`
	URL      string             `json:"url,omitempty"` // of the change on the forge
	Number   int32              `json:"number,omitempty"`
	HeadRepo string             `json:"head_repo,omitempty"`
	HeadRef  string             `json:"head_ref,omitempty"`
	Fork     bool               `json:"fork,omitempty"`
	RerunOf  release.RunID      `json:"rerun_of,omitempty"` // all of that run was to be made again, on its plan
	RerunBy  string             `json:"rerun_by,omitempty"` // who asked for that
	Received time.Time          `json:"received_at,omitzero"`
	Planned  time.Time          `json:"planned_at,omitzero"`
	Finished time.Time          `json:"finished_at,omitzero"` // of the last round; before Updated when it goes on
	State    string             `json:"state"`
	Outcome  release.Outcome    `json:"outcome,omitempty"` // of the last round that ended
	Reason   string             `json:"reason,omitempty"`
	Round    int32              `json:"round"`
	Plan     release.Digest     `json:"plan,omitempty"`
	Builds   int32              `json:"builds"`
	Tests    int32              `json:"tests"`
	Skipped  int32              `json:"skipped"`
	Gate     string             `json:"gate,omitempty"` // "open" or "closed" once it is decided
	GateWhy  string             `json:"gate_reason,omitempty"`
	Released string             `json:"released,omitempty"` // "published" or "failed"

	GateOn    []release.ChangeKind `json:"gate_on,omitempty"`
	GateTests []release.TaskID     `json:"gate_tests,omitempty"`
	Targets   []event.TargetName   `json:"targets,omitempty"`
	Warnings  []string             `json:"warnings,omitempty"`
	Trust     release.Trust        `json:"trust,omitempty"`        // of the change
	TrustWhy  string               `json:"trust_reason,omitempty"` // why it is no higher
	Problems  []event.Problem      `json:"problems,omitempty"`
	Reruns    []release.RunID      `json:"reruns,omitempty"` // runs that make all of this one again, the oldest first; not in lists

	Tasks Counts `json:"tasks"`
}

// Ended reports whether nothing more is expected of the run.
func (r Run) Ended() bool {
	return r.State != StateRunning && r.State != StateReceived && r.State != StateUnpermitted
}

// Failed reports whether somebody should look at it.
func (r Run) Failed() bool {
	return r.State == StateRejected || r.State == string(release.Failure) || r.State == string(release.Error)
}

// Change is the change that the run is of.
func (r Run) Change() release.Change {
	return release.Change{
		Kind: r.Kind, Project: r.Project, Repo: r.Repo, Ref: r.Ref, Branch: r.Branch, Commit: r.Commit, Author: r.Author,
		Title: r.Title, URL: r.URL, Number: r.Number, HeadRepo: r.HeadRepo, HeadRef: r.HeadRef, Fork: r.Fork, Forge: r.Forge,
	}
}

// Counts are the numbers of tasks by state.
type Counts map[string]int

// Total is the number of all tasks.
func (c Counts) Total() int {
	n := 0
	for _, v := range c {
		n += v
	}
	return n
}

// Of is the number of tasks in the states.
func (c Counts) Of(states ...string) int {
	n := 0
	for _, s := range states {
		n += c[s]
	}
	return n
}

// stateColumn is the state of a run. The column state has how the run ended, or that work was given out since; without
// it, what was decided about the change says how far the run is, whatever came first.
const stateColumn = "COALESCE(state, CASE WHEN planned_at IS NOT NULL THEN 'running' WHEN unpermitted IS NOT NULL THEN 'unpermitted'" +
	" WHEN ignored IS NOT NULL THEN 'ignored' ELSE 'received' END)"

const runColumns = "run, born, seq, updated_at, project, repo, forge, kind, branch, ref, commit_id, title, author, url, number," +
	" head_repo, head_ref, fork, rerun_of, rerun_by, received_at, planned_at, finished_at, " + stateColumn + ", outcome, COALESCE(reason, ignored)," +
	" round, plan, builds, tests, skipped, gate, gate_reason, released, gate_on, gate_tests, targets, warnings, problems, trust, trust_reason"

func scanRun(r *Run) []any {
	return []any{
		&r.ID, opt(&r.Born), opt(&r.Seq), moment(&r.Updated), opt(&r.Project), opt(&r.Repo), opt(&r.Forge), opt(&r.Kind),
		opt(&r.Branch), opt(&r.Ref), opt(&r.Commit), opt(&r.Title), opt(&r.Author), opt(&r.URL), opt(&r.Number),
		opt(&r.HeadRepo), opt(&r.HeadRef), opt(&r.Fork), opt(&r.RerunOf), opt(&r.RerunBy), moment(&r.Received), moment(&r.Planned), moment(&r.Finished),
		opt(&r.State), opt(&r.Outcome), opt(&r.Reason), opt(&r.Round), opt(&r.Plan), opt(&r.Builds), opt(&r.Tests),
		opt(&r.Skipped), opt(&r.Gate), opt(&r.GateWhy), opt(&r.Released), decoded(&r.GateOn), decoded(&r.GateTests),
		decoded(&r.Targets), decoded(&r.Warnings), decoded(&r.Problems), opt(&r.Trust), opt(&r.TrustWhy),
	}
}

// Run returns one run; found is false when no fact of it is known.
func (m *Model) Run(ctx context.Context, id release.RunID) (run Run, found bool, err error) {
	runs, err := collect(ctx, m, "SELECT "+runColumns+" FROM runs WHERE run = ?", []any{string(id)}, scanRun)
	if err != nil || len(runs) == 0 {
		return Run{}, false, err
	}
	if runs[0].Reruns, err = m.reruns(ctx, id); err != nil {
		return Run{}, false, err
	}
	err = m.count(ctx, runs)
	return runs[0], true, err
}

// maxReruns bounds how many reruns of a run are told.
const maxReruns = 100

// reruns lists the runs that make all of a run again.
func (m *Model) reruns(ctx context.Context, of release.RunID) ([]release.RunID, error) {
	query := "SELECT run FROM runs WHERE rerun_of = ? ORDER BY born LIMIT ?"
	return collect(ctx, m, query, []any{string(of), maxReruns}, func(id *release.RunID) []any { return []any{id} })
}
