package forge

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// PullState is a pull request as it is now.
type PullState struct {
	Change release.Change // of kind pull request, at the head; without Project, CloneURL and how it came
	Open   bool

	AuthorID int64 // whose permission GitLab is asked for
}

// labPull is GitLab's merge request.
type labPull struct {
	Number int32  `json:"iid"`
	Title  string `json:"title"`
	URL    string `json:"web_url"`
	State  string `json:"state"`
	SHA    string `json:"sha"`
	Source string `json:"source_branch"`
	Target string `json:"target_branch"`
	From   int64  `json:"source_project_id"`
	Into   int64  `json:"target_project_id"`
	Author struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
	} `json:"author"`
}

// Pull asks for a pull request.
func (a API) Pull(ctx context.Context, number int32) (PullState, error) {
	what := fmt.Sprintf("ask for pull request %d", number)
	n := strconv.Itoa(int(number))
	var state PullState
	var found bool
	var err error
	if a.Forge == "gitlab" {
		var p labPull
		found, err = a.call(ctx, what, http.MethodGet, a.path("/merge_requests/"+n), nil, &p)
		state = PullState{p.change(a.Repo), p.State == "opened", p.Author.ID}
	} else {
		var p struct {
			hubPull
			State string `json:"state"`
		}
		found, err = a.call(ctx, what, http.MethodGet, a.path("/pulls/"+n), nil, &p)
		state = PullState{p.change(a.Repo, "", number), p.State == "open", p.User.ID}
	}
	switch {
	case err != nil:
		return PullState{}, err
	case !found:
		return PullState{}, fault.New(fault.Invalid, "cannot %s: %s does not know it in %s", what, a.BaseURL, a.Repo)
	}
	state.Change.Forge = a.Forge
	if err := checkPull(state.Change); err != nil {
		return PullState{}, err
	}
	return state, fault.As(fault.Invalid, state.Change.Validate())
}

// change is a merge request at its head. GitLab says only the number of the project that it comes from.
func (p labPull) change(repo string) release.Change {
	head := repo
	if p.From != p.Into {
		head = ""
	}
	return release.Change{
		Kind: release.PullRequest, Repo: repo, Ref: fmt.Sprintf("refs/merge-requests/%d/head", p.Number), Branch: p.Target,
		Commit: release.Commit(p.SHA), Author: clip(p.Author.Username, 100), Title: clip(p.Title, 200), URL: clip(p.URL, 2000),
		Number: p.Number, HeadRepo: head, HeadRef: p.Source, Fork: head == "",
	}
}

// PostAnswer writes a comment on a pull request, unless one with the same key stands there: posting it again is harmless.
// The key is of letters and digits, and becomes an invisible part of the comment.
func (a API) PostAnswer(ctx context.Context, number int32, key, text string) error {
	return a.postOnce(ctx, fmt.Sprintf("answer on pull request %d", number), a.comments(number), key, text)
}

// postOnce writes a comment below a path, unless one with the same key stands there.
func (a API) postOnce(ctx context.Context, what, path, key, text string) error {
	if !release.Token(key) {
		return fault.New(fault.Internal, "cannot %s: the key is %q", what, key)
	}
	marker := Answered + key + " -->"
	there, err := a.answered(ctx, what, path, marker)
	if err != nil || there {
		return err
	}
	return a.change(ctx, what, http.MethodPost, path, map[string]string{"body": strings.TrimRight(text, "\n") + "\n\n" + marker})
}

func (a API) comments(number int32) string {
	if a.Forge == "gitlab" {
		return a.path(fmt.Sprintf("/merge_requests/%d/notes", number))
	}
	return a.path(fmt.Sprintf("/issues/%d/comments", number))
}

const (
	pageSize  = 20
	pagesRead = 50 // newest first where the forge can; beyond them an answer that broke off may come twice
)

// answered looks whether a comment with a marker stands among those below a path.
func (a API) answered(ctx context.Context, what, path, marker string) (bool, error) {
	for page := 1; page <= pagesRead; page++ {
		var some []struct {
			Body string `json:"body"`
		}
		// Each forge reads its own words of these.
		query := fmt.Sprintf("?per_page=%d&limit=%d&page=%d&sort=desc&order_by=created_at", pageSize, pageSize, page)
		found, err := a.call(ctx, what, http.MethodGet, path+query, nil, &some)
		if err != nil || !found {
			return false, err
		}
		for _, c := range some {
			if strings.Contains(c.Body, marker) {
				return true, nil
			}
		}
		// Gitea gives all comments at once, whatever page is asked for.
		if len(some) != pageSize {
			return false, nil
		}
	}
	return false, nil
}
