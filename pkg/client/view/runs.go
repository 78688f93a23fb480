package view

import (
	"cmp"
	"fmt"
	"io"
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
	for _, r := range runs {
		m := markOf(r.State)
		t.row(cell{safe(r.ID), plain}, cell{m.text(), m.tone}, cell{place(r), plain}, cell{safe(r.Commit.Short()), faint},
			cell{safe(r.Title), plain}, cell{s.age(r.Received), faint}, cell{duration(s, r), faint})
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
