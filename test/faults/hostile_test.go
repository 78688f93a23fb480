package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// TestAPoolReachesNobodyElse: a pool that names a subject of others as its reply subject, in a header or in a request reaches
// nothing with that. The streams hold what it may say and no more, nobody else hears anything, and a true fact that is said
// afterwards is stored (law 14).
func TestAPoolReachesNobodyElse(t *testing.T) {
	t.Parallel()
	table, pools := rightsTable(t)
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		server, keys := embedded(t, table)
		newAttack(t, table, keys, server.URL(), pools).run()
	})
	t.Run("nats-server", func(t *testing.T) {
		t.Parallel()
		s := newNATSServer(t, pools...)
		newAttack(t, table, s.identities(), "nats://"+s.address, pools).run()
	})
}

const hostile = "pool-linux"

// attack is a pool whose machine is in the wrong hands, and everybody else.
type attack struct {
	t        *testing.T
	table    []bus.Rights
	keys     string
	url      string
	pool     *nats.Conn
	own      bus.Rights
	mu       sync.Mutex
	heard    []string // by others
	carriers int
}

func newAttack(t *testing.T, table []bus.Rights, keys, url string, pools []string) *attack {
	t.Helper()
	sluice(t, append([]string{"setup", "--nats", url, "--creds", keys}, pools...)...)
	a := &attack{t: t, table: table, keys: keys, url: url}
	for _, r := range table {
		if r.Identity == hostile {
			a.own = r
			continue
		}
		a.eavesdrop(r)
	}
	a.pool = a.connect(hostile)
	return a
}

// connect connects with the key of an identity. What the server refuses is no error here: it is wanted.
func (a *attack) connect(identity string) *nats.Conn {
	a.t.Helper()
	key, err := nats.NkeyOptionFromSeed(filepath.Join(a.keys, identity+".nk"))
	if err != nil {
		a.t.Fatal(err)
	}
	conn, err := nats.Connect(a.url, key, nats.CustomInboxPrefix("_INBOX."+identity), nats.Timeout(time.Minute),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(conn.Close)
	return conn
}

// eavesdrop notes what an identity hears: nothing of what the pool says is for it.
func (a *attack) eavesdrop(r bus.Rights) {
	a.t.Helper()
	conn := a.connect(r.Identity)
	for _, subject := range r.Subscribe {
		if strings.HasPrefix(subject, "_INBOX.") { // the rest of it gets what this test asks for
			subject = "_INBOX." + r.Identity + ".a.b"
		}
		if _, err := conn.Subscribe(subject, func(m *nats.Msg) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if !coveredBy(a.own.Publish, m.Subject) { // what it may ask is answered
				a.heard = append(a.heard, r.Identity+" heard "+m.Subject)
			}
		}); err != nil {
			a.t.Fatal(err)
		}
	}
	if err := conn.FlushTimeout(time.Minute); err != nil {
		a.t.Fatal(err)
	}
}

func (a *attack) run() {
	scheduler := a.bus("test-scheduler")
	now := time.Now()
	for i := range 40 { // work of the pool: its consumer has something to give
		work := event.Root("r", "/test-scheduler/1", now, event.TaskDispatched{Task: "t", Attempt: int32(i + 1), Pool: "linux"})
		if err := scheduler.Publish(a.t.Context(), work); err != nil {
			a.t.Fatal(err)
		}
	}
	truth := event.Root("r", "/test-scheduler/1", now, event.GateOpened{Plan: "true"})
	targets := a.targets(truth.Subject())
	for _, carrier := range a.own.Publish {
		a.carry(example(carrier), targets, truth.ID)
	}
	a.settle()
	a.judge()
	if err := scheduler.Publish(a.t.Context(), truth); err != nil {
		a.t.Fatal(err)
	}
	if got, err := scheduler.Get(a.t.Context(), truth.Subject()); err != nil || got.ID != truth.ID {
		a.t.Errorf("the gate's place holds %+v (%v), want the scheduler's fact", got, err)
	}
}

func (a *attack) bus(identity string) *bus.Bus {
	a.t.Helper()
	key, err := bus.KeyFile(filepath.Join(a.keys, identity+".nk"))
	if err != nil {
		a.t.Fatal(err)
	}
	b, err := bus.Connect(a.t.Context(), a.url, bus.Options{Name: "attacked", Identity: identity, Key: &key, Onlooker: true})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(b.Close)
	return b
}

// targets are subjects that the pool may neither publish nor hear: places of facts, inboxes, questions, and what takes facts away.
func (a *attack) targets(more ...string) []string {
	for _, e := range event.Catalogue() {
		more = append(more, factSubjects(e, "mac")...)
	}
	for _, r := range a.table {
		more = append(more, "_INBOX."+r.Identity+".a.b", "sluice.dead."+r.Identity+".x")
		for _, s := range r.Subscribe {
			more = append(more, example(s))
		}
	}
	for _, stream := range []string{bus.Facts, bus.Logs} {
		for _, verb := range []string{"STREAM.DELETE", "STREAM.PURGE", "STREAM.INFO", "CONSUMER.NAMES"} {
			more = append(more, "$JS.API."+verb+"."+stream)
		}
	}
	more = append(more, "sluice.log.mac.r.t.1", "$JS.API.CONSUMER.DELETE.FACTS.builder-plan", "$JS.ACK.FACTS.builder-plan.1.1.1.1.1", "_R_.a.b")
	more = slices.DeleteFunc(more, func(s string) bool { return coveredBy(a.own.Publish, s) || coveredBy(a.own.Subscribe, s) })
	slices.Sort(more)
	return slices.Compact(more)
}

