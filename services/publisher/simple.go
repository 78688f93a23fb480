package publisher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxIndexPage bounds the page of one project: a hundred thousand files.
const maxIndexPage = 64 << 20

// simplePage is one project's page of a simple index, the same for PEP 503 (HTML) and PEP 691 (JSON).
type simplePage struct {
	Meta     simpleMeta   `json:"meta"`
	Name     string       `json:"name"`
	Versions []string     `json:"versions,omitempty"`
	Files    []simpleFile `json:"files"`
}

type simpleMeta struct {
	APIVersion string `json:"api-version"`
}

type simpleFile struct {
	Filename       string            `json:"filename"`
	URL            string            `json:"url"`
	Hashes         map[string]string `json:"hashes"`
	RequiresPython string            `json:"requires-python,omitempty"`
	Size           int64             `json:"size,omitempty"`
	UploadTime     string            `json:"upload-time,omitempty"`
	CoreMetadata   any               `json:"core-metadata,omitempty"` // false, true or {"sha256": hex}
	Yanked         any               `json:"yanked,omitempty"`        // false, true or a reason
}

func (f simpleFile) digest() release.Digest { return release.Digest("sha256:" + f.Hashes["sha256"]) }

func (p simplePage) find(name string) (simpleFile, bool) {
	for _, f := range p.Files {
		if f.Filename == name {
			return f, true
		}
	}
	return simpleFile{}, false
}

// holds reports whether an artifact is listed with its digest; listed with another is a conflict.
func (p simplePage) holds(where string, a release.Artifact) (bool, error) {
	f, listed := p.find(a.Name)
	switch {
	case !listed:
		return false, nil
	case f.digest() == a.Digest:
		return true, nil
	case f.Hashes["sha256"] == "":
		return false, fault.New(fault.Conflict, "cannot publish %q: %s lists it without a sha256, so nobody can tell whether it is %s", a.Name, where, a.Digest)
	default:
		return false, taken(a.Name, where, f.digest(), a.Digest)
	}
}

// taken is the hard stop of every kind: the name is there with other bytes.
func taken(name, where string, there, ours release.Digest) error {
	return fault.New(fault.Conflict, "cannot publish %q: %s has it already with digest %s, this candidate has %s; nothing was replaced, a person must decide",
		name, where, there, ours)
}

// add lists a file unless its name is listed; the pages' order is by file name.
func (p *simplePage) add(f simpleFile, version string) {
	if _, listed := p.find(f.Filename); listed {
		return
	}
	p.Files = append(p.Files, f)
	slices.SortFunc(p.Files, func(a, b simpleFile) int { return strings.Compare(a.Filename, b.Filename) })
	if !slices.Contains(p.Versions, version) {
		p.Versions = append(p.Versions, version)
		slices.Sort(p.Versions)
	}
}

// parseSimpleJSON reads a PEP 691 page.
func parseSimpleJSON(b []byte) (simplePage, error) {
	var p simplePage
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fault.New(fault.Invalid, "cannot read a simple index page as JSON: %w", err)
	}
	if !strings.HasPrefix(p.Meta.APIVersion, "1.") {
		return p, fault.New(fault.Invalid, "cannot read a simple index page: its api-version is %q, expected 1.x", p.Meta.APIVersion)
	}
	return p, nil
}

// parseSimpleHTML reads a PEP 503 page: every anchor is a file, named by its text.
func parseSimpleHTML(b []byte) (simplePage, error) {
	var p simplePage
	for tokens := html.NewTokenizer(bytes.NewReader(b)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return p, nil // the end; HTML has no syntax errors
		case html.StartTagToken:
			token := tokens.Token()
			if token.Data != "a" {
				continue
			}
			if f, ok := simpleAnchor(token); ok {
				p.Files = append(p.Files, f)
			}
		}
	}
}

