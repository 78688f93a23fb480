package bus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A server checks the subject of a message, but not its reply subject. So whoever shares an account with others can let the
// server itself write at any subject there. An identity that is Apart has an account of its own instead. What it may say and
// hear crosses to the account of the streams, subject by subject; a reply subject that it names means its own account only.

// account holds the streams, and separates Sluice from whatever else uses the servers.
const account = "SLUICE"

// responses is where the server lets those of another account be answered. Its names are random and of one answer each.
const responses = "_R_."

// wire is one subject that crosses between accounts.
type wire struct {
	kind    string   // "service": requests, and what is stored; "stream": what is heard as it comes
	subject string   //
	others  []string // accounts at the other end
}

// home is the account of the identity.
func (r Rights) home() string { return orDefault(r.Account, account) }

// crossing are the subjects that cross between the account of the streams and that of the identity: what it asks of the
// streams' account, what it hears of it, and what it answers to it.
func (r Rights) crossing() (asks, hears, answers []string) {
	for _, s := range r.Publish {
		if !strings.HasPrefix(s, responses) {
			asks = append(asks, s)
		}
	}
	for _, s := range r.Subscribe {
		switch {
		case strings.HasPrefix(s, inbox):
		case strings.HasPrefix(s, replaySubject("")), strings.HasPrefix(s, askSubject("")):
			answers = append(answers, s)
		default:
			hears = append(hears, s)
		}
	}
	return asks, hears, answers
}

// gates are the subjects that an account gives to others, and takes of them.
type gates struct {
	users   []Identity
	exports []wire
	imports []wire
}

// accountsOf sorts identities into accounts, and derives what crosses between those.
func accountsOf(list []Identity) map[string]*gates {
	all := map[string]*gates{account: {}}
	for _, i := range list {
		home := i.Rights.home()
		g := all[home]
		if g == nil {
			g = &gates{}
			all[home] = g
		}
		if g.users = append(g.users, i); home == account || len(g.users) > 1 { // during a rotation an identity has two keys
			continue
		}
		asks, hears, answers := i.Rights.crossing()
		for _, s := range asks {
			all[account].export(g, wire{"service", s, []string{home}}, account)
		}
		for _, s := range hears {
			all[account].export(g, wire{"stream", s, []string{home}}, account)
		}
		for _, s := range answers {
			g.export(all[account], wire{"service", s, []string{account}}, home)
		}
	}
	return all
}

// export gives what a wire carries to another account. What several get is one export.
func (g *gates) export(to *gates, w wire, from string) {
	to.imports = append(to.imports, wire{w.kind, w.subject, []string{from}})
	for i, known := range g.exports {
		if known.kind == w.kind && known.subject == w.subject {
			g.exports[i].others = append(known.others, w.others...)
			return
		}
	}
	g.exports = append(g.exports, w)
}

// accountsConf writes the accounts in the server's own format.
func accountsConf(b *strings.Builder, list []Identity) {
	b.WriteString("accounts {\n")
	all := accountsOf(list)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(b, "  %s {\n", quote(name))
		if name == account {
			b.WriteString("    jetstream: enabled\n")
		}
		all[name].conf(b)
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
}

func (g *gates) conf(b *strings.Builder) {
	b.WriteString("    users: [\n")
	for _, i := range g.users {
		i.conf(b)
	}
	b.WriteString("    ]\n    exports: [\n")
	for _, w := range g.exports {
		fmt.Fprintf(b, "      {%s: %s, accounts: [%s]}\n", w.kind, quote(w.subject), quotes(w.others))
	}
	b.WriteString("    ]\n    imports: [\n")
	for _, w := range g.imports {
		fmt.Fprintf(b, "      {%s: {account: %s, subject: %s}}\n", w.kind, quotes(w.others), quote(w.subject))
	}
	b.WriteString("    ]\n")
}

func quotes(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return strings.Join(out, ", ")
}
