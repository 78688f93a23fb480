package forge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// No signature covers the headers: whoever has one signed delivery can send it again with others. So what they say must be
// said once, must agree, and must agree with what the signed bytes are.

// once refuses a header that is there twice: another program on the way may have read the other one.
func (r Request) once(name string) error {
	if n := len(r.Header.Values(name)); n > 1 {
		return fault.New(fault.Invalid, "cannot read the delivery: header %s is there %d times", name, n)
	}
	return nil
}

// agree refuses headers that name several events. Gitea and Forgejo name one by their own headers and by GitHub's.
func (r Request) agree() error {
	event := ""
	for _, name := range []string{"X-Gitea-Event", "X-Forgejo-Event", "X-GitHub-Event", "X-Gogs-Event", "X-Gitlab-Event"} {
		if err := r.once(name); err != nil {
			return err
		}
		said := r.Header.Get(name)
		if said != "" && event != "" && said != event {
			return fault.New(fault.Invalid, "cannot read the delivery: its headers name the events %q and %q", clip(event, 60), clip(said, 60))
		}
		event = firstOf(event, said)
	}
	return nil
}

// shaped refuses a body that is not of the event that the header names. The bodies of events differ in which objects they
// have; one that was signed as a comment must not be read as a push.
func (h hub) shaped(event string) error {
	has := map[string]bool{
		"after": h.After != "", "action": h.Action != "", "pull_request": h.Pull != nil, "issue": h.Issue != nil,
		"comment": h.Comment != nil, "ref": h.Ref != "", "review": h.Review != nil,
	}
	var foreign []string
	switch event {
	case "push":
		foreign = []string{"action", "pull_request", "issue", "comment", "review"}
	case "pull_request":
		foreign = []string{"ref", "issue", "comment", "review"}
	case "issue_comment":
		foreign = []string{"ref", "after", "review"}
	}
	if i := slices.IndexFunc(foreign, func(name string) bool { return has[name] }); i >= 0 {
		return fault.New(fault.Invalid, "cannot read the delivery as event %q: its body has %q, which that event does not have; "+
			"the header is not signed, and the body is of another event", event, foreign[i])
	}
	return nil
}

// maxUnique is how deep objects are looked at: nothing deeper is read.
const maxUnique = 5

// unique refuses JSON in which an object that is read says the same twice: of two readers each may take another one. Names
// that differ in case only are the same to Go.
func unique(payload []byte) error {
	s := scanner{text: payload}
	twice, ok := s.object(0)
	if ok && twice != "" {
		return fault.New(fault.Invalid, "cannot read the delivery: its JSON has the key %q twice in one object", clip(twice, 60))
	}
	return nil // what is no JSON at all is refused where it is read
}

// scanner finds the keys of JSON without keeping anything else of it.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) next(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// word reads a string, quotes included.
func (s *scanner) word() ([]byte, bool) {
	s.space()
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return nil, false
	}
	from := s.at
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.text[from:s.at], true
		}
	}
	return nil, false
}

// object reads an object and returns a key that it, or one within it, has twice.
func (s *scanner) object(depth int) (twice string, ok bool) {
	if !s.next('{') {
		return "", false
	}
	seen := map[string]bool{}
	for first := true; ; first = false {
		if s.next('}') {
			return "", true
		}
		if !first && !s.next(',') {
			return "", false
		}
		word, ok := s.word()
		if !ok || !s.next(':') {
			return "", false
		}
		if depth < maxUnique {
			key := folded(word)
			if seen[key] {
				return key, true
			}
			seen[key] = true
		}
		if twice, ok := s.value(depth + 1); !ok || twice != "" {
			return twice, ok
		}
	}
}

func folded(word []byte) string {
	var key string
	if json.Unmarshal(word, &key) != nil {
		key = string(word)
	}
	return strings.ToLower(strings.Map(fold, key))
}

// fold maps the two letters that are no ASCII and that Go takes for one when it compares without regard to case.
func fold(r rune) rune {
	switch r {
	case '\u017f':
		return 's'
	case '\u212a':
		return 'k'
	}
	return r
}

// value reads past a value. Depth is bounded by that of objects that are looked at: what is deeper is skipped by counting.
func (s *scanner) value(depth int) (twice string, ok bool) {
	s.space()
	if s.at >= len(s.text) {
		return "", false
	}
	switch c := s.text[s.at]; {
	case c == '{' && depth < maxUnique:
		return s.object(depth)
	case c == '{' || c == '[':
		return "", s.skip()
	case c == '"':
		_, ok := s.word()
		return "", ok
	}
	for s.at < len(s.text) && strings.IndexByte(",}] \t\r\n", s.text[s.at]) < 0 {
		s.at++
	}
	return "", true
}

// skip reads past an object or a list, whatever is in it.
func (s *scanner) skip() bool {
	for open := 0; s.at < len(s.text); {
		switch s.text[s.at] {
		case '"':
			if _, ok := s.word(); !ok {
				return false
			}
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		s.at++
		if open == 0 {
			return true
		}
	}
	return false
}
