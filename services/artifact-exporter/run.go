package exporter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// maxDocument bounds plans and candidates, in bytes.
const maxDocument = 256 << 20

// run is what the exporter needs to know of a run. It does not change.
type run struct {
	id      release.RunID
	planned event.RunPlanned
	at      time.Time // when it was planned, by the stream's clock; of a rerun, when what it makes again was
	pushed  uint64    // the place of its change in the stream: the order of runs; of a rerun, that of what it makes again
	kinds   map[release.TaskID]release.TaskKind
	pools   map[release.TaskID]string // what another pool says of a task is not kept
}

// runs remembers the runs that were looked up last.
type runs struct {
	deps service.Deps
	mu   sync.Mutex
	kept map[release.RunID]*run
}

const keptRuns = 200

func newRuns(deps service.Deps) *runs { return &runs{deps: deps, kept: map[release.RunID]*run{}} }

// get looks a run up in the stream, and its plan in the store.
func (r *runs) get(ctx context.Context, id release.RunID) (*run, error) {
	r.mu.Lock()
	known := r.kept[id]
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	found, err := r.load(ctx, id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) >= keptRuns {
		clear(r.kept) // cheaper than to know which were used last, and as good
	}
	r.kept[id] = found
	return found, nil
}

func (r *runs) load(ctx context.Context, id release.RunID) (*run, error) {
	e, err := r.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(id))
	if err != nil {
		return nil, fmt.Errorf("cannot find out what run %s is for: %w", id, err)
	}
	planned, ok := e.Data.(event.RunPlanned)
	if !ok {
		return nil, fault.New(fault.Invalid, "cannot find out what run %s is for: %s is not its plan", id, e.Describe())
	}
	if err := planned.Change.Validate(); err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	text, err := blob.ReadAll(ctx, r.deps.Blobs, planned.Plan, maxDocument)
	if err != nil {
		return nil, fmt.Errorf("cannot read the plan of run %s: %w", id, err)
	}
	p, err := plan.Decode(text)
	if err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	kinds := make(map[release.TaskID]release.TaskKind, len(p.Tasks))
	for _, t := range p.Tasks {
		kinds[t.ID] = t.Kind
	}
	at, pushed, err := r.age(ctx, id, planned.Change, e)
	return &run{id: id, planned: planned, at: at, pushed: pushed, kinds: kinds, pools: p.Pools()}, err
}

// age is when what a run does was planned, and where its change stands in the stream: plans are made in any order, and the
// order of pushes is what counts. A rerun does what an earlier run did: it is as old as that, so that the rerun of an old commit
// does not come after a newer commit.
func (r *runs) age(ctx context.Context, id release.RunID, c release.Change, planned event.Event) (time.Time, uint64, error) {
	if c.RerunOf != "" {
		first, err := r.get(ctx, c.RerunOf)
		if err != nil {
			return time.Time{}, 0, err
		}
		return first.at, first.pushed, nil
	}
	received, err := r.deps.Bus.Get(ctx, event.Root(id, Name, r.deps.Now(), event.ChangeReceived{Change: c}).Subject())
	switch {
	case bus.Empty(err):
		return planned.Stored.UTC(), planned.Seq, nil
	case err != nil:
		return time.Time{}, 0, fault.As(fault.Transient, err)
	}
	return planned.Stored.UTC(), received.Seq, nil
}

// find looks a run up and says whether this destination keeps things of its project. The runs in which places are cleaned and
// checked are of no change and have no plan: nothing of them is kept.
func (x *exporter) find(ctx context.Context, id release.RunID) (*run, bool, error) {
	if strings.HasPrefix(string(id), release.PlaceRuns) {
		return nil, false, nil
	}
	r, err := x.runs.get(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if len(x.projects) == 0 {
		return r, true, nil
	}
	for _, glob := range x.projects {
		if doublestar.MatchUnvalidated(glob, r.planned.Change.Project) {
			return r, true, nil
		}
	}
	return r, false, nil
}

// holder is the text of run.json.
type holder struct {
	Run    release.RunID  `json:"run"`
	Plan   release.Digest `json:"plan"`
	Change release.Change `json:"change"`
}

// home is the folder of a run. The first run of a commit has <branch>/<commit>; another one of the same commit, asked for
// by a person or a schedule, has a folder below it, so that no file is ever replaced.
func (x *exporter) home(ctx context.Context, r *run) (string, error) {
	folder := base(r.planned.Change)
	text, err := document(holder{Run: r.id, Plan: r.planned.Plan, Change: r.planned.Change})
	if err != nil {
		return "", err
	}
	now, err := x.to.claim(ctx, folder+"/"+runFile, text)
	if err != nil {
		return "", err
	}
	var held holder
	if err := json.Unmarshal(now, &held); err != nil {
		return "", fault.New(fault.Conflict, "cannot use %s: its %s is not the exporter's: %w", x.to.location(folder), runFile, err)
	}
	if held.Run == r.id {
		return folder, nil
	}
	folder += "/runs/" + segment(string(r.id))
	_, err = x.to.claim(ctx, folder+"/"+runFile, text)
	return folder, err
}
