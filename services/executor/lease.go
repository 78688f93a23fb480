package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// heldPlace is a place as scripts read it in SLUICE_PLACES.
type heldPlace struct {
	Place   string `json:"place"`
	Address string `json:"address"`
	Token   int64  `json:"token,string"`
	Index   int    `json:"index"`
}

// leaseVariables tells a script its places: as JSON, and as lists for shells. The token belongs to whatever a script does
// to a place: a place that has seen a higher one can refuse it.
func (a *attempt) leaseVariables(env map[string]string) {
	if !a.task.Lease.Wanted() && len(a.lease.Places) == 0 {
		return
	}
	list := make([]heldPlace, 0, len(a.lease.Places))
	var names, addresses, tokens []string
	for i, held := range a.lease.Places {
		list = append(list, heldPlace{held.Place, held.Address, held.Token, i})
		names = append(names, held.Place)
		addresses = append(addresses, addressOf(held))
		tokens = append(tokens, strconv.FormatInt(held.Token, 10))
	}
	text, err := json.Marshal(list)
	if err != nil {
		return // It is a list of strings and numbers.
	}
	env["SLUICE_PROVIDER"] = a.lease.Provider
	env["SLUICE_PLACES"] = string(text)
	env["SLUICE_PLACE_NAMES"] = strings.Join(names, " ")
	env["SLUICE_PLACE_ADDRESSES"] = strings.Join(addresses, " ")
	env["SLUICE_LEASE_TOKEN"] = strings.Join(tokens, " ")
	if !a.lease.Until.IsZero() {
		env["SLUICE_LEASE_UNTIL"] = a.lease.Until.UTC().Format(time.RFC3339)
	}
}

// addressOf is how a place is reached; one on this machine is "local", so that lists have a word for each.
func addressOf(held release.Held) string {
	if held.Address == "" {
		return "local"
	}
	return held.Address
}

// prove asks the stream whether the places are still this attempt's. It is asked before every side effect: whoever was
// given them since must find them as it leaves them.
func (a *attempt) prove(ctx context.Context) error {
	if len(a.data.Lease.Places) == 0 {
		return nil
	}
	pause := 50 * time.Millisecond
	for {
		lost, err := a.holds(ctx)
		if lost != nil {
			return fail(release.ClassLost, "cannot go on: %w", lost)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if pause *= 2; pause > proveTime {
			return fail(release.ClassInfra, "cannot prove that the lease is still held: %w", err)
		}
	}
}

const proveTime = 5 * time.Second

// holds looks once. lost says that the places are somebody else's; err that nobody knows.
func (a *attempt) holds(ctx context.Context) (lost *lease.Lost, err error) {
	ctx, cancel := context.WithTimeout(ctx, proveTime)
	defer cancel()
	err = lease.Prove(func(subject string) (event.Event, bool, error) {
		e, err := a.e.deps.Bus.Get(ctx, subject)
		if bus.Empty(err) {
			return e, false, nil
		}
		return e, err == nil, err
	}, a.ref, a.data.Lease)
	if errors.As(err, &lost) {
		return lost, nil
	}
	return nil, err
}

// guardLease ends what runs as soon as its lease is no longer held.
func (a *attempt) guardLease(ctx context.Context) (context.Context, func()) {
	if len(a.data.Lease.Places) == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(4 * a.e.config.Beat):
			}
			if lost, _ := a.holds(ctx); lost != nil { // A stream that does not answer may answer the next time.
				cancel(fail(release.ClassLost, "the command was ended: %w", lost))
				return
			}
		}
	}()
	return ctx, func() { cancel(errOver); <-done }
}

var errOver = errors.New("the attempt is over")
