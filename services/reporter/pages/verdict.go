package pages

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// verdict is a run in a word and a sentence.
type verdict struct {
	Headline string
	Shape    string
	Tone     string
	Sentence string
	Note     string // beside the sentence: what else would be asked
}

func verdictOf(d *view.Detail) verdict {
	v := headline(d)
	v.Sentence = cmp.Or(sentence(d), "Nothing more is known yet.")
	v.Note = cmp.Or(v.Note, note(d))
	return v
}

// note is what would be asked next.
func note(d *view.Detail) string {
	r := d.Run
	switch {
	case r.State == string(release.Success) && r.Gate == "closed":
		return whyNot(d)
	case r.Gate == "closed":
		return "Nothing was published." + blamed(d)
	default:
		return blamed(d)
	}
}

// whyNot is why a run that went well is not released: the condition that says most, which is the last.
func whyNot(d *view.Detail) string {
	reason := ""
	for _, c := range d.Conditions {
		if !c.Met {
			reason = c.Reason
		}
	}
	return stop(upper(reason))
}

// blamed names the tasks that failed.
func blamed(d *view.Detail) string {
	failed := troubles(d, time.Time{})
	if len(failed) == 0 {
		return ""
	}
	if len(failed) == 1 && strings.Contains(d.Run.Reason, failed[0].Name) {
		return ""
	}
	if len(failed) == 1 {
		return " " + failed[0].Name + " failed."
	}
	return fmt.Sprintf(" %d tasks failed, first %s.", d.Run.Tasks.Of(string(release.Failure), string(release.Error)), failed[0].Name)
}

func headline(d *view.Detail) verdict {
	r := d.Run
	switch {
	case r.State == readmodel.StateRejected:
		return verdict{Headline: "No plan", Shape: "page", Tone: "bad", Note: "The definition at this commit has errors; nothing was started."}
	case r.State == readmodel.StateIgnored:
		return verdict{Headline: "Ignored", Shape: "minus", Tone: "calm"}
	case r.State == readmodel.StateUnpermitted:
		return verdict{
			Headline: "Waits for permission", Shape: "clock", Tone: "warn",
			Note: r.TrustWhy + ". Somebody who may write to the repository lets this commit run with /ok-to-test in a comment, or with: sluice permit " + string(r.ID),
		}
	case r.State == readmodel.StateReceived:
		return verdict{Headline: "Being planned", Shape: "ring", Tone: "live"}
	case r.State == readmodel.StateRunning && r.Gate == "open":
		return verdict{Headline: "Publishing", Shape: "gate-open", Tone: "live", Note: "The gate is open."}
	case r.State == readmodel.StateRunning:
		return verdict{Headline: "Running", Shape: "gate-wait", Tone: "live", Note: "The gate is undecided."}
	default:
		return endHeadline(r)
	}
}

func endHeadline(r readmodel.Run) verdict {
	switch {
	case r.Released == "published":
		return verdict{Headline: "Released", Shape: "gate-open", Tone: "good"}
	case r.Released == "failed":
		return verdict{Headline: "Release failed", Shape: "bang", Tone: "bad", Note: "A person must decide about a target."}
	case r.State == string(release.Success):
		return verdict{Headline: "Passed", Shape: "check", Tone: "good"}
	case r.Gate == "closed":
		return verdict{Headline: "Gate shut", Shape: "gate-shut", Tone: lookOf(r.State).Tone}
	case superseded(r) != "":
		return verdict{Headline: "Superseded", Shape: lookOf(r.State).Shape, Tone: "calm"}
	default:
		l := lookOf(r.State)
		return verdict{Headline: upper(l.Word), Shape: l.Shape, Tone: l.Tone}
	}
}

// superseded says which run took over from one that was cancelled for it, or "".
func superseded(r readmodel.Run) string {
	_, by, _ := strings.Cut(r.Reason, "superseded by ")
	if r.State != string(release.Cancelled) || by == "" {
		return ""
	}
	return "superseded by " + by
}

// titleOf is what a run is called: as its change is, or by what came. A git server tells of no titles.
func titleOf(r readmodel.Run) string {
	return cmp.Or(r.Title, kind(r)+" of "+readmodel.Place(r.Change()))
}

// sentence is the one reason that matters.
func sentence(d *view.Detail) string {
	r := d.Run
	if r.State == readmodel.StateRunning {
		if d.Why != nil && d.Why.Reason != "" {
			return stop(upper(d.Why.Reason))
		}
		done, all := r.Tasks.Of(string(release.Success)), r.Builds+r.Tests
		return fmt.Sprintf("%d of %d tasks have succeeded, %d are running.", done, all, r.Tasks.Of(readmodel.TaskRunning))
	}
	if r.Released == "published" {
		return published(d)
	}
	if by := superseded(r); by != "" {
		return stop(upper(by))
	}
	return stop(upper(strings.TrimPrefix(cmp.Or(r.Reason, r.GateWhy), "the gate is shut: ")))
}

// published says where a release is.
func published(d *view.Detail) string {
	var names []string
	for _, t := range targets(d) {
		names = append(names, t.Name)
	}
	if len(names) > 1 {
		last := len(names) - 1
		names = []string{strings.Join(names[:last], ", ") + " and " + names[last]}
	}
	return fmt.Sprintf("What was tested is on %s, downloaded again and compared.", strings.Join(names, ""))
}

