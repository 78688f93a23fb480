package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	// maxBody is the largest delivery that is read: GitHub sends none above 25 MB.
	maxBody = 25<<20 + 64<<10
	// smallBody is the largest body of an action.
	smallBody = 1 << 20
)

const (
	maxName = 300  // of a repository, in bytes
	maxText = 2000 // that a person gives with an action, in bytes
)

// plain reports whether a text that becomes part of a fact is short, and nothing that a terminal would obey.
func plain(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// readBody reads a delivery. One that says that it is too large is refused unread.
func readBody(r *http.Request) ([]byte, error) {
	tooLarge := &edge.Refusal{Status: http.StatusRequestEntityTooLarge, Err: fault.New(fault.Invalid,
		"cannot take the delivery: its body is larger than %d bytes, which no forge sends", maxBody)}
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, tooLarge
	case fault.Is(err, fault.Transient):
		return nil, err // there is no room for it now
	case err != nil:
		return nil, fault.New(fault.Invalid, "cannot read the delivery: its body broke off after %d bytes: %w", len(body), err)
	}
	return body, nil
}
