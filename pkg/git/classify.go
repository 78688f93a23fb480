package git

import (
	"context"
	"errors"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// errNotThere marks a failure that says that the remote does not hand out the commit that was asked for by its name.
var errNotThere = errors.New("the remote does not have it, or does not give out single commits")

// sign is a text of git's, or of what it runs, and what it means. They are tried in order.
type sign struct {
	text string
	kind fault.Kind
	then error
}

func signs() []sign {
	return []sign{
		{"not our ref", fault.Transient, errNotThere},
		{"unadvertised object", fault.Transient, errNotThere},
		{"couldn't find remote ref", fault.Transient, errNotThere},
		{"did not send all necessary objects", fault.Transient, errNotThere},
		{"authentication failed", fault.Denied, nil},
		{"could not read username", fault.Denied, nil},
		{"could not read password", fault.Denied, nil},
		{"terminal prompts disabled", fault.Denied, nil},
		{"permission denied", fault.Denied, nil},
		{"host key verification failed", fault.Denied, nil},
		{"access denied", fault.Denied, nil},
		{"returned error: 401", fault.Denied, nil},
		{"returned error: 403", fault.Denied, nil},
		{"dubious ownership", fault.Denied, nil},
		{"repository not exported", fault.Denied, nil},
		{"could not resolve host", fault.Transient, nil},
		{"no space left", fault.Transient, nil},
		{"does not appear to be a git repository", fault.Invalid, nil},
		{"repository not found", fault.Invalid, nil},
		{"not found", fault.Invalid, nil},
		{"no such file or directory", fault.Invalid, nil},
		{"not allowed", fault.Invalid, nil},
		{"not a git repository", fault.Invalid, nil},
		{"not valid: is this a git repository", fault.Invalid, nil},
	}
}

// failure makes the error of a command that did not end well. Its text is git's last line, without secrets.
func (k call) failure(ctx context.Context, err error, stderr string) error {
	said := k.redact(lastLine(stderr))
	if ctx.Err() != nil {
		return fault.New(fault.Transient, "git %s was stopped: %w; it said %q", k.args[0], context.Cause(ctx), said)
	}
	lower := strings.ToLower(stderr)
	for _, s := range signs() {
		if strings.Contains(lower, s.text) {
			return &fault.Error{Kind: s.kind, Err: &commandError{said: said, then: s.then}}
		}
	}
	kind := fault.Internal
	if k.remote != nil {
		kind = fault.Transient
	}
	return &fault.Error{Kind: kind, Err: &commandError{said: orElse(said, k.redact(err.Error())), then: err}}
}

// commandError is what git said.
type commandError struct {
	said string
	then error
}

func (e *commandError) Error() string { return "git says " + e.said }
func (e *commandError) Unwrap() error { return e.then }

func (k call) redact(s string) string {
	for _, secret := range k.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return redactURL(s)
}

// lastLine is what git complained of first, or else the last line: advice follows complaints.
func lastLine(stderr string) string {
	last := ""
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			last = line[:min(len(line), 500)]
		}
		if strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:") {
			break
		}
	}
	return last
}
