package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// TestEveryIdentityMayWhatItsTableSays asks a server, for every identity and every kind of subject, whether it may publish
// and subscribe there: the answers are those of `sluice topology --permissions`, no more and no less (law 14).
func TestEveryIdentityMayWhatItsTableSays(t *testing.T) {
	t.Parallel()
	table, pools := rightsTable(t)
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		server, keys := embedded(t, table)
		askAll(t, table, keys, "", nats.InProcessServer(server))
	})
	t.Run("nats-server", func(t *testing.T) {
		t.Parallel()
		s := newNATSServer(t, pools...)
		askAll(t, table, s.identities(), "nats://"+s.address)
	})
}

// rightsTable is what the binary says everybody may do, with the arguments that name the pools.
func rightsTable(t *testing.T) (table []bus.Rights, pools []string) {
	t.Helper()
	pools = []string{"--pool", "linux", "--pool", "mac"}
	if err := json.Unmarshal(sluice(t, append([]string{"topology", "--permissions", "--json"}, pools...)...), &table); err != nil {
		t.Fatal(err)
	}
	return table, pools
}

// embedded is an embedded server that knows the identities of a table, and the directory of their keys.
func embedded(t *testing.T, table []bus.Rights) (*bus.Server, string) {
	t.Helper()
	ring := bus.Keyring{Dir: filepath.Join(t.TempDir(), "identities")}
	var known []bus.Identity
	for _, r := range table {
		keys, err := ring.Keys(r.Identity)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, bus.Identity{Rights: r, Public: keys[0].Public})
	}
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), Port: -1, Identities: known})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server, ring.Dir
}

func askAll(t *testing.T, table []bus.Rights, keys, url string, more ...nats.Option) {
	t.Helper()
	if len(table) != 11 {
		t.Fatalf("the table has %d identities, expected those of six services, two pools and three more", len(table))
	}
	publish, subscribe := probes(table)
	for _, r := range table {
		key, err := nats.NkeyOptionFromSeed(filepath.Join(keys, r.Identity+".nk"))
		if err != nil {
			t.Fatal(err)
		}
		a := newAsker(t, url, append([]nats.Option{key}, more...)...)
		compare(t, r.Identity+" publishes", publish, a.publish(publish), func(s string) bool {
			return coveredBy(r.Publish, s) && !coveredBy(r.Deny, s)
		})
		compare(t, r.Identity+" subscribes to", subscribe, a.subscribe(subscribe), func(s string) bool { return coveredBy(r.Subscribe, s) })
		a.conn.Close()
	}
}

// compare holds what a server refused to what the table says. A server that allows everything or nothing was not asked.
func compare(t *testing.T, what string, asked []string, refused map[string]bool, allowed func(string) bool) {
	t.Helper()
	yes := 0
	for _, s := range asked {
		if !refused[s] {
			yes++
		}
		if allowed(s) == refused[s] {
			t.Errorf("%s %s: the table allows it: %t; the server: %t", what, s, allowed(s), !refused[s])
		}
	}
	if yes == 0 || yes == len(asked) {
		t.Errorf("%s: the server allows %d of %d subjects", what, yes, len(asked))
	}
}

// asker finds out what a server refuses to a connection.
type asker struct {
	t       testing.TB
	conn    *nats.Conn
	refused chan string
}

var violation = regexp.MustCompile(`Permissions Violation for (?:Publish|Subscription) to "([^"]+)"`)

