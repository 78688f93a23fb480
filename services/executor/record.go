package executor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// record is what stands on the disk of an attempt whose end leaves something to be done: its cleanup, places to destroy,
// a workspace that is kept for a while. It is there before the first command runs, and until nothing is left to do;
// whoever has the executor's directory can do it, however the executor ended.
type record struct {
	Data      event.TaskDispatched `json:"data"`
	Made      bool                 `json:"made,omitempty"`      // making places may have begun
	KeptUntil time.Time            `json:"keptUntil,omitzero"`  // nothing is undone before
	Addresses []string             `json:"addresses,omitempty"` // of places that were made
	Expires   time.Time            `json:"expires,omitzero"`    // of places that were made
	Result    event.TaskFinished   `json:"result,omitzero"`     // of what is kept
}

// record writes a record so that neither the executor's end nor the machine's takes it away.
func (p *place) record(ref event.AttemptRef, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fault.New(fault.Internal, "cannot write down an attempt: %w", err)
	}
	if err := writeFile(p.records, p.recordName(ref), text); err != nil {
		return fault.New(fault.Transient, "cannot write down what an attempt must undo: %w", err)
	}
	return nil
}

// writeFile replaces a file in one step and returns when it is on the disk.
func writeFile(dir, name string, text []byte) error {
	file, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (p *place) recordName(ref event.AttemptRef) string {
	return filepath.Join(p.records, filepath.Base(p.attempt(ref)))
}

// recorded reads the record of an attempt; there is none when nothing of it is left to do.
func (p *place) recorded(ref event.AttemptRef) (record, bool, error) {
	var r record
	text, err := os.ReadFile(p.recordName(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, false, fault.New(fault.Transient, "cannot read what attempt %d of %s must undo: %w", ref.Attempt, ref.Task, err)
	}
	return r, true, nil
}

// records lists the attempts that have something left to do.
func (p *place) recordsLeft() ([]event.AttemptRef, error) {
	entries, err := os.ReadDir(p.records)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot list what is left to do: %w", err)
	}
	var refs []event.AttemptRef
	for _, entry := range entries {
		if ref, ok := parseAttempt(entry.Name()); ok {
			refs = append(refs, ref)
		} else {
			_ = os.Remove(filepath.Join(p.records, entry.Name())) // a write that was cut off
		}
	}
	return refs, nil
}

func (p *place) forget(ref event.AttemptRef) error {
	err := os.Remove(p.recordName(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// begin notes, before the first command, what the attempt will have to undo.
func (a *attempt) begin() error {
	a.begun = true
	if a.task.Cleanup == "" && a.maker == nil {
		return nil
	}
	if err := a.e.place.record(a.ref, record{Data: a.data}); err != nil {
		a.begun = false // Nothing has run that would have to be undone.
		return classify("", err)
	}
	return nil
}

// forget drops the record: nothing is left to do.
func (a *attempt) forget() {
	if err := a.e.place.forget(a.ref); err != nil {
		a.e.log.Error("cannot drop the record of an attempt; the next start will do its cleanup again", "task", a.ref.Task, "err", err)
	}
}

// attempt is the directory of an attempt. None of the three parts can hold a dot.
func (p *place) attempt(ref event.AttemptRef) string {
	return filepath.Join(p.attempts, string(ref.Run)+"."+string(ref.Task)+"."+strconv.Itoa(int(ref.Attempt)))
}
