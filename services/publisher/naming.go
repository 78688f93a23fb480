package publisher

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/images"
	"github.com/sluiceci/sluice/pkg/fault"
)

// naming names images as a project's own release process does, where that is more than a template of tags can say.
type naming struct {
	name string
	doc  string
	tags func(Release, Item) (tags, moving []string, err error)
}

// namings is the table of all.
func namings() []naming {
	return []naming{{name: "ray", doc: "the tag sets of Ray, by the matrix keys kind, python, base and arch", tags: rayTags}}
}

func namingOf(name string) (naming, bool) {
	i := slices.IndexFunc(namings(), func(n naming) bool { return n.name == name })
	if i < 0 {
		return naming{}, false
	}
	return namings()[i], true
}

func namingNames() []string {
	var names []string
	for _, r := range namings() {
		names = append(names, r.name)
	}
	return names
}

func namingDocs() string {
	var docs []string
	for _, r := range namings() {
		docs = append(docs, r.name+" ("+r.doc+")")
	}
	return strings.Join(docs, "; ")
}

// rayTags are the tags of one image of Ray's matrix: of a release branch, of master's nightly, or of a commit. A run is the
// nightly when its parameter frequency says so, whoever started it. Only the nightly of master has tags that move.
func rayTags(r Release, item Item) (tags, moving []string, err error) {
	m := item.Artifact.Matrix
	build := images.Build{Commit: string(r.Commit), Branch: r.Branch}
	if r.Change.Parameters["frequency"] == "nightly" {
		if r.Change.At.IsZero() {
			return nil, nil, fault.New(fault.Invalid, "cannot name a nightly image of %q: its change has no date", item.Artifact.Name)
		}
		build.Nightly = r.Change.At.UTC().Format("060102")
	}
	tags, err = images.Release2024().Tags(images.Image{Type: m["kind"], Python: m["python"], Platform: m["base"], Arch: m["arch"]}, build)
	for _, tag := range tags {
		if tag == "nightly" || strings.HasPrefix(tag, "nightly-") {
			moving = append(moving, tag)
		}
	}
	return tags, moving, err
}
