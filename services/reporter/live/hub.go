package live

import (
	"sync"

	"github.com/sluiceci/sluice/pkg/release"
)

// Hub tells those who watch that rows of runs have changed. It never waits for them: who is slow is told less often.
type Hub struct {
	mu       sync.Mutex
	watchers map[*Watcher]struct{}
}

// Watcher is somebody who watches one run, or all.
type Watcher struct {
	hub  *Hub
	run  release.RunID // "" for all
	wake chan struct{}

	mu   sync.Mutex
	runs map[release.RunID]struct{}
}

// NewHub makes a hub.
func NewHub() *Hub { return &Hub{watchers: map[*Watcher]struct{}{}} }

// Watch begins to watch a run, or every run when it is empty. Close ends it.
func (h *Hub) Watch(run release.RunID) *Watcher {
	w := &Watcher{hub: h, run: run, wake: make(chan struct{}, 1), runs: map[release.RunID]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	return w
}

// Changed tells that rows of runs have changed.
func (h *Hub) Changed(runs map[release.RunID]uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.changed(runs)
	}
}

func (w *Watcher) changed(runs map[release.RunID]uint64) {
	w.mu.Lock()
	before := len(w.runs)
	if w.run != "" {
		if _, hit := runs[w.run]; hit {
			w.runs[w.run] = struct{}{}
		}
	} else {
		for id := range runs {
			w.runs[id] = struct{}{}
		}
	}
	hit := len(w.runs) > before
	w.mu.Unlock()
	if hit {
		select {
		case w.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// Wake is told when there is something to Take.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Take returns the runs that have changed since the last call.
func (w *Watcher) Take() []release.RunID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]release.RunID, 0, len(w.runs))
	for id := range w.runs {
		out = append(out, id)
	}
	clear(w.runs)
	return out
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}
