package publisher

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// model is the publisher's world without I/O: one stream with one fact per place, publishers that fold it at their own pace,
// crash and stand still, people, and registries that drop, repeat and delay what they said they took. The decisions are the real
// ones (sagas); only the effects are modelled. Everything follows from a seed.
type model struct {
	t      testing.TB
	seed   uint64
	d      *rand.Rand
	facts  []event.Event
	places map[string]bool
	now    time.Time
	houses []*modelHouse
	asked  []event.Event // requests that are not acknowledged
	regs   map[string]map[string]bearer
	frozen []*modelEffect // between the decision and the effect
	late   []func()       // effects that a registry makes some time later
	runs   []release.RunID
	held   map[release.RunID]uint64
}

// bearer is what a name stands for: bytes of a run, and the place of its push.
type bearer struct {
	run release.RunID
	at  uint64
}

type modelHouse struct {
	all  *sagas
	read int
}

// modelEffect is a commit that was allowed, by a publisher that stood still before it made it.
type modelEffect struct {
	asked event.Event
	leave []string
	names moved
}

func modelTargets() []event.TargetName {
	return []event.TargetName{{Name: "index", Kind: "pypi-index"}, {Name: "image", Kind: "oci"}, {Name: "maven", Kind: "maven"}, {Name: "pypi", Kind: "pypi"}}
}

func newModel(t testing.TB, seed uint64) *model {
	m := &model{
		t: t, seed: seed, d: rand.New(rand.NewPCG(seed, 17)), places: map[string]bool{}, now: time.Unix(1e9, 0), //nolint:gosec // a fixed seed
		regs: map[string]map[string]bearer{}, held: map[release.RunID]uint64{},
	}
	for _, target := range modelTargets() {
		m.regs[target.Name] = map[string]bearer{}
	}
	for range 1 + m.d.IntN(2) {
		m.houses = append(m.houses, &modelHouse{all: newSagas()})
	}
	targets := modelTargets()
	m.d.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	targets = targets[:1+m.d.IntN(len(targets))]
	for i := range 1 + m.d.IntN(3) {
		m.runs = append(m.runs, release.RunID(fmt.Sprint("run-", i)))
		m.say(m.runs[i], event.ChangeReceived{Change: plannedFact(release.Push, "master").Change})
	}
	for _, i := range m.d.Perm(len(m.runs)) { // plans are made in any order
		m.say(m.runs[i], plannedFact(release.Push, "master", targets...))
	}
	return m
}

func (m *model) say(run release.RunID, p event.Payload) bool {
	e := event.Root(run, "/test/1", m.now, p)
	if m.places[e.Subject()] {
		return false
	}
	m.places[e.Subject()] = true
	e.Seq, e.Stored = uint64(len(m.facts)+1), m.now
	m.facts = append(m.facts, e)
	if _, is := p.(event.PublicationRequested); is {
		m.asked = append(m.asked, e)
	}
	return true
}

// fold lets a publisher read on.
func (h *modelHouse) fold(m *model, lag int) {
	for ; h.read < len(m.facts)-lag; h.read++ {
		h.all.apply(m.facts[h.read])
	}
}

func (m *model) pushed(run release.RunID) uint64 { return uint64(slices.Index(m.runs, run) + 1) }

// own are the names that a run gives at a target: its own, and one that may move.
func own(target string, run release.RunID) []string {
	if target == "image" {
		return []string{"img:" + string(run), "img:latest"}
	}
	return []string{target + ":" + string(run)}
}

// turn is one thing that happens.
func (m *model) turn(i int, kind bool) {
	m.now = m.now.Add(time.Duration(m.d.IntN(60)) * time.Second)
	h := m.houses[m.d.IntN(len(m.houses))]
	switch n := m.d.IntN(100); {
	case n < 35:
		h.fold(m, m.d.IntN(3))
		m.decide(h)
	case n < 80:
		m.work(h, kind)
	case n < 84 && !kind:
		*h = modelHouse{all: newSagas()} // killed, and started again
	case n < 88:
		m.thaw()
	case n < 92:
		m.later()
	case !kind:
		m.person(i)
	}
}