func simpleAnchor(token html.Token) (simpleFile, bool) {
	f := simpleFile{Hashes: map[string]string{}}
	for _, attr := range token.Attr {
		switch attr.Key {
		case "href":
			u, err := url.Parse(strings.TrimSpace(attr.Val))
			if err != nil {
				return f, false
			}
			if algorithm, sum, ok := strings.Cut(u.Fragment, "="); ok {
				f.Hashes[algorithm] = strings.ToLower(sum)
			}
			u.Fragment, u.RawFragment = "", ""
			f.URL, f.Filename = u.String(), path.Base(u.Path)
		case "data-requires-python":
			f.RequiresPython = attr.Val
		case "data-core-metadata", "data-dist-info-metadata":
			if sum, ok := strings.CutPrefix(attr.Val, "sha256="); ok {
				f.CoreMetadata = map[string]any{"sha256": sum}
			}
		case "data-yanked":
			f.Yanked = attr.Val
		}
	}
	return f, f.URL != ""
}

// json writes the page as PEP 691 has it.
func (p simplePage) json() ([]byte, error) {
	p.Meta.APIVersion = "1.1"
	b, err := json.MarshalIndent(p, "", " ")
	return append(b, '\n'), err
}

// html writes the page as PEP 503 has it.
func (p simplePage) html() ([]byte, error) {
	var b bytes.Buffer
	err := projectTemplate().Execute(&b, p)
	return b.Bytes(), err
}

// Link is the address with the digest that pip checks.
func (f simpleFile) Link() template.URL {
	return template.URL(f.URL + "#sha256=" + f.Hashes["sha256"]) //nolint:gosec // made by this package, escaped by url.PathEscape
}

// MetadataDigest is PEP 658's attribute.
func (f simpleFile) MetadataDigest() string {
	if m, ok := f.CoreMetadata.(map[string]any); ok {
		return fmt.Sprintf("sha256=%v", m["sha256"])
	}
	return ""
}

// YankedReason is PEP 592's attribute; it is there for every yanked file, reason or not.
func (f simpleFile) YankedReason() *string {
	switch y := f.Yanked.(type) {
	case string:
		return &y
	case bool:
		if y {
			return new(string)
		}
	}
	return nil
}

func projectTemplate() *template.Template {
	return template.Must(template.New("project").Parse(`<!DOCTYPE html>
<html><head><meta name="pypi:repository-version" content="1.1"><title>Links for {{.Name}}</title></head>
<body><h1>Links for {{.Name}}</h1>
{{range .Files}}<a href="{{.Link}}"{{with .RequiresPython}} data-requires-python="{{.}}"{{end}}{{with .MetadataDigest}} data-dist-info-metadata="{{.}}" data-core-metadata="{{.}}"{{end}}{{with .YankedReason}} data-yanked="{{.}}"{{end}}>{{.Filename}}</a><br>
{{end}}</body></html>
`))
}

// simpleRoot is the list of projects.
type simpleRoot struct {
	Meta     simpleMeta      `json:"meta"`
	Projects []simpleProject `json:"projects"`
}

type simpleProject struct {
	Name string `json:"name"`
}

func (r *simpleRoot) add(name string) {
	if !slices.Contains(r.Projects, simpleProject{name}) {
		r.Projects = append(r.Projects, simpleProject{name})
		slices.SortFunc(r.Projects, func(a, b simpleProject) int { return strings.Compare(a.Name, b.Name) })
	}
}

func (r simpleRoot) json() ([]byte, error) {
	r.Meta.APIVersion = "1.1"
	b, err := json.MarshalIndent(r, "", " ")
	return append(b, '\n'), err
}

func (r simpleRoot) html() ([]byte, error) {
	var b bytes.Buffer
	err := template.Must(template.New("root").Parse(`<!DOCTYPE html>
<html><head><meta name="pypi:repository-version" content="1.1"><title>Simple index</title></head>
<body>
{{range .Projects}}<a href="{{.Name}}/">{{.Name}}</a><br>
{{end}}</body></html>
`)).Execute(&b, r)
	return b.Bytes(), err
}
