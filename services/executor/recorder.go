package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Recorder writes a record of each attempt of some tasks, in the words of another system, beside what the attempt left in
// $SLUICE_ARTIFACTS. However it fails, the attempt ended as it ended, and its log and its result say so.
type Recorder struct {
	Variable string // of a task, which has a record when it has this
	Metrics  string // variable that tells the command where to write what was measured of its machines
	Files    func(Ended) ([]RecordFile, error)
}

// RecordFile is a file of a record.
type RecordFile struct {
	Name    string
	Content []byte
}

// Ended is what a record is made of. Secrets are masked in all of it.
type Ended struct {
	Ref       event.AttemptRef
	Task      *plan.Task
	Change    release.Change
	Finished  event.TaskFinished
	Lease     release.Lease
	Results   []byte   // as the command wrote them; nil when it left none
	Metrics   []byte   // likewise, of the machines
	LastLines []string // of the log
}

// metricsVariable tells the command where to write what was measured of its machines, unless the task says so itself.
func (a *attempt) metricsVariable(r *room, env map[string]string) {
	for _, recorder := range a.e.config.Recorders {
		if name := recorder.Metrics; name != "" && env[name] == "" && a.task.Variables[recorder.Variable] != "" {
			env[name] = filepath.Join(r.dir, artifactsName, metricsName)
		}
	}
}

// masked is what a command wrote, without the secrets that it may have written.
func (a *attempt) masked(text []byte) []byte {
	if text == nil {
		return nil
	}
	return []byte(a.masker.Text(string(text)))
}

// writeRecords lets every recorder write, whatever the others do.
func (a *attempt) writeRecords() {
	if a.task == nil || a.log == nil {
		return
	}
	for _, r := range a.e.config.Recorders {
		if a.task.Variables[r.Variable] == "" {
			continue
		}
		if err := a.guarded(func() error { return a.writeRecord(r) }); err != nil {
			a.e.log.Error("cannot write the record of an attempt", "run", a.ref.Run, "task", a.ref.Task, "err", err)
			a.log.note("cannot write the record of this attempt: " + err.Error())
		}
	}
}

func (a *attempt) writeRecord(r Recorder) error {
	files, err := r.Files(Ended{
		Ref: a.ref, Task: a.task, Change: a.plan.Change, Finished: a.result, Lease: a.lease, LastLines: a.log.log.Recent(),
		Results: a.masked(a.written()), Metrics: a.masked(read(filepath.Join(a.here().dir, artifactsName), metricsName)),
	})
	for _, f := range files {
		err = errors.Join(err, a.leave(f))
	}
	return err
}

// leave puts a file into the attempt's directory of artifacts, in the place of whatever the command may have put there.
func (a *attempt) leave(f RecordFile) error {
	dir := filepath.Join(a.dir, artifactsName)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return fault.New(fault.Invalid, "the command put something else in the place of $SLUICE_ARTIFACTS")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.RemoveAll(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(f.Name, f.Content, 0o644)
}
