package edge

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Refusal is an error with a status of HTTP of its own.
type Refusal struct {
	Status int
	Err    error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Unknown is the refusal of a request that does not show who sends it. What somebody known may not do is Denied.
func Unknown(err error) error { return &Refusal{http.StatusUnauthorized, err} }

// Meaning is the status of an error, and what its reader can do. It is the one table of what errors are over HTTP.
func Meaning(err error) (status int, next string) {
	var own *Refusal
	if errors.As(err, &own) {
		return own.Status, advice(own.Status)
	}
	switch fault.Of(err) {
	case fault.Transient:
		return http.StatusServiceUnavailable, "send it again, as often as need be: what is stored already is not stored twice"
	case fault.Denied:
		return http.StatusForbidden, advice(http.StatusForbidden)
	case fault.Invalid:
		return http.StatusBadRequest, advice(http.StatusBadRequest)
	case fault.Conflict:
		return http.StatusConflict, "look at the run first"
	default:
		return http.StatusInternalServerError, "send it again; when it fails again, tell the operator"
	}
}

func advice(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "check the secret or the token, or sign in"
	case http.StatusForbidden:
		return "ask the operator for a role that may"
	case http.StatusConflict:
		return "fix the cause and retry"
	case http.StatusNotFound:
		return "look at the list of what there is"
	default:
		return "change the request"
	}
}

// Refuse answers an error as the API tells it. What went wrong inside is for the log only.
func Refuse(w http.ResponseWriter, err error) {
	status, next := Meaning(err)
	message := err.Error()
	if status == http.StatusInternalServerError {
		message = "something went wrong here; the log of the service says what"
	}
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(fault.RetryAfter(err).Seconds()))))
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	refuse(w, status, string(fault.Of(err)), message, next)
}

// refuse answers with the body that every refusal of the API has.
func refuse(w http.ResponseWriter, status int, kind, message, next string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"kind": kind, "message": message, "next": next}}) // the client is gone when this fails
}
