package planner

import (
	"bytes"
	"encoding/binary"
	"io"
	"reflect"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
)

// TestALongMessageIsRefused before room is made for it.
func TestALongMessageIsRefused(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, maxFrame+1)
	if _, err := read(bytes.NewReader(head)); err == nil || err == io.ErrUnexpectedEOF {
		t.Errorf("a message that announces more than fits gives %v", err)
	}
	if allocated := testing.AllocsPerRun(1, func() { _, _ = read(bytes.NewReader(binary.BigEndian.AppendUint32(nil, maxFrame))) }); allocated > 100 {
		t.Errorf("%v allocations for a message that never comes", allocated)
	}
}

// FuzzRead: whatever a worker says, it is read or refused, and what is read is written as the same.
func FuzzRead(f *testing.F) {
	for _, m := range []message{
		{Ask: &ask{What: "read", Name: "a", Limit: 3}},
		{End: &end{Problems: definition.Errors{{File: "f", Line: 1, Message: "m"}}}},
		{Names: []string{"x"}},
		{Failed: &failure{Kind: "invalid", Missing: true, Text: "t"}},
	} {
		var b bytes.Buffer
		if err := write(&b, m); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := write(&b, m); err != nil {
			t.Fatal(err)
		}
		again, err := read(&b)
		if err != nil || !reflect.DeepEqual(again.Failed.err() == nil, m.Failed.err() == nil) || (again.End == nil) != (m.End == nil) {
			t.Fatalf("%+v is read again as %+v, %v", m, again, err)
		}
	})
}
