package definition

import (
	"slices"
	"strings"
)

// The text of a command is the definition's own, and nobody else's. A value that somebody else can choose, in a comment, in
// the name of a branch, with --set, reaches a command as an environment variable: spliced into the text, $(reboot) would run.

// commands refuses the templates of commands that splice a foreign value into their text. Whose variables the commands see
// stands in the hint.
func (c *checker) commands(texts []Text, m *Matrix, whose string) {
	for _, t := range texts {
		if !containsMark(t.Value) {
			continue
		}
		s := &source{text: c.text} // what is wrong with the marks themselves was told by template
		for _, p := range parseTemplate(s, t).parts {
			if hint := foreign(p.name, m, whose); hint != "" && !c.full() {
				c.fail(c.place(p), hint, "{{ %s }} would become text of the command, and %s", shorten(printable(p.name), 60), chosenBy(p.name))
			}
		}
	}
}

// foreign tells what to write instead of a name whose value others than the definition's author can choose; "" when none
// can. A commit, a number and a kind have shapes that mean nothing to a shell.
func foreign(name string, m *Matrix, whose string) string {
	short := strings.TrimPrefix(name, "matrix.")
	if slices.ContainsFunc(m.Axes, func(a Axis) bool { return a.Name == short && strings.HasPrefix(a.Ref, "settings.") }) {
		return `write "$SLUICE_MATRIX_` + variableOf(short) + `" in the command`
	}
	if !strings.HasPrefix(name, "settings.") && !slices.Contains(foreignNames(), name) && !strings.HasPrefix(name, "change.parameters.") {
		return ""
	}
	if name == "branch" || name == "change.branch" {
		return `write "$SLUICE_BRANCH" in the command`
	}
	variable := strings.Trim(variableOf(name), "_")
	return `add env: {` + variable + `: "{{ ` + shorten(printable(name), 60) + ` }}"} to ` + whose + `, and write "$` + variable + `" in the command`
}

func foreignNames() []string {
	return []string{"branch", "change.branch", "change.ref", "change.repo", "change.tag"}
}

func chosenBy(name string) string {
	switch {
	case strings.HasPrefix(name, "change.parameters."):
		return "who starts a run chooses it"
	case strings.HasPrefix(name, "change."), name == "branch":
		return "who makes a change chooses it"
	}
	return "presets, --set and comments choose it"
}

// variableOf is a name as that of an environment variable: SETTINGS_GPU of settings.gpu.
func variableOf(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}