func newAsker(t testing.TB, url string, options ...nats.Option) *asker {
	t.Helper()
	a := &asker{t: t, refused: make(chan string, 1<<14)}
	conn, err := nats.Connect(url, append(options, nats.Timeout(time.Minute), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		m := violation.FindStringSubmatch(err.Error())
		if m == nil || !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("the server says %v", err)
			return
		}
		a.refused <- m[1]
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	a.conn = conn
	return a
}

// end is a subject that nobody may use: when it is refused, everything before it has been judged.
const end = "the.end"

func (a *asker) publish(subjects []string) map[string]bool {
	a.t.Helper()
	for _, s := range append(slices.Clone(subjects), end) {
		if err := a.conn.Publish(s, nil); err != nil {
			a.t.Fatal(err)
		}
	}
	return a.collect()
}

func (a *asker) subscribe(subjects []string) map[string]bool {
	a.t.Helper()
	for _, s := range append(slices.Clone(subjects), end) {
		if _, err := a.conn.Subscribe(s, func(*nats.Msg) {}); err != nil {
			a.t.Fatalf("%s: %v", s, err)
		}
	}
	return a.collect()
}

func (a *asker) collect() map[string]bool {
	a.t.Helper()
	if err := a.conn.FlushTimeout(time.Minute); err != nil {
		a.t.Fatal(err)
	}
	out := map[string]bool{}
	deadline := time.After(time.Minute)
	for {
		select {
		case s := <-a.refused:
			if s == end {
				return out
			}
			out[s] = true
		case <-deadline:
			a.t.Fatal("the server did not refuse what nobody may do")
		}
	}
}

// probes are the subjects to ask about: every fact of each pool, every request of JetStream's API on every stream and
// consumer, and one example of whatever anybody may do.
func probes(table []bus.Rights) (publish, subscribe []string) {
	all := map[string]bool{"anything": true, "sluice.else": true, "$SYS.REQ.SERVER.PING": true, "$KV.bucket.key": true}
	add := func(format string, args ...any) { all[fmt.Sprintf(format, args...)] = true }
	for _, e := range event.Catalogue() {
		for _, pool := range []string{"linux", "mac", "fetch"} {
			for _, s := range factSubjects(e, pool) {
				add("%s", s)
				add("$JS.API.DIRECT.GET.FACTS.%s", s)
			}
		}
	}
	wild := map[string]bool{">": true, "*": true, "*.>": true, "$SYS.>": true, "$JS.>": true, "$JS.API.>": true, "$JS.EVENT.>": true}
	for prefix := range map[string]bool{"sluice": true, "sluice.fact": true, "sluice.ask": true, "sluice.log": true, "sluice.dead": true, "sluice.replay": true, "sluice.fleet": true, "_INBOX": true} {
		wild[prefix+".>"], wild[prefix+".*"], wild[prefix+".*.>"] = true, true, true
	}
	durables := map[string]bool{"anybodys": true}
	for _, r := range table {
		add("_INBOX.%s.a.b", r.Identity)
		add("sluice.dead.%s.consumer", r.Identity)
		for _, list := range [][]string{r.Publish, r.Deny, r.Subscribe} {
			for _, pattern := range list {
				add("%s", example(pattern))
				wild[pattern] = true
				if name, ok := strings.CutPrefix(pattern, "$JS.API.CONSUMER.MSG.NEXT.FACTS."); ok && name != "*" {
					durables[name] = true
				}
			}
		}
	}
	for _, pool := range []string{"linux", "mac"} {
		add("sluice.log.%s.r.t.1", pool)
	}
	for _, stream := range []string{bus.Facts, bus.Fleet, bus.Logs, bus.Dead, "OTHER"} {
		for _, verb := range []string{
			"CREATE", "UPDATE", "DELETE", "PURGE", "INFO", "NAMES", "LIST", "MSG.GET", "MSG.DELETE", "SNAPSHOT", "RESTORE", "PEER.REMOVE", "LEADER.STEPDOWN",
		} {
			add("$JS.API.STREAM.%s.%s", verb, stream)
			add("$JS.API.STREAM.%s", verb)
		}
		add("$JS.API.DIRECT.GET.%s", stream)
		add("$JS.API.CONSUMER.NAMES.%s", stream)
		add("$JS.API.CONSUMER.LIST.%s", stream)
		add("$JS.API.CONSUMER.CREATE.%s", stream)
		for name := range durables {
			for _, verb := range []string{"CREATE", "DURABLE.CREATE", "DELETE", "INFO", "PAUSE", "RESET", "MSG.NEXT", "UNPIN", "LEADER.STEPDOWN"} {
				add("$JS.API.CONSUMER.%s.%s.%s", verb, stream, name)
			}
			add("$JS.API.CONSUMER.CREATE.%s.%s.sluice.fact.>", stream, name)
			add("$JS.ACK.%s.%s.1.2.3.4.5", stream, name)
		}
	}
	publish = slices.Sorted(maps.Keys(all))
	maps.Copy(all, wild)
	return publish, slices.Sorted(maps.Keys(all))
}

// factSubjects are the places of an event about a pool, as many as its key has tokens.
func factSubjects(e event.Entry, pool string) []string {
	var key []string
	if e.Keys != "" {
		key = strings.Split(e.Keys, ".")
		for i, token := range key {
			key[i] = strings.Trim(token, "<>")
			if token == "<pool>" {
				key[i] = pool
			}
		}
	}
	return []string{e.Type.FilterRun("r", key...)}
}

// example is a subject that a pattern covers.
func example(pattern string) string {
	tokens := strings.Split(pattern, ".")
	for i, token := range tokens {
		switch token {
		case "*":
			tokens[i] = "x"
		case ">":
			tokens[i] = "x.y"
		}
	}
	return strings.Join(tokens, ".")
}

func coveredBy(patterns []string, subject string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(strings.Split(p, "."), strings.Split(subject, ".")) })
}

// covers reports whether everything that a subject stands for, itself or as a wildcard, is part of what a pattern stands for.
func covers(pattern, subject []string) bool {
	for i, p := range pattern {
		if i >= len(subject) {
			return false
		}
		if p == ">" {
			return true
		}
		if subject[i] == ">" || p != "*" && p != subject[i] {
			return false
		}
	}
	return len(pattern) == len(subject)
}
