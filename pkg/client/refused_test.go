package client

import (
	"strings"
	"testing"
	"unicode"
)

func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"error":{"kind":"invalid","message":"m","next":"n"}}`))
	f.Add([]byte(`{"error":7}`))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if said := parseRefusal(text).Error(); strings.ContainsFunc(said, unicode.IsControl) {
			t.Fatalf("%q has control characters", said)
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var v any
	err := decode(&endless{}, &v)
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v, want a refusal of what never ends", err)
	}
}

// endless is an answer without end.
type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
