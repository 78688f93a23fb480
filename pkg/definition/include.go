package definition

import (
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Include names further files of a definition: a path of the repository, a path of another repository at a commit, or
// files of another system and the dialect that reads them.
type Include struct {
	At     Pos
	Path   Text `key:"path" doc:"File of the repository, or a glob of files." example:"ci/*.yaml"`
	Repo   Text `key:"repo" doc:"URL of another repository. Which may be included is for the installation to say." example:"https://git.test/acme/ci"`
	Commit Text `key:"at" doc:"The commit there, of 40 or 64 hexadecimal digits." example:"4f2a9c1d0123456789abcdef0123456789abcdef"`

	dialect string
	dialectInclude
}

// dialectInclude is what an include of a dialect says, beside the name of the dialect and its files.
type dialectInclude struct {
	Name    Text      `key:"name" doc:"What the tests are called together: in gate.require, changed and --select." default:"the dialect's name" example:"release-tests"`
	Options Map[Text] `key:"options" doc:"Options of the dialect." example:"{frequency: nightly}"`
	Files   Texts
	change  Job // needs, if, unless …
}

// includable lists the keys of a job that hold for every task of an include.
func includable() []key {
	names := []string{"needs", "if", "unless", "env", "secrets", "tags", "environment"}
	return slices.DeleteFunc(keysOfType(reflect.TypeFor[Job]()), func(k key) bool { return !slices.Contains(names, k.name) })
}

func (v *Include) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	if _, scalar := scalarText(n); scalar {
		v.Path.decode(d, n)
		return
	}
	found, ok := d.entries(n, "a path, or a map with path, repo and at, or with a dialect")
	if !ok {
		return
	}
	for i, e := range found {
		if slices.Contains(d.options.dialects(), e.name) {
			v.dialect = e.name
			d.into(e.value, &v.Files)
			v.tail(d, n, slices.Delete(slices.Clone(found), i, i+1))
			return
		}
	}
	keys := keysOfType(reflect.TypeFor[Include]())
	for _, name := range d.options.dialects() {
		keys = append(keys, key{name: name}) // for the list of what could be meant
	}
	d.fields(n, found, keys, reflect.ValueOf(v).Elem())
	v.check(d, n)
}

// tail reads the keys of an include beside its dialect.
func (v *Include) tail(d *decoder, n ast.Node, found []entry) {
	var rest []entry
	for _, e := range found {
		switch e.name {
		case "name":
			d.into(e.value, &v.Name)
		case "options":
			d.into(e.value, &v.Options)
		default:
			rest = append(rest, e)
		}
	}
	d.fields(n, rest, append(includable(), key{name: "name"}, key{name: "options"}), reflect.ValueOf(&v.change).Elem())
	v.change.At = v.At
	if len(v.Files) == 0 && !d.full() {
		d.fail(n, "", "an include of %s names no file", v.dialect)
	}
}

// lift takes include out of a map of jobs. It is no job: below tests it means what it means at the top, so that both those
// who think of a file and those who think of its tests find it where they look.
func (d *decoder) lift(found []entry) []entry {
	allowed := d.include
	d.include = ""
	i := slices.IndexFunc(found, func(e entry) bool { return e.name == "include" })
	if allowed == "" || i < 0 {
		return found
	}
	e := found[i]
	value, ok := d.enter(e.value)
	if !ok {
		return slices.Delete(found, i, i+1)
	}
	d.depth--
	switch _, list := value.(*ast.SequenceNode); {
	case allowed == "no":
		d.source.fail(e.at, "write it at the top, or below tests", "include is no name of a job, and builds include nothing")
	case !list:
		d.source.fail(e.at, "for example include: [ci/tests.yaml]", "include is no name of a job: expected a list of files to include, found %s", describe(value))
	default:
		var more List[Include]
		d.into(e.value, &more)
		d.lifted = append(d.lifted, more...)
	}
	return slices.Delete(found, i, i+1)
}

func (v *Include) check(d *decoder, n ast.Node) {
	switch {
	case d.full():
	case v.Path.Value == "":
		d.fail(n, "for example path: ci/jobs.yaml", "an include names no path")
	case v.Repo.Value != "" && !release.Commit(v.Commit.Value).Valid():
		d.fail(n, "a branch can change between one plan and the next; name the commit", "expected at: with a commit of 40 hexadecimal digits, found %q", shorten(printable(v.Commit.Value), 60))
	case v.Repo.Value == "" && v.Commit.At.Line > 0:
		d.fail(n, "", "at names a commit of another repository, but there is no repo")
	}
}

func (*Include) shape() shape {
	return shape{name: "path, or map", of: reflect.TypeFor[Include](), schema: schemaNode{"anyOf": []schemaNode{
		{"type": "string"}, {"type": "object"},
	}}}
}