// upper begins a sentence with a capital, unless it begins with a file's or another thing's name.
func upper(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || s[0] < 'a' || s[0] > 'z' || strings.ContainsAny(strings.TrimSuffix(word, ":"), "._-:/0123456789") {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// stop ends a sentence.
func stop(s string) string {
	if s == "" || strings.HasSuffix(s, "…") || strings.ContainsRune(".!?", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// stage is one step of the flow from a change to a release.
type stage struct {
	Name, Value, Detail string
	Shape, Tone         string // tone "ahead": the flow has not come here
	Href                string
}

// flow is how far the water came.
func flow(d *view.Detail) []stage {
	r, base := d.Run, runPath(d.Run.ID)
	before, after := readmodel.Counts{}, readmodel.Counts{}
	for _, t := range d.Tasks {
		if t.Kind == release.Test || t.Kind == release.Cleanup {
			after[t.State]++
		} else {
			before[t.State]++
		}
	}
	stages := []stage{
		{Name: "Change", Value: kind(r), Detail: r.Commit.Short(), Shape: "check", Tone: "good", Href: base + "/events?type=change"},
		planStage(d),
		countStage("Builds", before, "#tasks"),
		candidateStage(d),
		countStage("Tests", after, "#tasks"),
		gateStage(d),
		releaseStage(d),
	}
	ahead := false
	for i := range stages {
		if ahead && stages[i].Tone == "calm" {
			stages[i].Tone = "ahead"
		}
		ahead = ahead || stages[i].Tone != "good"
	}
	return stages
}

func kind(r readmodel.Run) string {
	if r.Kind == release.PullRequest {
		return fmt.Sprintf("pull request #%d", r.Number)
	}
	return string(cmp.Or(r.Kind, "change"))
}

func planStage(d *view.Detail) stage {
	s := stage{Name: "Plan", Value: "–", Shape: "hollow", Tone: "calm", Href: runPath(d.Run.ID) + "/events?type=run"}
	switch {
	case d.Run.State == readmodel.StateRejected:
		s.Value, s.Detail, s.Shape, s.Tone = "rejected", plural(len(d.Run.Problems), "problem", "problems"), "page", "bad"
	case d.Run.State == readmodel.StateIgnored:
		s.Value, s.Shape = "ignored", "minus"
	case d.Run.Plan != "":
		s.Value, s.Shape, s.Tone = plural(d.Run.Builds+d.Run.Tests, "task", "tasks"), "check", "good"
		s.Detail = plural(d.Run.Skipped, "left out", "left out")
	}
	return s
}

func countStage(name string, c readmodel.Counts, href string) stage {
	done, all := c.Of(string(release.Success)), c.Total()
	s := stage{Name: name, Value: fmt.Sprintf("%d of %d", done, all), Shape: "hollow", Tone: "calm", Href: href}
	failed := c.Of(string(release.Failure), string(release.Error), readmodel.TaskSkipped)
	active := c.Of(readmodel.TaskRunning, readmodel.TaskQueued, readmodel.TaskDelayed, readmodel.TaskWaiting)
	switch {
	case all == 0:
		s.Value = "–"
	case failed > 0:
		s.Detail, s.Shape, s.Tone = fmt.Sprintf("%d failed", failed), "cross", "bad"
	case done == all:
		s.Shape, s.Tone = "check", "good"
	case c.Of(string(release.Cancelled)) > 0:
		s.Detail, s.Shape, s.Tone = "cancelled", "slash", "warn"
	case active > 0:
		s.Detail, s.Shape, s.Tone = fmt.Sprintf("%d running", c.Of(readmodel.TaskRunning)), "ring", "live"
	}
	return s
}

func candidateStage(d *view.Detail) stage {
	s := stage{Name: "Candidate", Value: "–", Shape: "hollow", Tone: "calm", Href: runPath(d.Run.ID) + "/events?type=candidate"}
	if n := len(d.Candidates); n > 0 {
		c := d.Candidates[n-1]
		if c.State == "assembled" {
			s.Value, s.Detail, s.Shape, s.Tone = plural(c.Artifacts, "artifact", "artifacts"), short(c.ID), "check", "good"
		} else {
			s.Value, s.Shape, s.Tone = "rejected", "cross", "bad"
		}
	}
	return s
}

func gateStage(d *view.Detail) stage {
	s := stage{Name: "Gate", Value: "–", Shape: "gate-wait", Tone: "calm", Href: "#gate"}
	met := 0
	for _, c := range d.Conditions {
		if c.Met {
			met++
		}
	}
	if len(d.Conditions) > 0 {
		s.Detail = fmt.Sprintf("%d of %d met", met, len(d.Conditions))
	}
	switch {
	case d.Run.Gate == "open":
		s.Value, s.Shape, s.Tone = "open", "gate-open", "good"
	case d.Run.Gate == "closed" && d.Run.State == string(release.Success):
		s.Value, s.Shape, s.Tone = "shut", "gate-shut", "shut"
	case d.Run.Gate == "closed":
		s.Value, s.Shape, s.Tone = "shut", "gate-shut", "bad"
	case d.Run.State == readmodel.StateRunning:
		s.Value = "undecided"
	}
	return s
}

func releaseStage(d *view.Detail) stage {
	verified, broken, asked := 0, 0, false
	for _, step := range d.Steps {
		asked = asked || !step.Requested.IsZero() // targets also tell beforehand what they can take
		if step.State == release.Verified && !step.Reached.IsZero() {
			verified++
		}
		if step.Broken() {
			broken++
		}
	}
	s := stage{Name: "Release", Value: fmt.Sprintf("%d of %d", verified, len(d.Run.Targets)), Shape: "hollow", Tone: "calm", Href: "#targets"}
	switch {
	case len(d.Run.Targets) == 0:
		s.Value = "no targets"
	case d.Run.Released == "published":
		s.Detail, s.Shape, s.Tone = "verified", "check", "good"
	case broken > 0:
		s.Detail, s.Shape, s.Tone = fmt.Sprintf("%d broken", broken), "bang", "bad"
	case asked:
		s.Detail, s.Shape, s.Tone = "publishing", "ring", "live"
	}
	return s
}
