package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/release"
)

// Runs prints a list of runs, the newest first.
func Runs(w io.Writer, s Style, runs []client.Run) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "There are no runs yet.")
		return err
	}
	t := table{columns: []column{
		{head: "RUN"},
		{head: "OUTCOME"},
		{head: "BRANCH", least: 8},
		{head: "COMMIT"},
		{head: "TITLE", least: 8},
		{head: "AGE", right: true},
		{head: "TOOK", right: true},
	}}
	judged := slices.ContainsFunc(runs, func(r client.Run) bool { return r.Trust != "" })
	if judged {
		t.columns = append(t.columns, column{head: "TRUST"})
	}
	for _, r := range runs {
		m := markOf(r.State)
		cells := []cell{
			{safe(r.ID), plain},
			{m.text(), m.tone},
			{place(r), plain},
			{safe(r.Commit.Short()), faint},
			{safe(r.Title), plain},
			{s.age(r.Received), faint},
			{duration(s, r), faint},
		}
		if judged {
			cells = append(cells, cell{safe(r.Trust), cond(r.Trust == release.TrustUntrusted, warn, faint)})
		}
		t.row(cells...)
	}
	return t.write(w, s)
}

// place is where a change is: "master", "#7", "v1.2".
func place(r client.Run) string {
	switch {
	case r.Kind == release.PullRequest && r.Number > 0:
		return fmt.Sprintf("#%d", r.Number)
	case r.Kind == release.Tag:
		return safe(strings.TrimPrefix(r.Ref, "refs/tags/"))
	default:
		return safe(cmp.Or(r.Branch, strings.TrimPrefix(r.Ref, "refs/heads/")))
	}
}

// change says what a run is of: "push to master", "pull request #7 to master".
func change(r client.Run) string {
	switch r.Kind {
	case release.PullRequest:
		return fmt.Sprintf("pull request #%d to %s", r.Number, safe(r.Branch))
	case release.Tag:
		return "tag " + place(r)
	case release.Push:
		return "push to " + place(r)
	case "":
		return place(r)
	default:
		return safe(r.Kind) + " of " + place(r)
	}
}

// duration is how long a run took, or takes so far. One that was ignored takes no time.
func duration(s Style, r client.Run) string {
	switch {
	case !r.Ended():
		return s.between(r.Received, time.Time{})
	case r.Finished.IsZero():
		return ""
	default:
		return s.between(r.Received, r.Finished)
	}
}
