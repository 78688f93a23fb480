package client

import (
	"fmt"
	"strings"
	"testing"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"data: one\n\n":                                   "message//one|",
		"data:one\ndata: two\n\n":                         "message//one\ntwo|",
		"event: run\nid: 7\ndata: x\n\ndata: y\n\n":       "run/7/x|message/7/y|",
		": keep-alive\n\n\n\nretry: 5\n\ndata: z\n\n":     "message//z|",
		"data: cut off":                                   "",
		"event: only\n\ndata\n\n":                         "message//|",
		"data: crlf\r\n\r\n":                              "message//crlf|",
		"unknown: field\ndata: a:b\nid\n\ndata: last\n\n": "message//a:b|message//last|",
	} {
		var got strings.Builder
		err := messages(strings.NewReader(in), func(m message) error {
			fmt.Fprintf(&got, "%s/%s/%s|", m.event, m.id, m.data)
			return nil
		})
		if err != nil || got.String() != want {
			t.Errorf("messages(%q) = %q, %v; want %q", in, got.String(), err, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add("data: one\n\n")
	f.Add("event: x\nid: 1\ndata\n\n: c\n")
	f.Fuzz(func(t *testing.T, in string) {
		_ = messages(strings.NewReader(in), func(m message) error {
			if strings.ContainsAny(m.event+m.id, "\n") {
				t.Fatalf("a field holds the end of a line: %+v", m)
			}
			return nil
		})
	})
}
