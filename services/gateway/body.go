package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	// maxBody is the largest delivery that is read: GitHub sends none above 25 MB.
	maxBody = 25<<20 + 64<<10
	// smallBody is what any number of senders may have on its way; larger bodies share largeBodies bytes.
	smallBody   = 1 << 20
	largeBodies = 4 * maxBody
	// bodyTimeout is how long a body may take. Forges give up after ten seconds.
	bodyTimeout = 15 * time.Second
)

// bounded keeps senders, who have shown no signature yet, from filling the memory or holding connections for ever.
func (g *gateway) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A connection that cannot have a deadline (a test's recorder) is served all the same.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		size := r.ContentLength
		if size < 0 || size > maxBody {
			size = maxBody
		}
		if size > smallBody {
			ctx, cancel := context.WithTimeout(r.Context(), bodyTimeout/3)
			defer cancel()
			if err := g.large.Acquire(ctx, size); err != nil {
				g.refuse(r.Context(), fault.New(fault.Transient, "cannot read the delivery: too many large ones are on their way"), w)
				return
			}
			defer g.large.Release(size)
		}
		next.ServeHTTP(w, r)
	})
}

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
	tooLarge := &refusal{http.StatusRequestEntityTooLarge, fault.New(fault.Invalid,
		"cannot take the delivery: its body is larger than %d bytes, which no forge sends", maxBody)}
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, tooLarge
	case err != nil:
		return nil, fault.New(fault.Invalid, "cannot read the delivery: its body broke off after %d bytes: %w", len(body), err)
	}
	return body, nil
}
