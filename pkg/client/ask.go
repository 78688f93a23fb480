package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Why explains a run, or one task of it.
func (c *Client) Why(ctx context.Context, run release.RunID, task release.TaskID) (Why, error) {
	query := url.Values{}
	if task != "" {
		query.Set("task", string(task))
	}
	return get[Why](ctx, c, query, "runs", string(run), "why")
}

// Rehearse asks every target of a run what it would be asked in a publication. Nothing is published.
func (c *Client) Rehearse(ctx context.Context, run release.RunID) (Rehearsal, error) {
	return askWithin[Rehearsal](ctx, c, call{method: http.MethodGet, path: []string{"runs", string(run), "publication"}}, longTimeout)
}

// Artifacts lists the artifacts of a run, or of one task.
func (c *Client) Artifacts(ctx context.Context, run release.RunID, task release.TaskID) ([]Artifact, error) {
	query := url.Values{}
	if task != "" {
		query.Set("task", string(task))
	}
	query.Set("limit", strconv.Itoa(pageMost))
	var out []Artifact
	for range maxPages {
		page, err := get[struct {
			Artifacts []Artifact `json:"artifacts"`
			Next      string     `json:"next"`
		}](ctx, c, query, "runs", string(run), "artifacts")
		if err != nil {
			return nil, err
		}
		out = append(out, page.Artifacts...)
		if page.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	return out, nil
}

// artifact opens an artifact's bytes.
func (c *Client) artifact(ctx context.Context, run release.RunID, a Artifact) (io.ReadCloser, error) {
	answer, err := c.send(ctx, call{
		method: http.MethodGet, path: []string{"runs", string(run), "artifacts", string(a.Task), a.Name},
		accept: "application/octet-stream",
	})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Pools lists the pools.
func (c *Client) Pools(ctx context.Context) ([]Pool, error) {
	page, err := get[struct {
		Pools []Pool `json:"pools"`
	}](ctx, c, nil, "pools")
	return page.Pools, err
}

// Streams lists the streams of the bus with their consumers.
func (c *Client) Streams(ctx context.Context) ([]Stream, error) {
	page, err := get[struct {
		Streams []Stream `json:"streams"`
	}](ctx, c, nil, "streams")
	return page.Streams, err
}

// DeadLettersPage is a part of the list of dead letters. Next is where the page after it begins, 0 when there is none.
type DeadLettersPage struct {
	Letters []DeadLetter `json:"deadletters"`
	Next    uint64       `json:"next,omitempty"`
}

// DeadLetters lists dead letters from a sequence on, the oldest first, at most limit.
func (c *Client) DeadLetters(ctx context.Context, from uint64, limit int) (DeadLettersPage, error) {
	query := url.Values{}
	number(query, "from", from)
	query.Set("limit", strconv.Itoa(limit))
	return get[DeadLettersPage](ctx, c, query, "deadletters")
}

// ResolveTask finds the task that somebody means: by its id, its name, or the beginning of its id when only one begins so.
func (c *Client) ResolveTask(ctx context.Context, run release.RunID, name string) (release.TaskID, error) {
	status, err := c.Status(ctx, run)
	if err != nil {
		return "", err
	}
	var found []string
	for _, t := range status.Tasks {
		if string(t.ID) == name || t.Name == name {
			return t.ID, nil
		}
		if strings.HasPrefix(string(t.ID), name) && name != "" {
			found = append(found, string(t.ID))
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 1:
		return release.TaskID(found[0]), nil
	case 0:
		return "", fault.New(fault.Invalid, "cannot find task %q in run %s; its tasks stand in \"sluice status %s --json\"", Line(name), run, run)
	}
	return "", fault.New(fault.Invalid, "cannot tell which task %q is: %d begin so, such as %s", Line(name), len(found),
		Line(strings.Join(found[:min(len(found), 5)], ", ")))
}