func (m *model) decide(h *modelHouse) {
	for _, run := range m.runs {
		if h.all.of[run] == nil {
			continue
		}
		intents, _ := h.all.decide(run, m.now)
		for _, p := range intents {
			m.say(run, p)
		}
	}
}

func (m *model) person(i int) {
	run, request := m.runs[m.d.IntN(len(m.runs))], fmt.Sprint("p", i)
	switch m.d.IntN(7) {
	case 0, 1:
		m.say(run, openedFact())
	case 2:
		m.say(run, event.GateHeld{Request: request, By: "ann"})
	case 3:
		m.say(run, event.GateResumed{Request: request})
	case 4:
		if m.d.IntN(3) == 0 {
			m.say(run, event.RunCancelRequested{Request: request, By: "ann"})
		}
	case 5:
		m.say(run, event.PublicationRetryRequested{Request: request})
	case 6:
		if m.d.IntN(3) == 0 {
			m.say(run, event.PublicationUndoRequested{Request: request, By: "ann", Reason: "it is bad"})
		}
	}
}

// work lets a publisher make a step that was asked for. It may die before it answers, and before it acknowledged.
func (m *model) work(h *modelHouse, kind bool) {
	if len(m.asked) == 0 {
		return
	}
	i := m.d.IntN(len(m.asked))
	e := m.asked[i]
	p := e.Data.(event.PublicationRequested)
	h.fold(m, 0) // what current() does before a commit
	may := h.all.permit(e.Run, p, m.now)
	fail := func(kind, reason string) {
		m.say(e.Run, event.PublicationFailed{Target: p.Target, Kind: p.Kind, State: p.State, Round: p.Round, Fault: kind, Reason: reason})
	}
	done := func() { m.asked = slices.Delete(m.asked, i, i+1) }
	switch {
	case may.gone, may.made:
		done()
		return
	case may.wait != "":
		return
	case may.refuse != "":
		fail(notBegun, may.refuse)
		done()
		return
	case !kind && m.d.IntN(12) == 0:
		fail(string(fault.Denied), "the registry refuses")
		done()
		return
	}
	out := event.PublicationAdvanced{Target: p.Target, Kind: p.Kind, State: p.State, Round: p.Round}
	switch p.State {
	case release.Probed:
		out.Shared = own(p.Target, e.Run)
		for _, name := range out.Shared {
			out.Files = append(out.Files, event.PublishedFile{Name: name, Digest: release.Digest(e.Run), Before: release.Digest(m.regs[p.Target][name].run)})
		}
	case release.Undone:
		m.undo(e.Run, p, h.all.had(e.Run, h.all.of[e.Run].target(p.Target, p.Kind)))
	case release.Committed:
		m.allowed(e.Run, p)
		effect := &modelEffect{e, may.leave, moved{h.all.of[e.Run].at, own(p.Target, e.Run)}}
		if !kind && m.d.IntN(15) == 0 {
			m.frozen = append(m.frozen, effect) // somebody else takes the step over
			return
		}
		m.effect(effect, kind)
	case release.Verified:
		if !m.seen(e.Run, p.Target, may.leave) {
			if again := p; kind || m.d.IntN(2) == 0 {
				again.State = release.Committed
				if r := h.all.permit(e.Run, again, m.now); !r.gone && r.refuse == "" && r.wait == "" {
					m.effect(&modelEffect{asked: e, leave: r.leave}, kind) // what was dropped is sent again
				}
			}
			return
		}
	}
	if m.d.IntN(10) > 0 {
		m.say(e.Run, out)
	}
	if m.d.IntN(10) > 0 && m.places[event.Root(e.Run, "/test/1", m.now, out).Subject()] {
		done()
	}
}

// undo takes back what a run gave, where it still stands.
func (m *model) undo(run release.RunID, p event.PublicationRequested, had map[string]release.Digest) {
	if !kindNamed(p.Kind).Undoes {
		m.fatal("a commit of %s to %s is undone, and cannot be", run, p.Target)
	}
	for _, name := range own(p.Target, run) {
		if m.regs[p.Target][name].run != run {
			continue
		}
		before := release.RunID(had[name])
		if before == run {
			continue
		}
		if delete(m.regs[p.Target], name); before != "" {
			m.regs[p.Target][name] = bearer{before, m.pushed(before)}
		}
	}
}

