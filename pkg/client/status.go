package client

import (
	"context"
	"net/url"

	"github.com/sluiceci/sluice/pkg/release"
)

// Status is all of a run that fits a screen.
type Status struct {
	Run        Run                 `json:"run"`
	Tasks      []Task              `json:"tasks"`                // the requested, in that order, then those that are only planned
	TasksNext  uint64              `json:"tasks_next,omitempty"` // "tasks_after" of the rest
	Gates      []Gate              `json:"gates"`
	Conditions []release.Condition `json:"conditions"` // of the gate, decided or as the scheduler sees them now
	Candidates []Candidate         `json:"candidates"`
	Steps      []Step              `json:"steps"`
	Release    *Release            `json:"release,omitempty"`
	Publishing []Publishing        `json:"publishing"` // how far each target is, and what it waits for
	Exports    []Export            `json:"exports"`
	Artifacts  []ArtifactTotals    `json:"artifacts"`
	LeftOut    []LeftOut           `json:"left_out"` // of the plan, with reasons
	Why        *Why                `json:"why,omitempty"`
	Unanswered string              `json:"unanswered,omitempty"` // who did not say why
}

// ArtifactTotals sums up the artifacts of a run by type.
type ArtifactTotals struct {
	Type  string `json:"type"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

// LeftOut is a task, or a whole job, that is not in the plan, with the reason.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

const maxPages = 1000 // of one list; a server that never ends one is wrong

// Status returns all of a run that fits a screen, and all of its tasks.
func (c *Client) Status(ctx context.Context, run release.RunID) (Status, error) {
	status, err := c.part(ctx, run, 0)
	for range maxPages {
		if err != nil || status.TasksNext == 0 {
			return status, err
		}
		var more Status
		more, err = c.part(ctx, run, status.TasksNext)
		status.Tasks = append(status.Tasks, more.Tasks...)
		status.TasksNext = more.TasksNext
	}
	return status, err
}

// Run returns a run as the list shows it.
func (c *Client) Run(ctx context.Context, run release.RunID) (Run, error) {
	status, err := c.part(ctx, run, 0)
	return status.Run, err
}

func (c *Client) part(ctx context.Context, run release.RunID, after uint64) (Status, error) {
	query := url.Values{}
	number(query, "tasks_after", after)
	return get[Status](ctx, c, query, "runs", string(run))
}
