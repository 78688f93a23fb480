package readmodel

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Line is a fact in one sentence, with the reason that it gives, and how good it is. It is made of what strangers wrote,
// and is one line of text all the same.
func Line(e event.Event) (string, Tone) {
	line, tone := sentence(e)
	return oneLine(line), tone
}

func sentence(e event.Event) (string, Tone) {
	switch p := e.Data.(type) {
	case event.TaskRequested, event.TaskDispatched, event.TaskAwaited, event.TaskStarted, event.TaskFinished, event.TaskDelayed,
		event.TaskConcluded, event.TaskCancelRequested:
		return taskLine(p)
	case event.PublicationRequested, event.PublicationAdvanced, event.PublicationDelayed, event.PublicationChecked,
		event.PublicationFailed, event.PublicationRetryRequested, event.PublicationUndoRequested,
		event.ReleasePublished, event.ReleaseFailed, event.ArtifactExported:
		return releaseLine(p)
	case event.CandidateAssembled, event.CandidateRejected, event.GateOpened, event.GateClosed, event.GateApproved,
		event.EnvironmentApproved, event.GateHeld, event.GateResumed:
		return gateLine(p)
	case event.PoolDrainRequested, event.ExecutorDraining, event.LimitSet, event.PlaceRegistered, event.PlaceChanged,
		event.PlaceDrainRequested, event.LeaseGranted, event.LeaseRenewed, event.LeaseEnded,
		event.PlacesCreated, event.PlacesDestroyed:
		return placeLine(p)
	case event.TestsJudged, event.TestMoved, event.IssueSynced, event.BisectRequested, event.BisectAdvanced, event.BisectEnded:
		return healthLine(p)
	case event.TokenCreated, event.TokenRevoked, event.TokenUsed, event.DeadLetterReplayed:
		return accessLine(p)
	default:
		return runLine(p)
	}
}

// TaskOf is the task that a fact is about, or "".
func TaskOf(p event.Payload) release.TaskID {
	switch p := p.(type) {
	case event.TaskRequested:
		return p.Task
	case event.TaskDispatched:
		return p.Task
	case event.TaskAwaited:
		return p.Task
	case event.TaskStarted:
		return p.Task
	case event.TaskFinished:
		return p.Task
	case event.TaskDelayed:
		return p.Task
	case event.TaskConcluded:
		return p.Task
	case event.TaskCancelRequested:
		return p.Task
	case event.PlacesCreated:
		return p.Task
	case event.PlacesDestroyed:
		return p.Task
	default:
		return ""
	}
}

func runLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.ChangeReceived:
		if p.Change.RerunOf != "" {
			return fmt.Sprintf("%s asked to make all of run %s again, on its plan", cmp.Or(p.Change.RerunBy, "somebody"), p.Change.RerunOf), Warn
		}
		return because(fmt.Sprintf("%s of %s received from %s", kindWord(p.Change.Kind), Place(p.Change),
			cmp.Or(p.Change.Author, "an unknown author")), p.Change.Title), Plain
	case event.ChangeIgnored:
		return because(fmt.Sprintf("%s ignored", kindWord(p.Kind)), p.Reason), Plain
	case event.RunPlanned:
		return fmt.Sprintf("run planned: %d to build, %d to test, %d skipped, %d targets", p.Builds, p.Tests, p.Skipped,
			len(p.Targets)), Plain
	case event.RunPermissionRequested:
		return because("the run waits until somebody who may write to the repository lets it run", p.Reason), Warn
	case event.RunPermitted:
		return because(fmt.Sprintf("%s let the run of an untrusted change run", cmp.Or(p.By, "somebody")), p.Note), Plain
	case event.RunRejected:
		return rejectedLine(p), Bad
	case event.RunCancelRequested:
		return because(fmt.Sprintf("%s asked to cancel the run", cmp.Or(p.By, "somebody")), p.Reason), Warn
	case event.RunRetryRequested:
		return fmt.Sprintf("%s asked to retry %s", cmp.Or(p.By, "somebody"), tasks(p.Tasks)), Warn
	case event.RunFinished:
		return because("run ended in "+string(p.Outcome), p.Reason), toneOf(p.Outcome)
	case event.CommentReceived:
		return fmt.Sprintf("%s said %q in a comment of pull request %d of %s", cmp.Or(p.Author, "somebody"), p.Text, p.Number, p.Project), Plain
	case event.CommentResolved:
		return fmt.Sprintf("the comment of %s on pull request %d of %s is bound to commit %s; permission %s", cmp.Or(p.Author, "somebody"),
			p.Number, p.Project, p.Pull.Commit.Short(), cmp.Or(p.Permission, "none")), Plain
	case event.CommentAnswered:
		return fmt.Sprintf("a comment on pull request %d of %s is answered", p.Number, p.Project), Plain
	case event.ExecutorHeartbeat:
		return fmt.Sprintf("executor %s of pool %s lives", p.Executor, p.Pool), Plain
	case event.SchedulerHeartbeat:
		return fmt.Sprintf("scheduler %s hears itself through the bus", p.Scheduler), Plain
	default:
		return string(p.EventType()), Plain
	}
}

func taskLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.TaskRequested:
		return fmt.Sprintf("%s wanted on pool %s", cmp.Or(p.Name, string(p.Task)), p.Pool), Plain
	case event.TaskDispatched:
		return because(fmt.Sprintf("%s attempt %d given to pool %s", p.Task, p.Attempt, p.Pool), p.Reason), Plain
	case event.TaskAwaited:
		return because(fmt.Sprintf("what %s fetches is not there yet, asked %s", p.Task, count(int(p.Asked), "time")), p.Answer), Plain
	case event.TaskStarted:
		if p.Refused != "" {
			return because(fmt.Sprintf("%s attempt %d may not be started any more", p.Task, p.Attempt), p.Refused), Plain
		}
		return fmt.Sprintf("%s attempt %d started on %s", p.Task, p.Attempt, p.Executor), Plain
	case event.TaskFinished:
		return because(fmt.Sprintf("%s attempt %d ended: %s", p.Task, p.Attempt, ended(p.Outcome, p.Class)), p.Reason),
			toneOf(p.Outcome)
	case event.TaskDelayed:
		return because(fmt.Sprintf("%s attempt %d waits until %s", p.Task, p.Attempt, p.Until.UTC().Format(time.TimeOnly)),
			p.Reason), Warn
	case event.TaskConcluded:
		return because(fmt.Sprintf("%s given up after %s: %s", p.Task, count(int(p.Attempts), "attempt"),
			ended(p.Outcome, p.Class)), p.Reason), toneOf(p.Outcome)
	case event.TaskCancelRequested:
		return because(fmt.Sprintf("%s attempt %d told to stop", p.Task, p.Attempt), p.Reason), Warn
	default:
		return string(p.EventType()), Plain
	}
}

func gateLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.CandidateAssembled:
		return fmt.Sprintf("candidate assembled: %s of commit %s", count(int(p.Artifacts), "artifact"), p.Commit.Short()), Good
	case event.CandidateRejected:
		return because("the builds give no candidate", strings.Join(p.Reasons, "; ")), Bad
	case event.GateOpened:
		return fmt.Sprintf("gate opened: %s met", count(len(p.Conditions), "condition")), Good
	case event.GateClosed:
		return because("gate closed", cmp.Or(p.Reason, unmet(p.Conditions))), Bad
	case event.EnvironmentApproved:
		return because(fmt.Sprintf("%s approved environment %s", cmp.Or(p.By, "somebody"), p.Environment), p.Note), Good
	case event.GateApproved:
		return because(cmp.Or(p.By, "somebody")+" approved the release", p.Note), Good
	case event.GateHeld:
		return because(cmp.Or(p.By, "somebody")+" holds the gate", p.Reason), Warn
	case event.GateResumed:
		return cmp.Or(p.By, "somebody") + " lifted the holds of the gate", Plain
	default:
		return string(p.EventType()), Plain
	}
}

func releaseLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.PublicationRequested:
		return fmt.Sprintf("target %s is to be %s", p.Target, p.State), Plain
	case event.PublicationAdvanced:
		tone := Plain
		if p.State == release.Verified {
			tone = Good
		}
		return because(fmt.Sprintf("target %s is %s", p.Target, p.State), p.Detail), tone
	case event.PublicationDelayed:
		return because(fmt.Sprintf("target %s is not %s yet, tried %s", p.Target, p.State, count(int(p.Tried), "time")), p.Reason), Warn
	case event.PublicationChecked:
		if p.Planned && p.Fault != "" {
			return because(fmt.Sprintf("target %s cannot be written", p.Target), p.Reason), Warn
		}
		if p.Planned {
			return fmt.Sprintf("target %s can be written", p.Target), Plain
		}
		if p.Fault != "" {
			return because(fmt.Sprintf("target %s cannot take the candidate", p.Target), p.Reason), Warn
		}
		return fmt.Sprintf("target %s can take the candidate", p.Target), Plain
	case event.PublicationFailed:
		return because(fmt.Sprintf("target %s could not be %s", p.Target, p.State), p.Reason), Bad
	case event.PublicationRetryRequested:
		return cmp.Or(p.By, "somebody") + " asked the failed targets to go on", Warn
	case event.PublicationUndoRequested:
		return because(cmp.Or(p.By, "somebody")+" asked to take back what is visible", p.Reason), Warn
	case event.ReleasePublished:
		return fmt.Sprintf("release published and verified on %s", count(len(p.Targets), "target")), Good
	case event.ReleaseFailed:
		return because("release failed", strings.Join(p.Reasons, "; ")), Bad
	case event.ArtifactExported:
		return fmt.Sprintf("%s exported to %s: %s, %d bytes", p.Part, p.Location, count(int(p.Files), "file"), p.Bytes), Plain
	default:
		return string(p.EventType()), Plain
	}
}
