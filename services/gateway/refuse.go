package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/sluiceci/sluice/pkg/fault"
)

// refusal is an error with an HTTP status of its own.
type refusal struct {
	status int
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// problem is the body of every refusal.
type problem struct {
	Error struct {
		Kind    fault.Kind `json:"kind"`
		Message string     `json:"message"`
		Next    string     `json:"next"`
	} `json:"error"`
}

// refuse answers an error: what it is, and what the sender can do.
func (g *gateway) refuse(_ context.Context, err error, w http.ResponseWriter) {
	status, next := meaning(err)
	if status >= 500 {
		g.deps.Log.Error("cannot take a request", "err", err, "status", status)
	} else {
		g.deps.Log.Info("refused a request", "err", err, "status", status)
	}
	var p problem
	p.Error.Kind, p.Error.Message, p.Error.Next = fault.Of(err), err.Error(), next
	if fault.Is(err, fault.Internal) {
		p.Error.Message = "something went wrong here; the log of the gateway says what"
	}
	w.Header().Set("Content-Type", "application/json")
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(max(5, int(fault.RetryAfter(err).Seconds()))))
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p) // the sender is gone when this fails
}

func meaning(err error) (status int, next string) {
	var own *refusal
	if errors.As(err, &own) {
		return own.status, advice(own.status)
	}
	switch fault.Of(err) {
	case fault.Transient:
		return http.StatusServiceUnavailable, "send it again, as often as need be: what is stored already is not stored twice"
	case fault.Denied:
		return http.StatusUnauthorized, "check the secret or the token"
	case fault.Invalid:
		return http.StatusBadRequest, "change the request"
	case fault.Conflict:
		return http.StatusConflict, "look at the run first"
	default:
		return http.StatusInternalServerError, "send it again; when it fails again, tell the operator"
	}
}

func advice(status int) string {
	switch status {
	case http.StatusForbidden:
		return "ask the operator"
	case http.StatusConflict:
		return "mend what it says, then ask again"
	default:
		return "change the request"
	}
}
