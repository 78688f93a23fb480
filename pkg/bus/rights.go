package bus

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluiceci/sluice/pkg/event"
)

// Duties are what an identity does on the bus, as the tables of its services say.
type Duties struct {
	Identity string // a token: "builder", "pool-linux"
	Durables map[string]string
	Says     []string     // subjects of facts and heartbeats
	Follows  []event.Type // read in their order; nil follows nothing
	All      bool         // follows every fact
	Listens  []string     // subjects heard as they come
	Reads    []string     // subjects of facts that are looked up
	Asks     []string     // topics
	Answers  []string     // topics
	LogsOf   string       // the pool whose logs it writes
	Apart    bool         // it runs where commands of strangers run, and has an account of its own
	ReadLogs bool
	Operates bool // sees the streams, reads and replays dead letters
	Declares bool // creates and changes streams and durable consumers; nobody else may
}

// Rights are what the server allows an identity. What is not allowed is denied.
type Rights struct {
	Identity  string   `json:"identity"`
	Account   string   `json:"account,omitempty"` // its own; empty for that of the streams
	Publish   []string `json:"publish"`
	Deny      []string `json:"deny,omitempty"` // of what Publish allows
	Subscribe []string `json:"subscribe"`
}

const (
	api   = "$JS.API."
	inbox = "_INBOX."
	probe = "sluice.probe" // nothing is stored there: whoever asks for it learns whether a stream exists
)

// RightsOf derives what the server has to allow each identity. An identity that follows facts may read through consumers
// with names of its own making; so the durable consumers of the others are denied to it by name.
func RightsOf(duties []Duties) []Rights {
	out := make([]Rights, 0, len(duties))
	for _, d := range duties {
		r := Rights{Identity: d.Identity, Subscribe: []string{inboxOf(d.Identity) + ".>"}}
		r.Publish = append(r.Publish, api+"INFO")
		for _, s := range []string{Facts, Fleet, Logs, Dead} {
			r.Publish = append(r.Publish, directGet(s, probe))
		}
		if d.Apart {
			r.Account = d.Identity
		}
		d.speak(&r)
		d.listen(&r)
		d.answer(&r, duties)
		if d.Operates {
			operate(&r)
		}
		if d.Declares {
			r.Publish = append(r.Publish, api+"STREAM.CREATE.*", api+"STREAM.UPDATE.*", api+"STREAM.INFO.*",
				api+"CONSUMER.CREATE."+Facts+".>", api+"CONSUMER.INFO."+Facts+".*")
		}
		if d.orders() {
			r.Deny = foreign(d, duties)
		}
		for _, list := range []*[]string{&r.Publish, &r.Deny, &r.Subscribe} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Rights) int { return cmp.Compare(a.Identity, b.Identity) })
	return out
}

// speak allows what the identity says, and to bury what it cannot read.
func (d Duties) speak(r *Rights) {
	if d.Declares {
		return
	}
	r.Publish = append(r.Publish, "sluice.dead."+d.Identity+".>")
	for _, s := range d.Says {
		r.Publish = append(r.Publish, s)
		if strings.HasPrefix(s, "sluice.fact.") {
			r.Publish = append(r.Publish, directGet(Facts, s)) // who holds the place
		}
	}
	if d.LogsOf != "" {
		r.Publish = append(r.Publish, "sluice.log."+d.LogsOf+".>")
	}
	for _, t := range d.Asks {
		r.Publish = append(r.Publish, askSubject(t))
	}
}

// listen allows what the identity hears.
func (d Duties) listen(r *Rights) {
	for name, filter := range d.Durables {
		r.Publish = append(r.Publish, api+"CONSUMER.MSG.NEXT."+Facts+"."+name, "$JS.ACK."+Facts+"."+name+".>", directGet(Facts, filter))
		r.Subscribe = append(r.Subscribe, replaySubject(name))
	}
	for _, s := range d.Reads {
		r.Publish = append(r.Publish, directGet(Facts, s))
	}
	for _, t := range d.Answers {
		r.Subscribe = append(r.Subscribe, askSubject(t))
	}
	r.Subscribe = append(r.Subscribe, d.Listens...)
	for _, s := range d.ordered() {
		r.Publish = append(r.Publish, api+"CONSUMER.CREATE."+s+".>", api+"CONSUMER.MSG.NEXT."+s+".*", api+"CONSUMER.INFO."+s+".*",
			api+"CONSUMER.DELETE."+s+".*", api+"STREAM.INFO."+s)
		if s == Facts {
			r.Publish = append(r.Publish, directGet(Facts, "sluice.fact.>"))
		}
	}
}

// answer allows to answer those who ask what the identity answers, or replay its dead letters, and nobody else.
func (d Duties) answer(r *Rights, all []Duties) {
	for _, o := range all {
		switch {
		case !d.answersTo(o):
		case d.Apart || o.Apart:
			r.Publish = append(r.Publish, responses+">")
		default:
			r.Publish = append(r.Publish, inboxOf(o.Identity)+".>")
		}
	}
}

func (d Duties) answersTo(o Duties) bool {
	return o.Operates && len(d.Durables) > 0 || slices.ContainsFunc(o.Asks, func(asked string) bool {
		return slices.ContainsFunc(d.Answers, func(answered string) bool { return server.SubjectsCollide(asked, answered) })
	})
}

// ordered are the streams that the identity reads in their order.
func (d Duties) ordered() []string {
	streams := map[string]bool{}
	if d.All {
		streams[Facts] = true
	}
	if d.ReadLogs {
		streams[Logs] = true
	}
	for _, t := range d.Follows {
		if t.Ephemeral() {
			streams[Fleet] = true
		} else {
			streams[Facts] = true
		}
	}
	return slices.Sorted(maps.Keys(streams))
}

func (d Duties) orders() bool { return len(d.ordered()) > 0 }

// foreign denies the durable consumers of others.
func foreign(d Duties, duties []Duties) []string {
	var out []string
	for _, other := range duties {
		if other.Identity == d.Identity {
			continue
		}
		for name := range other.Durables {
			if _, shared := d.Durables[name]; !shared {
				out = append(out, api+"CONSUMER.*."+Facts+"."+name, api+"CONSUMER.*."+Facts+"."+name+".>", api+"CONSUMER.MSG.NEXT."+Facts+"."+name)
			}
		}
	}
	return out
}

// operate allows to look at the streams and to replay dead letters.
func operate(r *Rights) {
	r.Publish = append(r.Publish, "sluice.replay.*", api+"STREAM.MSG.DELETE."+Dead, api+"DIRECT.GET."+Dead)
	for _, s := range []string{Facts, Fleet, Logs, Dead} {
		r.Publish = append(r.Publish, api+"STREAM.INFO."+s, api+"CONSUMER.LIST."+s)
	}
}

func directGet(stream, subject string) string { return api + "DIRECT.GET." + stream + "." + subject }

func inboxOf(identity string) string { return inbox + identity }
