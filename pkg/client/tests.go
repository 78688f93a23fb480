package client

import (
	"context"
	"net/url"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// TestStatus is how a test fares on the release branch.
type TestStatus struct {
	Project string        `json:"project"`
	Test    string        `json:"test"`
	State   string        `json:"state"` // passing, failing, consistently_failing, flaky, jailed
	Since   time.Time     `json:"since,omitzero"`
	Until   time.Time     `json:"until,omitzero"` // of a jail
	Owner   string        `json:"owner,omitempty"`
	Issue   int32         `json:"issue,omitempty"`
	URL     string        `json:"url,omitempty"` // of the issue
	Run     release.RunID `json:"run,omitempty"` // whose result moved it
	By      string        `json:"by,omitempty"`  // a person who did
	Reason  string        `json:"reason,omitempty"`
	Blamed  string        `json:"blamed,omitempty"` // commit
}

// Tests lists the tests that were ever anything but passing, of one project or of all.
func (c *Client) Tests(ctx context.Context, project string) ([]TestStatus, error) {
	query := url.Values{}
	if project != "" {
		query.Set("project", project)
	}
	page, err := get[struct {
		Tests []TestStatus `json:"tests"`
	}](ctx, c, query, "tests")
	return page.Tests, err
}

// Jail says of which test a request is, and for JailTest how it is to be jailed.
type Jail struct {
	Project string    `json:"project,omitempty"` // may be empty where there is only one
	Test    string    `json:"test"`
	Owner   string    `json:"owner,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// JailTest leaves a test out of plans until a time.
func (c *Client) JailTest(ctx context.Context, j Jail) error {
	_, err := c.act(ctx, "", j, "tests", "jail")
	return err
}

// FreeTest lets a jailed test be planned again.
func (c *Client) FreeTest(ctx context.Context, j Jail) error {
	_, err := c.act(ctx, "", j, "tests", "free")
	return err
}

// Bisect asks for the commit that broke a test. What is zero is as the server has it.
type Bisect struct {
	Project    string            `json:"project,omitempty"`
	Task       string            `json:"task"`
	Good       release.Commit    `json:"good"`
	Bad        release.Commit    `json:"bad"`
	Ways       int32             `json:"ways,omitempty"`
	Runs       int32             `json:"runs,omitempty"`
	Confirm    *int32            `json:"confirm,omitempty"`
	Budget     int32             `json:"budget,omitempty"`
	Deadline   time.Time         `json:"deadline,omitzero"`
	Reason     string            `json:"reason,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Key        string            `json:"-"` // the same key again starts nothing new; one is made when it is empty
}

// Bisect starts a bisection.
func (c *Client) Bisect(ctx context.Context, b Bisect) (Done, error) {
	return c.act(ctx, b.Key, b, "bisects")
}

// StopBisect ends a bisection, which may be named by the beginning of its id, and the runs that it waits for.
func (c *Client) StopBisect(ctx context.Context, bisect, reason string) (Done, error) {
	return c.act(ctx, "", struct {
		Reason string `json:"reason,omitempty"`
	}{reason}, "bisects", bisect, "stop")
}

// BisectStatus is how a bisection fares.
type BisectStatus struct {
	Bisect  string         `json:"bisect"`
	Project string         `json:"project"`
	Test    string         `json:"test"`
	State   string         `json:"state"` // running, blamed, gave up
	Since   time.Time      `json:"since,omitzero"`
	By      string         `json:"by,omitempty"`
	Good    release.Commit `json:"good"`
	Bad     release.Commit `json:"bad"`
	Runs    int            `json:"runs"` // that were started
	Blamed  release.Commit `json:"blamed,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

// Bisects lists the bisections, the newest first.
func (c *Client) Bisects(ctx context.Context) ([]BisectStatus, error) {
	page, err := get[struct {
		Bisects []BisectStatus `json:"bisects"`
	}](ctx, c, nil, "bisects")
	return page.Bisects, err
}