// allowed holds what people were promised against a commit that begins: it is of the candidate, nobody holds or cancelled it,
// and everything that can be undone was done everywhere.
func (m *model) allowed(run release.RunID, p event.PublicationRequested) {
	var cancel, again, hold, resumed, opened uint64
	committed := map[string]bool{}
	for _, e := range m.facts {
		if e.Run != run {
			continue
		}
		switch f := e.Data.(type) {
		case event.RunCancelRequested:
			cancel = e.Seq
		case event.PublicationUndoRequested:
			if opened > 0 {
				cancel = e.Seq
			}
		case event.PublicationRetryRequested:
			again = e.Seq
		case event.GateHeld:
			hold = e.Seq
		case event.GateResumed:
			resumed = e.Seq
		case event.GateOpened:
			opened = e.Seq
			if f.Blob != p.Blob {
				m.fatal("published is %s, the gate opened for %s", p.Blob, f.Blob)
			}
		case event.PublicationAdvanced:
			if f.State == release.Staged && f.Round == p.Round || f.State.Reached(release.Committed) {
				committed[f.Target] = true
			}
		}
	}
	switch {
	case opened == 0:
		m.fatal("a commit of %s without a gate", run)
	case cancel > again:
		m.fatal("a commit of %s to %s begins after the cancellation at %d", run, p.Target, cancel)
	case hold > resumed:
		m.fatal("a commit of %s to %s begins under the hold at %d", run, p.Target, hold)
	}
	for _, e := range m.facts {
		if planned, is := e.Data.(event.RunPlanned); is && e.Run == run {
			for _, t := range planned.Targets {
				if !committed[t.Name] {
					m.fatal("a commit of %s to %s begins, and %s is not staged in round %d", run, p.Target, t.Name, p.Round)
				}
			}
		}
	}
}

// effect is what the registry makes of a commit: it may drop a name, or make it later, or twice.
func (m *model) effect(e *modelEffect, kind bool) {
	p := e.asked.Data.(event.PublicationRequested)
	for _, name := range own(p.Target, e.asked.Run) {
		if slices.Contains(e.leave, name) {
			continue
		}
		set := func() { m.give(p.Target, name, e.asked.Run) }
		n := m.d.IntN(20)
		if kind {
			n = 19
		}
		switch {
		case n < 2: // dropped
		case n < 4 && name != "img:latest": // delayed; what moves is a matter of the patrol
			m.late = append(m.late, set)
		case n < 6:
			set()
			set()
		default:
			set()
		}
	}
}

// give sets a name, and holds that a name which does not move is given once, and that one which moves never goes back.
func (m *model) give(target, name string, run release.RunID) {
	now, there := m.regs[target][name]
	if there && now.run != run && name != "img:latest" {
		m.fatal("%s at %s was given by %s and is now by %s", name, target, now.run, run)
	}
	if there && now.at > m.pushed(run) {
		m.fatal("%s at %s goes back from %s to %s", name, target, now.run, run)
	}
	m.regs[target][name] = bearer{run, m.pushed(run)}
}

// seen reports whether users find everything that a run gives, except what a later one has.
func (m *model) seen(run release.RunID, target string, leave []string) bool {
	for _, name := range own(target, run) {
		if m.regs[target][name].run != run && !slices.Contains(leave, name) {
			return false
		}
	}
	return true
}

// thaw lets a publisher go on that stood still between its decision and its effect. Names that do not move are given again by
// the same run, which changes nothing. One that moves is looked at when it is moved: by then its turn may be over.
func (m *model) thaw() {
	if len(m.frozen) == 0 {
		return
	}
	e := m.frozen[0]
	m.frozen = m.frozen[1:]
	h := &modelHouse{all: newSagas()}
	h.fold(m, 0)
	p := e.asked.Data.(event.PublicationRequested)
	if m.d.IntN(4) == 0 { // between its last question and its request: it looks afterwards who has what it moved
		m.slip(h, e, p)
		return
	}
	if may := h.all.permit(e.asked.Run, p, m.now); !may.gone && !may.made && may.refuse == "" && may.wait == "" {
		e.leave = may.leave
		m.effect(e, false)
	}
}

