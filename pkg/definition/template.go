package definition

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// template is a text with {{ name }} places. Nothing is executed: a name is looked up, and its value put in.
type template struct {
	at    Pos
	parts []part
}

// part is literal text, or the name to look up, or both: the text goes first. Its place is only looked for when
// there is something to say of it.
type part struct {
	text string
	name string
	mark string // "{{ name }}" as written
	of   Pos    // where the scalar starts
}

func (s *source) place(p part) Pos { return s.find(p.of, p.mark) }

const (
	openMark, closeMark = "{{", "}}"
	literalHint         = `to write {{ itself: {{ "{{" }}`
)

// parseTemplate splits a text at its marks; a mark that is not closed is a problem.
func parseTemplate(s *source, t Text) *template {
	out := &template{at: t.At}
	rest := t.Value
	for {
		before, after, found := strings.Cut(rest, openMark)
		if !found {
			out.parts = append(out.parts, part{text: rest})
			return out
		}
		inside, next, closed := cutMark(after)
		if !closed {
			line, _, _ := strings.Cut(after, "\n")
			s.fail(s.find(t.At, openMark+line), literalHint, "{{ is not closed by }}")
			return out
		}
		name := strings.TrimSpace(inside)
		if quoted, ok := strings.CutPrefix(name, `"`); ok {
			out.parts = append(out.parts, part{text: before + strings.TrimSuffix(quoted, `"`)})
		} else {
			out.parts = append(out.parts, part{text: before, name: name, mark: openMark + inside + closeMark, of: t.At})
		}
		rest = next
	}
}

// cutMark finds the end of a mark, which may hold a quoted {{ or }}.
func cutMark(after string) (inside, next string, closed bool) {
	trimmed := strings.TrimLeft(after, " ")
	if strings.HasPrefix(trimmed, `"`) {
		if end := strings.Index(trimmed[1:], `"`); end >= 0 {
			rest := strings.TrimLeft(trimmed[end+2:], " ")
			if next, ok := strings.CutPrefix(rest, closeMark); ok {
				return after[:len(after)-len(next)-len(closeMark)], next, true
			}
		}
	}
	return strings.Cut(after, closeMark)
}

// bind replaces the names that lookup knows by their values; what remains is looked up for each task.
func (t *template) bind(lookup func(p part) (string, bool)) *template {
	out := &template{at: t.at}
	var text strings.Builder
	for _, p := range t.parts {
		text.WriteString(p.text)
		if p.name == "" {
			continue
		}
		if value, ok := lookup(p); ok {
			text.WriteString(value)
			continue
		}
		out.parts = append(out.parts, part{text: text.String(), name: p.name, mark: p.mark, of: p.of})
		text.Reset()
	}
	out.parts = append(out.parts, part{text: text.String()})
	return out
}

// render puts a task's values in.
func (t *template) render(lookup func(p part) string) string {
	if len(t.parts) == 1 && t.parts[0].name == "" {
		return t.parts[0].text
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.name != "" {
			b.WriteString(lookup(p))
		}
	}
	return b.String()
}

// changeText is what templates read of a change, by the name after "change.". The title and the author are left out:
// they are free text of a stranger. The short forms commit, short_commit and branch mean the same.
func changeText(c release.Change) map[string]string {
	return map[string]string{
		"kind": string(c.Kind), "repo": c.Repo, "ref": c.Ref, "branch": c.Branch, "tag": tagOf(c),
		"commit": string(c.Commit), "short_commit": c.Commit.Short(), "number": number(c.Number),
	}
}

func changeNames() []string { return keysOf(changeText(release.Change{})) }

func number(n int32) string {
	if n == 0 {
		return ""
	}
	return formatInt(n)
}

// shortForms are the names that stand for others. A matrix key cannot be one of them.
func shortForms() map[string]string {
	return map[string]string{
		"commit": "change.commit", "short_commit": "change.short_commit", "branch": "change.branch",
	}
}

// reservedNames cannot be keys of a matrix: conditions and templates read something else by them.
func reservedNames() []string {
	return append([]string{"matrix", "settings", "change", "env", "environment", "project", "include", "exclude"},
		keysOf(shortForms())...)
}

func containsMark(s string) bool { return strings.Contains(s, openMark) }
