package forge

import (
	"net/http"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Request is a delivery as it came.
type Request struct {
	Header  http.Header
	Body    []byte
	Secrets []string  // any of them may have made the signature; none: the delivery is not checked
	Now     time.Time // signatures with a time must be near it
}

// Parsed is what a delivery says: a change, a comment, or why it is neither.
type Parsed struct {
	Change   release.Change
	Comment  *Comment // nil when it is a change
	Ignored  string   // the reason, empty when there is a change or a comment
	Closed   bool     // the change is a pull request that was closed or merged; Ignored says which
	Reopened bool     // the change is a pull request that had been closed
	Event    string   // the forge's name for it: "push", "Merge Request Hook"
	Repo     string   // "owner/name", also of an ignored delivery
	Delivery string   // the forge's id of it
	Verified string   // "signature", "token", or "" for a delivery that was not checked
	Secret   int      // index of the secret that matched, -1 when none was given
}

// Forge is one kind of forge: how its deliveries are signed and what they mean.
type Forge struct {
	Name     string
	events   []string // headers that name the event; the first one is what its documentation says
	delivery []string // headers that name the delivery
	signed   []string // headers that sign the body
	verify   func(Request) (proof, error)
	read     func(event string, payload []byte) (announcement, error)
}

// Forges is the table of forges. Gitea comes first: its deliveries carry the headers of GitHub's as well.
func Forges() []Forge {
	return []Forge{
		{"gitea", []string{"X-Gitea-Event", "X-Forgejo-Event"}, []string{"X-Gitea-Delivery", "X-Forgejo-Delivery"}, []string{"X-Gitea-Signature", "X-Forgejo-Signature", "X-Hub-Signature-256"}, verifyGitea, readHub},
		{"gitlab", []string{"X-Gitlab-Event"}, []string{"Idempotency-Key", "X-Gitlab-Event-UUID", "webhook-id"}, []string{"webhook-signature"}, verifyGitLab, readLab},
		{"github", []string{"X-GitHub-Event"}, []string{"X-GitHub-Delivery"}, []string{"X-Hub-Signature-256"}, verifyGitHub, readHub},
	}
}

// announcement is what the body of a delivery says.
type announcement struct {
	repo    string
	ignored string
	change  release.Change
	closed  bool // see Parsed
	opened  bool // once more
	comment *Comment
}

func ignore(repo, reason string) (announcement, error) {
	return announcement{repo: repo, ignored: reason}, nil
}

// Detect tells by its headers which forge sent a delivery, or "".
func Detect(h http.Header) string {
	for _, f := range Forges() {
		if first(h, f.events) != "" {
			return f.Name
		}
	}
	return ""
}

// Parse checks and reads a delivery of the named forge. An error is Denied when the signature is missing or wrong, and
// Invalid when the body is not what the forge sends; both say what was found.
func Parse(name string, r Request) (Parsed, error) {
	f, err := find(name)
	if err != nil {
		return Parsed{}, err
	}
	if sender := Detect(r.Header); sender != name {
		return Parsed{}, notFrom(f, sender)
	}
	if err := r.agree(); err != nil {
		return Parsed{}, err
	}
	proof, err := f.verify(r)
	if err != nil {
		return Parsed{}, err
	}
	if err := unique(proof.payload); err != nil {
		return Parsed{}, err
	}
	event, delivery := first(r.Header, f.events), first(r.Header, f.delivery)
	said, err := f.read(event, proof.payload)
	if err != nil {
		return Parsed{}, err
	}
	p := Parsed{
		Change: said.change, Comment: said.comment, Ignored: said.ignored, Event: event, Repo: said.repo, Delivery: clip(delivery, 100),
		Verified: proof.verified, Secret: proof.secret, Closed: said.closed, Reopened: said.opened,
	}
	if p.Ignored == "" && p.Comment == nil {
		p.Change.Forge, p.Change.Delivery, p.Change.Verified = name, p.Delivery, p.Verified
		err = fault.As(fault.Invalid, p.Change.Validate())
	}
	return p, err
}

func find(name string) (Forge, error) {
	var names []string
	for _, f := range Forges() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Forge{}, fault.New(fault.Invalid, "cannot use forge %q: expected one of %s", name, strings.Join(names, ", "))
}

func notFrom(f Forge, sender string) error {
	if sender == "" {
		return fault.New(fault.Invalid, "cannot read the delivery: found no header %s, which names the event; is the webhook of kind %s?",
			f.events[0], f.Name)
	}
	return fault.New(fault.Invalid, "cannot read the delivery as one of %s: its headers are those of %s; send it to /hooks/%s", f.Name, sender, sender)
}

func first(h http.Header, names []string) string {
	for _, name := range names {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// clip makes one short line of a text that somebody else wrote.
func clip(s string, limit int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return line
}
