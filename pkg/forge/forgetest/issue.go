package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Issue is an issue of the repository.
type Issue struct {
	Number int
	Title  string
	Body   string
	Open   bool
	Labels []string
}

// firstIssue keeps the numbers of issues apart from those of the pull requests that tests put.
const firstIssue = 101

// Issues are all that there are, oldest first.
func (f *Forge) Issues() (out []Issue) {
	f.locked(func() {
		for _, i := range f.issues {
			one := *i
			one.Labels = slices.Clone(i.Labels)
			out = append(out, one)
		}
	})
	return out
}

// Mute makes the forge do what it is told and answer that it is away, or speak again.
func (f *Forge) Mute(mute bool) { f.locked(func() { f.mute = mute }) }

func (f *Forge) issue(number int) *Issue {
	for _, i := range f.issues {
		if i.Number == number {
			return i
		}
	}
	return nil
}

// asked is what is said of an issue in a request, by whichever forge's words.
type asked struct {
	Title       string          `json:"title"`
	Body        string          `json:"body"`
	Description string          `json:"description"`
	Labels      json.RawMessage `json:"labels"`
	AddLabels   string          `json:"add_labels"`
	State       string          `json:"state"`
	StateEvent  string          `json:"state_event"`
}

func (f *Forge) issueList(r *http.Request) (any, int) {
	if r.Method == http.MethodPost {
		var in asked
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Title == "" {
			return object{"message": "title is missing"}, http.StatusUnprocessableEntity
		}
		i := &Issue{Number: firstIssue + len(f.issues), Title: in.Title, Body: in.Body + in.Description, Open: true, Labels: f.named(in.Labels)}
		f.issues = append(f.issues, i)
		return f.tellIssue(i), http.StatusCreated
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	out := []object{}
	size = max(size, 1)
	for n, i := range slices.Backward(f.issues) {
		if at := len(f.issues) - 1 - n; at >= (page-1)*size && at < page*size {
			out = append(out, f.tellIssue(i))
		}
	}
	return out, http.StatusOK
}

func (f *Forge) onIssue(r *http.Request, i *Issue, parts []string) (any, int) {
	if len(parts) == 4 && parts[3] != "labels" {
		return f.comment(r, i.Number)
	}
	var in asked
	if r.Method != http.MethodGet && json.NewDecoder(r.Body).Decode(&in) != nil {
		return object{"message": "no JSON"}, http.StatusUnprocessableEntity
	}
	switch in.State + in.StateEvent {
	case "open", "reopen":
		i.Open = true
	case "closed", "close":
		i.Open = false
	}
	for _, name := range append(f.named(in.Labels), strings.FieldsFunc(in.AddLabels, func(r rune) bool { return r == ',' })...) {
		if !slices.Contains(i.Labels, name) {
			i.Labels = append(i.Labels, name)
		}
	}
	return f.tellIssue(i), http.StatusOK
}

// named reads labels: a list of names, one text of them, or a list of ids.
func (f *Forge) named(raw json.RawMessage) (out []string) {
	var ids []int
	var text string
	switch {
	case json.Unmarshal(raw, &out) == nil:
	case json.Unmarshal(raw, &text) == nil:
		out = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	case json.Unmarshal(raw, &ids) == nil:
		out = nil
		for _, id := range ids {
			out = append(out, f.labels[id-1])
		}
	}
	return out
}

func (f *Forge) repoLabels(r *http.Request) (any, int) {
	if r.Method == http.MethodPost {
		var in struct{ Name string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Name == "" || slices.Contains(f.labels, in.Name) {
			return object{"message": "no name, or one that is there"}, http.StatusUnprocessableEntity
		}
		f.labels = append(f.labels, in.Name)
		return object{"id": len(f.labels), "name": in.Name}, http.StatusCreated
	}
	out := []object{}
	for n, name := range f.labels {
		out = append(out, object{"id": n + 1, "name": name})
	}
	return out, http.StatusOK
}

// tellIssue tells an issue in the words of all forges at once.
func (f *Forge) tellIssue(i *Issue) object {
	state := "closed"
	if i.Open {
		state = "opened" // GitLab's word
	}
	url := fmt.Sprint(f.URL, "/issues/", i.Number)
	return object{
		"number": i.Number, "iid": i.Number, "title": i.Title, "body": i.Body, "description": i.Body, "state": state,
		"html_url": url, "web_url": url, "labels": i.Labels,
	}
}
