package planner

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/fault"
)

// maxFrame bounds a message between the two processes. A plan that does not fit could not be stored either.
const maxFrame = 64 << 20

// message is what one process says to the other: a length of four bytes, then JSON. To the worker: a job, then answers to
// what it asks for. From the worker: questions, then the end.
type message struct {
	Job *Job `json:"job,omitempty"`
	Ask *ask `json:"ask,omitempty"`
	End *end `json:"end,omitempty"`

	// Answers to an ask.
	Names   []string            `json:"names,omitempty"`
	Text    []byte              `json:"text,omitempty"`
	Request *definition.Request `json:"request,omitempty"`
	Answers map[string]string   `json:"answers,omitempty"`
	Failed  *failure            `json:"failed,omitempty"`
}

// ask is a call of the host.
type ask struct {
	What      string                `json:"what"` // glob, read, request, answers
	Repo      definition.Repo       `json:"repo,omitzero"`
	Name      string                `json:"name,omitempty"`
	Limit     int64                 `json:"limit,omitempty"`
	Questions []definition.Question `json:"questions,omitempty"`
}

// end is how a job ended: with an outcome, with problems of the definition, or with what the host failed with.
type end struct {
	Outcome  Outcome           `json:"outcome,omitzero"`
	Problems definition.Errors `json:"problems,omitempty"`
	Failed   *failure          `json:"failed,omitempty"`
}

// failure is an error of the host, as far as reading a definition tells errors apart.
type failure struct {
	Kind    fault.Kind `json:"kind"`
	Missing bool       `json:"missing,omitempty"`
	Text    string     `json:"text"`
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{Kind: fault.Of(err), Missing: errors.Is(err, fs.ErrNotExist), Text: err.Error()}
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	if f.Missing {
		return &fault.Error{Kind: f.Kind, Err: fmt.Errorf("%s: %w", f.Text, fs.ErrNotExist)}
	}
	return &fault.Error{Kind: f.Kind, Err: errors.New(f.Text)}
}

func write(w io.Writer, m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(text) > maxFrame {
		return fmt.Errorf("cannot send %d bytes, at most %d fit", len(text), maxFrame)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...))
	return err
}

func read(r io.Reader) (message, error) {
	var m message
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return m, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return m, fmt.Errorf("cannot read %d bytes, at most %d are taken", size, maxFrame)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(size))) // which grows with what comes, not with what was announced
	if err == nil && len(text) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("cannot read a message of the planner: %w", err)
	}
	return m, nil
}
