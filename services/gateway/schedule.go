package gateway

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Reader reads a file of a commit; *git.Cache is one.
type Reader interface {
	ReadFile(ctx context.Context, url string, commit release.Commit, name string, limit int64) ([]byte, error)
}

const (
	definitionName  = "sluice.yaml"
	definitionLimit = 1 << 20 // bytes
	readTimeout     = 5 * time.Minute
)

// sightings are the heads that the reconciler saw last, by project: whoever asks for them need not ask the forge again.
type sightings struct {
	mu    sync.Mutex
	heads map[string]map[string]release.Commit
}

func (s *sightings) saw(project string, heads map[string]release.Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heads == nil {
		s.heads = map[string]map[string]release.Commit{}
	}
	s.heads[project] = maps.Clone(heads)
}

func (s *sightings) of(project string) map[string]release.Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[project]
}

// clock starts the scheduled runs of one project.
type clock struct {
	gateway *gateway
	project Project
	began   time.Time
	fired   map[string]time.Time        // by schedule: the time for which it last started a run, as the stream says
	latest  map[string]scheduledRun     // by schedule: that run
	skipped map[string]time.Time        // by schedule: the time that was last told to be skipped
	arrived map[string][]release.Change // by branch: its last heads, as they were announced
	tables  map[release.Commit]definition.Timetable
}

// schedule starts the runs that are due, for ever. Which were started is a fold over the stream; so a gateway that was
// away starts what it missed, once for each schedule, and two gateways start one run.
func (g *gateway) schedule(ctx context.Context, p Project) error {
	c := &clock{
		gateway: g, project: p, began: g.deps.Now(), fired: map[string]time.Time{}, latest: map[string]scheduledRun{}, skipped: map[string]time.Time{}, arrived: map[string][]release.Change{},
		tables: map[release.Commit]definition.Timetable{},
	}
	f, err := g.deps.Bus.Follow(ctx, bus.Following{Name: "gateway-schedule-" + p.Name, Types: scheduleHears()})
	if err != nil {
		return err
	}
	defer f.Close()
	for live := false; ctx.Err() == nil; {
		batch, err := f.Next(ctx, g.config.Poll)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for _, e := range batch.Events {
			c.hear(e)
		}
		if live = live || batch.Live; live {
			c.tick(ctx)
		}
	}
	return nil
}

// scheduleHears are the facts that say what schedules have started, and what has ended.
func scheduleHears() []event.Type {
	return []event.Type{event.TypeChangeReceived, event.TypeChangeIgnored, event.TypeRunRejected, event.TypeRunFinished}
}

// scheduledRun is a run that a schedule started.
type scheduledRun struct {
	id    release.RunID
	ended time.Time // its first end; zero while it goes on
}

// over reports whether a run had ended at a time. No run is over at any time.
func (r scheduledRun) over(at time.Time) bool {
	return r.id == "" || !r.ended.IsZero() && !r.ended.After(at)
}

// hear notes that a head has arrived, that a schedule has started a run, or that such a run has ended.
func (c *clock) hear(e event.Event) {
	received, ok := e.Data.(event.ChangeReceived)
	if !ok {
		c.end(e)
		return
	}
	if received.Change.Repo != c.project.Repo {
		return
	}
	if change := received.Change; change.Kind == release.Push && slices.Contains(c.project.Branches, change.Branch) && !change.At.IsZero() {
		known := c.arrived[change.Branch]
		c.arrived[change.Branch] = append(known[max(0, len(known)-heirs+1):], change)
	}
	name, due, ok := readNonce(received.Change.Nonce)
	if ok && due.After(c.fired[name]) {
		c.fired[name], c.latest[name] = due, scheduledRun{id: e.Run}
	}
}

// end notes the end of the latest run of a schedule.
func (c *clock) end(e event.Event) {
	for name, run := range c.latest {
		if run.id == e.Run && run.ended.IsZero() {
			run.ended = e.Stored
			c.latest[name] = run
		}
	}
}

// tick starts what is due at the heads that were seen last. A definition's schedules hold on its own release branch only:
// a topic branch cannot start runs of itself.
func (c *clock) tick(ctx context.Context) {
	heads := c.gateway.sighted.of(c.project.Name)
	for _, branch := range c.project.Branches {
		commit, there := heads[ref(branch)]
		if !there {
			continue
		}
		table, err := c.table(ctx, commit)
		if err != nil {
			if ctx.Err() == nil {
				c.gateway.deps.Log.Warn("cannot read the schedules of a head; trying again", "project", c.project.Name, "commit", commit, "err", err)
			}
			continue
		}
		if table.Branch == branch {
			c.due(ctx, branch, commit, table)
		}
	}
	maps.DeleteFunc(c.tables, func(commit release.Commit, _ definition.Timetable) bool {
		for _, head := range heads {
			if head == commit {
				return false
			}
		}
		return true
	})
}