// carry publishes at a subject that the pool may use and names the targets wherever a message can name a subject.
func (a *attack) carry(carrier string, targets []string, id string) {
	for i, target := range targets {
		for _, m := range a.messages(carrier, target, id, i) {
			if err := a.pool.PublishMsg(m); err != nil {
				a.t.Fatal(err)
			}
			a.carriers++
		}
	}
}

func (a *attack) messages(carrier, target, id string, i int) []*nats.Msg {
	body, _ := json.Marshal(map[string]any{
		"batch": 1, "no_wait": true, "deliver_subject": target, "last_by_subj": target,
		"config": map[string]any{"deliver_subject": target, "ack_policy": "none"},
	})
	out := []*nats.Msg{{Subject: carrier, Reply: target, Data: body}}
	subject := carrier
	if strings.HasPrefix(carrier, "sluice.fact.") { // a place that is empty
		subject = fmt.Sprintf("%s%d", carrier, i)
		out = append(out, &nats.Msg{Subject: subject, Reply: target, Data: body})
	}
	if i%10 > 0 { // the headers have effects of their own, whatever the reply subject
		return out
	}
	for _, header := range []nats.Header{
		{"Nats-Trace-Dest": {target}},
		{"Nats-Msg-Id": {id}},
		{"Nats-Rollup": {"all"}},
		{"Nats-Rollup": {"sub"}},
		{"Nats-TTL": {"1s"}},
		{"Nats-Schedule": {"@at " + time.Now().Format(time.RFC3339)}, "Nats-Schedule-Target": {target}},
		{"Nats-Expected-Last-Subject-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence-Subject": {target}},
		{"Nats-Batch-Id": {"batch"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}},
	} {
		out = append(out, &nats.Msg{Subject: subject + "h", Reply: target, Data: body, Header: header})
	}
	return out
}

// settle waits until the server has done what it was asked for: requests of one connection are taken in their order, and the
// answer to the last one comes after the others'.
func (a *attack) settle() {
	a.t.Helper()
	for _, ask := range []string{"$JS.API.INFO", "$JS.API.CONSUMER.MSG.NEXT.FACTS.executor-run-linux", "$JS.API.DIRECT.GET.FACTS.sluice.probe"} {
		if _, err := a.pool.Request(ask, []byte(`{"no_wait": true}`), time.Minute); err != nil {
			a.t.Fatalf("%s: %v", ask, err)
		}
	}
	for _, place := range []string{"sluice.fact.r.task.finished.linux.last.1", "sluice.log.linux.r.last.1", "sluice.fleet.executor.heartbeat.linux.last", "sluice.dead.pool-linux.last"} {
		if _, err := a.pool.Request(place, nil, time.Minute); err != nil {
			a.t.Fatalf("%s: %v", place, err)
		}
	}
}

// judge looks at what the streams hold and at what others heard.
func (a *attack) judge() {
	a.t.Helper()
	if a.carriers < 1000 {
		a.t.Errorf("%d messages are no attack", a.carriers)
	}
	seen := map[string]bool{}
	a.mu.Lock()
	for _, s := range a.heard {
		seen[s] = true
	}
	a.mu.Unlock()
	for _, stream := range []string{bus.Facts, bus.Fleet, bus.Logs} {
		for _, subject := range a.stored("onlooker", stream) {
			if !coveredBy(a.own.Publish, subject) && !strings.HasPrefix(subject, "sluice.fact.r.task.dispatched.linux.") {
				seen[subject+" is stored"] = true
			}
		}
	}
	for i, s := range slices.Sorted(maps.Keys(seen)) {
		if i == 20 {
			a.t.Errorf("and %d more", len(seen)-i)
			break
		}
		a.t.Errorf("%s, which the pool may not say", s)
	}
}

// stored are the subjects of the messages of a stream.
func (a *attack) stored(reader, name string) []string {
	a.t.Helper()
	js, err := jetstream.New(a.connect(reader))
	if err != nil {
		a.t.Fatal(err)
	}
	stream, err := js.Stream(a.t.Context(), name)
	if err != nil {
		a.t.Fatal(err)
	}
	consumer, err := stream.CreateConsumer(a.t.Context(), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		a.t.Fatal(err)
	}
	var out []string
	for want := consumer.CachedInfo().NumPending; uint64(len(out)) < want; {
		batch, err := consumer.Fetch(int(min(500, want-uint64(len(out)))), jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			a.t.Fatal(err)
		}
		before := len(out)
		for m := range batch.Messages() {
			out = append(out, m.Subject())
		}
		if len(out) == before {
			a.t.Fatalf("stream %s gives %d messages, expected %d: %v", name, len(out), want, batch.Error())
		}
	}
	return out
}
