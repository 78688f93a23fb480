package publisher

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// words are what options may use between braces, "{name}", filled in where it is published: what is the same for the whole
// run is filled in by the definition already, between double braces.
func (r Release) words(item *Item) map[string]string {
	w := map[string]string{}
	if item != nil {
		maps.Copy(w, item.Artifact.Matrix)
		w["name"] = bareName(item.Artifact.Name)
		w["type"] = item.Artifact.Type
		w["job"] = item.Artifact.Job
	}
	w["run"] = string(r.Run)
	w["project"] = r.Project
	w["commit"] = string(r.Commit)
	w["short_commit"] = r.Commit.Short()
	w["branch"] = r.Branch
	return w
}

// expand fills the words into an option's text. A word that is not known is an error: a tag "image-" would be worse.
func (r Release) expand(text string, item *Item) (string, error) {
	words := r.words(item)
	var out strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		word, next, closed := strings.Cut(after, "}")
		value, known := words[strings.TrimSpace(word)]
		if !closed || !known || value == "" && !emptied(item, strings.TrimSpace(word)) {
			return "", fault.New(fault.Invalid, "cannot fill in %q: {%s} has no value here; the words are %s",
				text, word, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		out.WriteString(value)
		rest = next
	}
}

// emptied reports whether a word is empty on purpose: a matrix says so.
func emptied(item *Item, word string) bool {
	if item == nil {
		return false
	}
	value, given := item.Artifact.Matrix[word]
	return given && value == ""
}

// bareName is a file name without what says how it is packed.
func bareName(name string) string {
	for _, ending := range []string{".tar.gz", ".tgz", ".oci.tar", ".tar", ".jar", ".whl", ".zip"} {
		if trimmed, ok := strings.CutSuffix(path.Base(name), ending); ok {
			return trimmed
		}
	}
	return path.Base(name)
}
