package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// prefix begins every token, so that scanners of secrets know one when they see it.
const prefix = "slc_"

// Mint makes a token and what is stored of it: whoever reads the stream cannot use it.
func Mint(t event.TokenCreated) (text string, fact event.TokenCreated) {
	t.Token = strings.ToLower(rand.Text())[:16]
	text = prefix + t.Token + "_" + rand.Text()
	t.Hash = digest(text)
	return text, t
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// idOf is the id in a token, or false for what is no token of ours.
func idOf(text string) (string, bool) {
	rest, ours := strings.CutPrefix(text, prefix)
	id, secret, cut := strings.Cut(rest, "_")
	return id, ours && cut && release.Token(id) && secret != "" && len(text) < 200
}

// ledger is what the stream says of tokens. It is asked for each request, so what one process is told holds for all at once.
type ledger struct {
	bus  *bus.Bus
	now  func() time.Time
	mute bool // it stores nothing

	mu   sync.Mutex
	used map[string]string // token → the last day on which its use was stored
}

// Says lists what a gate says at the endpoints of any service. Signing in and out belongs to the gateway.
func Says() []event.Type { return []event.Type{event.TypeTokenUsed} }

// Reads lists the facts that every gate looks up.
func Reads() []event.Type { return []event.Type{event.TypeTokenCreated, event.TypeTokenRevoked} }

// find returns what was said of a token that is worth something now.
func (l *ledger) find(ctx context.Context, text string) (event.TokenCreated, error) {
	id, ok := idOf(text)
	if !ok {
		return event.TokenCreated{}, unknownToken()
	}
	t, err := l.valid(ctx, id)
	if err != nil {
		return t, err
	}
	if subtle.ConstantTimeCompare([]byte(t.Hash), []byte(digest(text))) != 1 {
		return event.TokenCreated{}, unknownToken()
	}
	return t, nil
}

func unknownToken() error {
	return fault.New(fault.Denied, "cannot act: the token is not one of this installation")
}

// valid reads a token by its id, unless it has ended.
func (l *ledger) valid(ctx context.Context, id string) (event.TokenCreated, error) {
	e, err := l.bus.Get(ctx, event.TypeTokenCreated.FilterRun(event.Fleet, id))
	if bus.Empty(err) {
		return event.TokenCreated{}, unknownToken()
	}
	if err != nil {
		return event.TokenCreated{}, fault.As(fault.Transient, err)
	}
	t, ok := e.Data.(event.TokenCreated)
	switch {
	case !ok || t.Token != id:
		return event.TokenCreated{}, unknownToken()
	case !t.Expires.IsZero() && !l.now().Before(t.Expires):
		return event.TokenCreated{}, fault.New(fault.Denied, "cannot act: the %s has expired", t.Kind)
	}
	_, err = l.bus.Get(ctx, event.TypeTokenRevoked.FilterRun(event.Fleet, id))
	switch {
	case err == nil:
		return event.TokenCreated{}, fault.New(fault.Denied, "cannot act: the %s was revoked", t.Kind)
	case !bus.Empty(err):
		return event.TokenCreated{}, fault.As(fault.Transient, err)
	}
	return t, nil
}

// note stores that a token was used, once a day. It is nobody's loss when that fails.
func (l *ledger) note(ctx context.Context, source, id string) {
	if l.mute {
		return
	}
	day := l.now().UTC().Format(time.DateOnly)
	l.mu.Lock()
	known := l.used[id] == day
	if !known {
		if l.used == nil || len(l.used) > 10_000 {
			l.used = map[string]string{}
		}
		l.used[id] = day
	}
	l.mu.Unlock()
	if known {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = l.bus.Publish(ctx, event.Root(event.Fleet, source, l.now(), event.TokenUsed{Token: id, Day: day}))
}