// slip is a write of a moving name that comes far too late, and is made good.
func (m *model) slip(h *modelHouse, e *modelEffect, p event.PublicationRequested) {
	const name = "img:latest"
	if p.Target != "image" || slices.Contains(e.leave, name) || m.regs[p.Target][name].run == "" {
		return
	}
	before := m.regs[p.Target][name]
	m.regs[p.Target][name] = bearer{e.asked.Run, m.pushed(e.asked.Run)}
	for _, to := range h.all.lost(e.asked.Run, e.names, e.leave) {
		m.regs[p.Target][name] = bearer{release.RunID(to), m.pushed(release.RunID(to))}
	}
	if now := m.regs[p.Target][name]; now.at < before.at {
		m.fatal("%s went from %s to %s, and nobody made it good", name, before.run, now.run)
	}
}

func (m *model) later() {
	if len(m.late) > 0 {
		m.late[0]()
		m.late = m.late[1:]
	}
}

// end lets everything come to its end: people lift holds and retry, registries do what they say.
func (m *model) end() {
	for _, run := range m.runs {
		m.say(run, openedFact())
		m.say(run, event.GateResumed{Request: "end"})
		m.say(run, event.PublicationRetryRequested{Request: "end"})
	}
	for len(m.frozen)+len(m.late) > 0 {
		m.thaw()
		m.later()
	}
	m.now = m.now.Add(time.Hour)
	for i := range 2000 {
		m.turn(i, true)
		if i%50 == 49 && m.settled() {
			return
		}
	}
	m.fatal("it never ends")
}

func (m *model) settled() bool {
	for _, run := range m.runs {
		if !m.places[event.Root(run, "/test/1", m.now, event.ReleasePublished{}).Subject()] {
			return false
		}
	}
	return true
}

// judge: in the end every run is published everywhere, and what moves is with the newest push.
func (m *model) judge() {
	for target, names := range m.regs {
		for name, n := range names {
			if name == "img:latest" && n.run != m.runs[len(m.runs)-1] {
				m.fatal("%s at %s is with %s, the newest push is %s", name, target, n.run, m.runs[len(m.runs)-1])
			}
		}
	}
	for _, e := range m.facts {
		if f, is := e.Data.(event.ReleaseFailed); is && len(f.Reasons) == 0 {
			m.fatal("a release of %s failed and names no target", e.Run)
		}
		if _, is := e.Data.(event.ReleasePublished); is {
			for target := range m.targetsOf(e.Run) {
				if m.regs[target][own(target, e.Run)[0]].run != e.Run {
					m.fatal("%s is published, and %s does not have it", e.Run, target)
				}
			}
		}
	}
}

func (m *model) targetsOf(run release.RunID) map[string]bool {
	out := map[string]bool{}
	for _, e := range m.facts {
		if p, is := e.Data.(event.RunPlanned); is && e.Run == run {
			for _, t := range p.Targets {
				out[t.Name] = true
			}
		}
	}
	return out
}

func (m *model) fatal(format string, args ...any) {
	var told strings.Builder
	for _, e := range m.facts {
		fmt.Fprintf(&told, "%d %s %v\n", e.Seq, e.Describe(), e.Data)
	}
	m.t.Fatalf("seed %d: %s\n%s\n%v", m.seed, fmt.Sprintf(format, args...), told.String(), slices.Sorted(maps.Keys(m.regs)))
}

// TestPublisherModel: several targets, runs, publishers and rounds, crashes, frozen processes and registries that lie. Published is what
// was tested, once per name, everywhere or named as failed, and names never go back.
func TestPublisherModel(t *testing.T) {
	t.Parallel()
	seeds := uint64(10_000)
	if testing.Short() {
		seeds = 500
	}
	for seed := range seeds {
		m := newModel(t, seed)
		for i := range 60 {
			m.turn(i, false)
		}
		m.end()
		m.judge()
	}
}
