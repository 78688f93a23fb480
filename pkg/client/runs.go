package client

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// RunsQuery says which runs to list: the newest first, born before a place in the stream.
type RunsQuery struct {
	Limit   int
	Before  uint64 // 0 begins with the newest
	Project string
	Branch  string
	State   string // a state, or "failed" for every state that somebody should look at
}

// RunsPage is a part of the list of runs. Next is the Before of the page after it, 0 when there is none.
type RunsPage struct {
	Runs []Run  `json:"runs"`
	Next uint64 `json:"next,omitempty"`
}

// Runs lists runs.
func (c *Client) Runs(ctx context.Context, q RunsQuery) (RunsPage, error) {
	query := url.Values{}
	number(query, "limit", uint64(max(q.Limit, 0)))
	number(query, "before", q.Before)
	for name, value := range map[string]string{"project": q.Project, "branch": q.Branch, "state": q.State} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return get[RunsPage](ctx, c, query, "runs")
}

// number sets a parameter that is not zero.
func number(query url.Values, name string, n uint64) {
	if n != 0 {
		query.Set(name, strconv.FormatUint(n, 10))
	}
}

// Latest names the newest run.
const Latest = "latest"

const (
	resolvePage  = 200
	resolvePages = 10 // the newest 2 000 runs can be named by a part of their name
)

// Resolve finds the run that somebody means: by its whole name, by the beginning of its name or of its commit when only
// one recent run begins so, or "latest".
func (c *Client) Resolve(ctx context.Context, name string) (release.RunID, error) {
	if name != Latest {
		if !release.Token(name) {
			return "", fault.New(fault.Invalid, "cannot find run %q: a run's name has letters, digits, - and _", Line(name))
		}
		switch _, err := c.Run(ctx, release.RunID(name)); {
		case err == nil:
			return release.RunID(name), nil
		case !NotFound(err):
			return "", err
		}
	}
	return c.search(ctx, name)
}

func (c *Client) search(ctx context.Context, name string) (release.RunID, error) {
	var found []Run
	q := RunsQuery{Limit: resolvePage}
	for range resolvePages {
		page, err := c.Runs(ctx, q)
		if err != nil {
			return "", err
		}
		for _, r := range page.Runs {
			if name == Latest {
				return r.ID, nil
			}
			if strings.HasPrefix(string(r.ID), name) || len(name) >= 4 && strings.HasPrefix(string(r.Commit), name) {
				found = append(found, r)
			}
		}
		if q.Before = page.Next; page.Next == 0 {
			break
		}
	}
	return only(name, found)
}

func only(name string, found []Run) (release.RunID, error) {
	switch {
	case len(found) == 1:
		return found[0].ID, nil
	case len(found) == 0 && name == Latest:
		return "", fault.New(fault.Invalid, "cannot find the latest run: there is none yet; push a commit or use \"sluice trigger\"")
	case len(found) == 0:
		return "", fault.New(fault.Invalid, "cannot find run %q; list them with \"sluice runs\"", name)
	}
	var names []string
	for _, r := range found[:min(len(found), 5)] {
		names = append(names, Line(string(r.ID)))
	}
	return "", fault.New(fault.Invalid, "cannot tell which run %q is: %d begin so, such as %s; give more of the name",
		name, len(found), strings.Join(names, ", "))
}
