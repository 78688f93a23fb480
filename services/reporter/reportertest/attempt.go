package reportertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// ended is how an attempt is to end.
type ended struct {
	class    release.Class
	reason   string
	exit     int32
	log      []string
	tests    release.TestCount
	failures []event.CaseFailure
}

func ok() ended { return ended{class: release.ClassOK} }

// start gives an attempt to its pool and starts it.
func (t *teller) start(task plan.Task, attempt int32, why string) {
	t.say("test-scheduler", event.TaskDispatched{Task: task.ID, Attempt: attempt, Pool: task.Pool, Plan: t.digest, Reason: why})
	t.wait(18*time.Millisecond).say("executor", event.TaskStarted{
		Task: task.ID, Attempt: attempt, Pool: task.Pool, Executor: task.Pool + "-7f3a",
	})
}

// finish ends an attempt.
func (t *teller) finish(task plan.Task, attempt int32, took time.Duration, end ended) {
	log := end.log
	if log == nil {
		log = buildLog(task)
	}
	f := event.TaskFinished{
		Task: task.ID, Attempt: attempt, Pool: task.Pool, Executor: task.Pool + "-7f3a", Outcome: end.class.Outcome(),
		Class: end.class, Reason: end.reason, ExitCode: end.exit, Tests: end.tests, Failures: end.failures,
		Log: t.story.blob(compress(strings.Join(log, "\n") + "\n")), LogLines: int64(len(log)), Phases: phases(t.now, took),
	}
	if end.class != release.ClassOK {
		f.LastLines = log[max(0, len(log)-12):]
	} else {
		f.Artifacts = t.artifacts(task)
	}
	t.wait(took).say("executor", f)
}

// attempt is one try from its dispatch to its end.
func (t *teller) attempt(task plan.Task, attempt int32, took time.Duration, end ended) {
	t.start(task, attempt, "")
	t.finish(task, attempt, took, end)
}

// each tries every task of a kind once, successfully, but for those named.
func (t *teller) each(kind release.TaskKind, but ...release.TaskID) {
	for _, task := range t.plan.Tasks {
		if task.Kind == kind && !contains(but, task.ID) {
			end := ok()
			if kind == release.Test {
				end.tests = release.TestCount{Total: 24}
			}
			t.attempt(task, 1, time.Duration(800+37*len(task.Name))*time.Millisecond, end)
		}
	}
}

func contains(ids []release.TaskID, id release.TaskID) bool {
	for _, one := range ids {
		if one == id {
			return true
		}
	}
	return false
}

func phases(start time.Time, took time.Duration) []event.Phase {
	var out []event.Phase
	for _, p := range []struct {
		name  string
		share time.Duration
	}{{"prepare", 18}, {"command", 72}, {"collect", 7}, {"cleanup", 3}} {
		d := took * p.share / 100
		out = append(out, event.Phase{Name: p.name, Start: start, Took: release.Duration(d)})
		start = start.Add(d)
	}
	return out
}

func (t *teller) artifacts(task plan.Task) []release.Artifact {
	var out []release.Artifact
	for _, o := range task.Outputs {
		content := []byte(fmt.Sprintf("%s of %s at %s\n", o.Type, task.Name, t.change.Commit))
		out = append(out, release.Artifact{
			Name: o.Path, Type: o.Type, Task: task.ID, Job: task.Job, Digest: t.story.blob(content), Size: int64(len(content)),
			MediaType: "application/octet-stream", Stamped: o.Stamped, Matrix: task.Matrix,
		})
	}
	return out
}

func compress(text string) []byte {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = encoder.Close() }()
	return encoder.EncodeAll([]byte(text), nil)
}

func buildLog(task plan.Task) []string {
	lines := []string{
		"\x1b[1m$ " + strings.TrimSpace(task.Run) + "\x1b[0m",
		"python " + task.Matrix["python"] + " on " + task.Pool,
	}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("\x1b[32m✓\x1b[0m step %02d of %s", i+1, task.Name))
	}
	return append(lines, "\x1b[1;32mdone\x1b[0m")
}
