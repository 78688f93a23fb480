package forge

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Issue is an issue of a repository.
type Issue struct {
	Number int32
	URL    string
	Open   bool
	Labels []string
}

// issueMarker is part of the text of every issue that OpenIssue opens, so that one is found again by its key.
const issueMarker = "<!-- sluice:issue "

const (
	issuesPerPage = 50
	issuePages    = 20 // newest first; whoever opened an issue and did not hear of it looks for a new one
	labelColour   = "#ededed"
)

// issueText is an issue as the forges tell it: GitHub and Gitea in one way, GitLab in another.
type issueText struct {
	Number      int32     `json:"number"`
	IID         int32     `json:"iid"`
	Body        string    `json:"body"`
	Description string    `json:"description"`
	State       string    `json:"state"`
	HTMLURL     string    `json:"html_url"`
	WebURL      string    `json:"web_url"`
	Pull        *struct{} `json:"pull_request"`
}

func (t issueText) issue() Issue {
	return Issue{
		Number: max(t.Number, t.IID), URL: clip(firstOf(t.HTMLURL, t.WebURL), 2000), Open: t.State == "open" || t.State == "opened",
	}
}

func (a API) issues(number int32) string {
	return a.path("/issues/" + strconv.Itoa(int(number)))
}

// Issue asks for an issue.
func (a API) Issue(ctx context.Context, number int32) (Issue, error) {
	var said issueText
	what := fmt.Sprintf("ask for issue %d", number)
	found, err := a.call(ctx, what, http.MethodGet, a.issues(number), nil, &said)
	if err == nil && !found {
		err = fault.New(fault.Invalid, "cannot %s: %s does not know it in %s", what, a.BaseURL, a.Repo)
	}
	return said.issue(), err
}

// FindIssue looks for the issue that was opened under a key.
func (a API) FindIssue(ctx context.Context, key string) (issue Issue, found bool, err error) {
	marker, err := markerOf(key)
	if err != nil {
		return Issue{}, false, err
	}
	for page := 1; page <= issuePages; page++ {
		var some []issueText
		// Each forge reads its own words of these.
		query := fmt.Sprintf("?state=all&type=issues&per_page=%d&limit=%d&page=%d&sort=created&direction=desc", issuesPerPage, issuesPerPage, page)
		if a.Forge == "gitlab" {
			query = fmt.Sprintf("?scope=all&per_page=%d&page=%d&order_by=created_at&sort=desc", issuesPerPage, page)
		}
		there, err := a.call(ctx, "look for an issue", http.MethodGet, a.path("/issues")+query, nil, &some)
		if err != nil || !there {
			return Issue{}, false, err
		}
		for _, one := range some {
			if one.Pull == nil && strings.Contains(one.Body+one.Description, marker) {
				return one.issue(), true, nil
			}
		}
		if len(some) < issuesPerPage {
			return Issue{}, false, nil
		}
	}
	return Issue{}, false, nil
}

func markerOf(key string) (string, error) {
	if !release.Token(key) {
		return "", fault.New(fault.Internal, "cannot name an issue: the key is %q", key)
	}
	return issueMarker + key + " -->", nil
}

// OpenIssue opens an issue under a key, unless there is one: opening it again, after an answer that was lost, is harmless.
// The key is of letters and digits, and becomes an invisible part of the text.
func (a API) OpenIssue(ctx context.Context, key, title, text string, labels []string) (Issue, error) {
	issue, found, err := a.FindIssue(ctx, key)
	if err != nil || found {
		return issue, err
	}
	marker, err := markerOf(key)
	if err != nil {
		return Issue{}, err
	}
	text = strings.TrimRight(text, "\n") + "\n\n" + marker
	in := map[string]any{"title": clip(title, 250), "body": text}
	if len(labels) > 0 {
		in["labels"] = labels
	}
	switch a.Forge {
	case "gitlab":
		in = map[string]any{"title": clip(title, 250), "description": text, "labels": strings.Join(labels, ",")}
	case "gitea":
		if in["labels"], err = a.labelIDs(ctx, labels); err != nil {
			return Issue{}, err
		}
	}
	var said issueText
	found, err = a.call(ctx, "open an issue", http.MethodPost, a.path("/issues"), in, &said)
	if err == nil && !found {
		err = fault.New(fault.Invalid, "cannot open an issue: %s does not know %s, or it has no issues", a.BaseURL, a.Repo)
	}
	return said.issue(), err
}

// SetIssue opens or closes an issue. What is so already is left so.
func (a API) SetIssue(ctx context.Context, number int32, open bool) error {
	method, in := http.MethodPatch, map[string]string{"state": "closed"}
	if open {
		in["state"] = "open"
	}
	if a.Forge == "gitlab" {
		method, in = http.MethodPut, map[string]string{"state_event": "close"}
		if open {
			in["state_event"] = "reopen"
		}
	}
	return a.change(ctx, fmt.Sprintf("change issue %d", number), method, a.issues(number), in)
}

// LabelIssue adds labels to an issue.
func (a API) LabelIssue(ctx context.Context, number int32, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	what := fmt.Sprintf("label issue %d", number)
	switch a.Forge {
	case "gitlab":
		return a.change(ctx, what, http.MethodPut, a.issues(number), map[string]string{"add_labels": strings.Join(labels, ",")})
	case "gitea":
		ids, err := a.labelIDs(ctx, labels)
		if err != nil {
			return err
		}
		return a.change(ctx, what, http.MethodPost, a.issues(number)+"/labels", map[string]any{"labels": ids})
	default:
		return a.change(ctx, what, http.MethodPost, a.issues(number)+"/labels", map[string]any{"labels": labels})
	}
}

// PostOnIssue writes a comment on an issue, unless one with the same key stands there.
func (a API) PostOnIssue(ctx context.Context, number int32, key, text string) error {
	comments := a.issues(number) + "/comments"
	if a.Forge == "gitlab" {
		comments = a.issues(number) + "/notes"
	}
	return a.postOnce(ctx, fmt.Sprintf("comment on issue %d", number), comments, key, text)
}

func (a API) change(ctx context.Context, what, method, path string, in any) error {
	found, err := a.call(ctx, what, method, path, in, nil)
	if err == nil && !found {
		err = fault.New(fault.Invalid, "cannot %s: %s does not know it in %s", what, a.BaseURL, a.Repo)
	}
	return err
}

// labelIDs are Gitea's ids of labels, which it wants in place of their names. Those that are not there are made.
func (a API) labelIDs(ctx context.Context, names []string) ([]int64, error) {
	type label struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	known := map[string]int64{}
	for page := 1; page <= issuePages; page++ {
		var some []label
		found, err := a.call(ctx, "list the labels", http.MethodGet, a.path(fmt.Sprintf("/labels?limit=%d&page=%d", issuesPerPage, page)), nil, &some)
		if err != nil {
			return nil, err
		}
		for _, l := range some {
			known[l.Name] = l.ID
		}
		if !found || len(some) < issuesPerPage {
			break
		}
	}
	ids := []int64{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if known[name] == 0 {
			var made label
			if _, err := a.call(ctx, "make a label", http.MethodPost, a.path("/labels"), map[string]string{"name": name, "color": labelColour}, &made); err != nil {
				return nil, err
			}
			known[name] = made.ID
		}
		ids = append(ids, known[name])
	}
	return ids, nil
}
