package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Refused is the server's answer to what it will not or cannot do.
type Refused struct {
	Status  int    // of HTTP
	Kind    string // of fault, as the server says it
	Message string
	Next    string // what to do about it
}

func (r *Refused) Error() string {
	if r.Next == "" {
		return r.Message
	}
	return r.Message + "; " + r.Next
}

// maxRefusal bounds the body of a refusal, in bytes.
const maxRefusal = 1 << 16

// refused reads why a request was not answered. What is no error of this API (a proxy's page) is told by its status.
func refused(answer *http.Response, authorised bool) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal)) // a part of an explanation is better than none
	r := parseRefusal(text)
	r.Status = answer.StatusCode
	if r.Message == "" {
		r.Message = fmt.Sprintf("cannot do this: the server answered %d %s", r.Status, http.StatusText(r.Status))
	}
	if r.Next == "" {
		r.Next = advice(r.Status, authorised)
	}
	return &fault.Error{Kind: kindOf(r), Err: r}
}

func parseRefusal(text []byte) *Refused {
	var body struct {
		Error struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
			Next    string `json:"next"`
		} `json:"error"`
	}
	_ = json.Unmarshal(text, &body) // what is no JSON leaves it empty, which the caller fills
	return &Refused{Kind: body.Error.Kind, Message: Line(body.Error.Message), Next: Line(body.Error.Next)}
}

func advice(status int, authorised bool) string {
	switch {
	case status == http.StatusUnauthorized && authorised:
		return "the token is not the one that this server expects; look at $SLUICE_TOKEN"
	case status == http.StatusUnauthorized || status == http.StatusForbidden && !authorised:
		return "give a token as $SLUICE_TOKEN"
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		return "try again in a moment"
	default:
		return ""
	}
}

func kindOf(r *Refused) fault.Kind {
	switch k := fault.Kind(r.Kind); k {
	case fault.Transient, fault.Invalid, fault.Conflict, fault.Denied, fault.Internal:
		return k
	}
	switch {
	case r.Status == http.StatusConflict || r.Status == http.StatusPreconditionFailed:
		return fault.Conflict
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return fault.Denied
	case r.Status == http.StatusTooManyRequests || r.Status >= 500:
		return fault.Transient
	default:
		return fault.Invalid
	}
}

// Answered reports whether the server answered at all, with success or a refusal.
func Answered(err error) bool {
	var r *Refused
	return err == nil || errors.As(err, &r)
}

// NotFound reports whether the server says that there is no such thing.
func NotFound(err error) bool {
	var r *Refused
	return errors.As(err, &r) && r.Status == http.StatusNotFound
}