// table reads the schedules of a commit once. One without a definition, or with one that cannot be read, has none.
func (c *clock) table(ctx context.Context, commit release.Commit) (definition.Timetable, error) {
	if known, ok := c.tables[commit]; ok {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	text, err := c.gateway.files.ReadFile(ctx, c.project.CloneURL, commit, definitionName, definitionLimit)
	var table definition.Timetable
	if err == nil {
		table, err = definition.ReadTimetable(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !fault.Is(err, fault.Invalid) {
		return table, err
	}
	c.tables[commit] = table
	return table, nil
}

func (c *clock) due(ctx context.Context, branch string, commit release.Commit, table definition.Timetable) {
	for _, s := range table.Schedules {
		after, known := c.fired[s.Name]
		if !known {
			after = c.since(ctx, branch, commit, s)
			c.fired[s.Name] = after
		}
		due, ok := s.Last(after, c.gateway.deps.Now())
		if !ok || !c.free(s, due) {
			continue
		}
		change := scheduled(c.project, branch, commit, s, due)
		run, _, err := c.gateway.announce(ctx, change)
		if err != nil {
			if ctx.Err() == nil {
				c.gateway.deps.Log.Warn("cannot start a scheduled run; trying again", "project", c.project.Name, "schedule", s.Name, "due", due, "err", err)
			}
			continue
		}
		c.fired[s.Name], c.latest[s.Name] = due, scheduledRun{id: run}
		c.gateway.deps.Log.Info("started a scheduled run", "project", c.project.Name, "schedule", s.Name, "due", due, "run", run)
	}
}

// free reports whether a run may be started for a time, beside the run before it. What was skipped is so for good and for every
// gateway: it follows from when that run ended, not from when somebody looks.
func (c *clock) free(s definition.Time, due time.Time) bool {
	before := c.latest[s.Name]
	switch {
	case s.Overlap == definition.OverlapAllow:
		return true
	case s.Overlap == definition.OverlapQueue:
		return before.over(c.gateway.deps.Now())
	case before.over(due):
		return true
	}
	if !c.skipped[s.Name].Equal(due) {
		c.skipped[s.Name] = due
		c.gateway.deps.Log.Warn("skipped a time of a schedule: its run before has not ended", "project", c.project.Name, "schedule", s.Name, "due", due, "run", before.id)
	}
	return false
}

// heirs is how many heads back a schedule is looked for.
const heirs = 50

// since is the time from which a schedule that has never started a run counts: when the first of the heads in a row that
// have it arrived, or else when this gateway began. So a push that ends an outage does not hide what was missed in it. The
// walk back ends where a time has been missed: of several the last is run.
func (c *clock) since(ctx context.Context, branch string, commit release.Commit, s definition.Time) time.Time {
	after := c.began
	for _, head := range slices.Backward(c.arrived[branch]) {
		if head.Commit != commit {
			table, err := c.table(ctx, head.Commit)
			if err != nil || table.Branch != branch || !table.Has(s) {
				break // also when it cannot be read: it may have been forced away
			}
		}
		after = head.At
		if _, missed := s.Last(after, c.gateway.deps.Now()); missed {
			break
		}
	}
	return after
}

// scheduled is the change of a schedule that is due.
func scheduled(p Project, branch string, commit release.Commit, s definition.Time, due time.Time) release.Change {
	parameters := maps.Clone(s.With)
	if parameters == nil {
		parameters = map[string]string{}
	}
	parameters["schedule"] = s.Name
	return release.Change{
		Kind: release.Schedule, Project: p.Name, Repo: p.Repo, CloneURL: p.CloneURL, Forge: p.Forge, Ref: ref(branch), Branch: branch,
		Commit: commit, Title: "schedule " + s.Name, Delivery: "schedule", Verified: "poll",
		Nonce: nonce(s.Name, due), Parameters: parameters,
	}
}

const noncePrefix = "schedule:"

// nonce makes a run of its own of each time of a schedule, and the same run however often that time is found due.
func nonce(name string, due time.Time) string {
	return noncePrefix + due.UTC().Format(time.RFC3339) + ":" + name
}

func readNonce(text string) (name string, due time.Time, ok bool) {
	rest, ok := strings.CutPrefix(text, noncePrefix)
	at := len("2006-01-02T15:04:05Z")
	if !ok || len(rest) <= at || rest[at] != ':' {
		return "", time.Time{}, false
	}
	due, err := time.Parse(time.RFC3339, rest[:at])
	return rest[at+1:], due, err == nil
}
