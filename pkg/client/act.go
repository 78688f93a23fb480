package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Trigger asks for a run of a commit, or of the head of a branch.
type Trigger struct {
	Project    string            `json:"project"`
	Branch     string            `json:"branch,omitempty"`
	Commit     release.Commit    `json:"commit,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Key        string            `json:"-"` // the same key again starts nothing new; one is made when it is empty
}

// Done is the answer to an action: it is a fact now.
type Done struct {
	Run    release.RunID `json:"run,omitempty"`
	Bisect string        `json:"bisect,omitempty"`
}

// Trigger starts a run.
func (c *Client) Trigger(ctx context.Context, t Trigger) (Done, error) {
	done, err := c.act(ctx, t.Key, t, "runs")
	if err == nil && !release.Token(string(done.Run)) {
		return done, fault.New(fault.Invalid, "cannot tell the new run: the server names it %q", Line(string(done.Run)))
	}
	return done, err
}

// Act is what an action on a run says besides its verb.
type Act struct {
	Reason string           `json:"reason,omitempty"`
	Note   string           `json:"note,omitempty"`
	Tasks  []release.TaskID `json:"tasks,omitempty"`
	Before string           `json:"before,omitempty"` // hold: only the commit to this target
	All    bool             `json:"all,omitempty"`    // retry: of the whole run, as a new run on the same plan
	Now    bool             `json:"now,omitempty"`    // cancel: commits under way are broken off
	Key    string           `json:"-"`                // the same key again does nothing new; one is made when it is empty
}

// Act does something to a run: "cancel", "retry", "approve", "hold", "resume" or "undo".
func (c *Client) Act(ctx context.Context, run release.RunID, verb string, a Act) (Done, error) {
	return c.act(ctx, a.Key, a, "runs", string(run), verb)
}

// ApproveEnvironment lets a run use a protected environment, as one of its reviewers.
func (c *Client) ApproveEnvironment(ctx context.Context, run release.RunID, environment string, a Act) (Done, error) {
	return c.act(ctx, a.Key, a, "runs", string(run), "environments", environment, "approve")
}

// Drain stops, or starts again, giving work to a pool.
func (c *Client) Drain(ctx context.Context, pool string, resume bool, reason string) (Done, error) {
	return c.act(ctx, "", struct {
		Resume bool   `json:"resume"`
		Reason string `json:"reason,omitempty"`
	}{resume, reason}, "pools", pool, "drain")
}

// Replay gives a dead letter to its consumer again.
func (c *Client) Replay(ctx context.Context, seq uint64) error {
	_, err := c.act(ctx, "", struct{}{}, "deadletters", strconv.FormatUint(seq, 10), "replay")
	return err
}

// act posts. A connection that broke is tried once more under the same key: the server does it once.
func (c *Client) act(ctx context.Context, key string, body any, path ...string) (Done, error) {
	if key == "" {
		key = rand.Text()
	}
	in := call{method: http.MethodPost, path: path, body: body, key: key}
	done, err := ask[Done](ctx, c, in)
	if Answered(err) || ctx.Err() != nil {
		return done, err
	}
	return ask[Done](ctx, c, in)
}
