package forge

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/drone/go-scm/scm"

	"github.com/sluiceci/sluice/pkg/fault"
)

// failed gives the answer of a forge its kind.
func (s StatusRequest) failed(response *scm.Response, err error) error {
	if response == nil && err == nil {
		return nil
	}
	if response == nil {
		return fault.New(fault.Transient, "cannot set the status of commit %s: %s cannot be reached: %s", s.Commit.Short(), s.BaseURL, s.redact(err))
	}
	if response.Status < 300 && unreadable(err) {
		return nil // it is set; what the forge says about it is of no use here
	}
	kind, next := meaning(response)
	wait := retryAfter(response.Header)
	if wait > 0 && kind == fault.Denied { // how GitHub says that there were too many requests
		kind, next = fault.Transient, "too many requests"
	}
	problem := fault.New(kind, "cannot set the status of commit %s in %s: %s answers %d %s; %s",
		s.Commit.Short(), s.Repo, s.BaseURL, response.Status, s.redact(err), next)
	return &fault.Error{Kind: kind, After: wait, Err: problem}
}

func unreadable(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return err == nil || errors.As(err, &syntax) || errors.As(err, &kind) || strings.Contains(err.Error(), "EOF")
}

// meaning is what a status code says, and what to do next.
func meaning(response *scm.Response) (fault.Kind, string) {
	switch code := response.Status; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fault.Denied, "give the project a token that may set commit statuses"
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return fault.Transient, "it is tried again"
	case code == http.StatusNotFound:
		return fault.Invalid, "check the repository's name, and whether the token may see it"
	case code >= 300 && code < 400:
		return fault.Invalid, "the repository or its forge has moved; give the new address"
	default:
		return fault.Invalid, "it does not take the status as it is"
	}
}

// retryAfter is the wait that a forge asks for, at most an hour.
func retryAfter(h http.Header) time.Duration {
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, time.Hour)
	}
	if h.Get("X-RateLimit-Remaining") != "0" {
		return 0
	}
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return time.Minute
	}
	return min(max(time.Until(time.Unix(reset, 0)), time.Second), time.Hour)
}

var userPattern = regexp.MustCompile(`://[^/@\s]*@`)

func redactUser(s string) string { return userPattern.ReplaceAllString(s, "://***@") }

// redact is what an error says, without the token, should a forge repeat it.
func (s StatusRequest) redact(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if s.Token != "" {
		text = strings.ReplaceAll(text, s.Token, "***")
	}
	return clip(redactUser(text), 300)
}
