package service

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
)

const (
	// checkEvery is between two checks, and checkWithin what one may take.
	checkEvery  = 5 * time.Second
	checkWithin = 15 * time.Second
)

// probe is a blob that is written to see whether blobs can be.
const probe = "this blob shows that blobs can be written\n"

// Health tells what keeps a process from its work: loops that fail, routes that get no messages, facts that cannot be stored,
// blobs that cannot be written.
type Health struct {
	mu      sync.Mutex
	faults  map[string]string // loop → the error that it is in
	checked map[string]string // what the last check found
	at      time.Time         // of the last check; zero where nobody checks
}

// Problems lists what is wrong now. A check that has not ended is a problem too: a disk or a server that hangs answers nothing.
func (h *Health) Problems() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	maps.Copy(out, h.checked)
	maps.Copy(out, h.faults)
	if age := time.Since(h.at); !h.at.IsZero() && age > checkEvery+2*checkWithin {
		out["check"] = fmt.Sprintf("the last check of the stream and the blob store ended %s ago, expected one every %s", age.Round(time.Second), checkEvery)
	}
	return out
}

func (h *Health) set(loop string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults == nil {
		h.faults = map[string]string{}
	}
	if err == nil {
		delete(h.faults, loop)
		return
	}
	h.faults[loop] = err.Error()
}

// Watch checks until ctx ends what the services of a process need. Whoever asks for the health is told of the last check: asking
// often costs nothing.
func (h *Health) Watch(ctx context.Context, deps Deps, services ...Service) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		found := check(ctx, deps, services)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		h.checked, h.at = found, time.Now()
		h.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check finds what is wrong with the connections of the services, and with the blob store where one of them writes to it.
func check(ctx context.Context, deps Deps, services []Service) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	found := map[string]string{}
	seen := map[*bus.Bus]bool{}
	stores := false
	for _, s := range services {
		stores = stores || s.Stores
		b := s.connection(deps)
		if seen[b] {
			continue
		}
		seen[b] = true
		for consumer, reason := range b.Unserved() {
			found[consumer] = reason
		}
		if err := b.CanStore(ctx, s.duties()); err != nil {
			found[s.Name+"/facts"] = err.Error()
		}
	}
	if stores {
		if _, _, err := deps.Blobs.Put(ctx, strings.NewReader(probe)); err != nil {
			found["blobs"] = err.Error()
		}
	}
	return found
}

// connection is the service's own, or that of the process.
func (s Service) connection(deps Deps) *bus.Bus {
	if s.Bus != nil {
		return s.Bus
	}
	return deps.Bus
}
