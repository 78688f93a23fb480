package publisher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func pypiIndexKind() Kind {
	return Kind{
		Name:   "pypi-index",
		Doc:    "Python wheels and source distributions in a static simple index (PEP 503 HTML, PEP 691 JSON, PEP 658 metadata) in a directory that any web server can serve.",
		Rank:   0,
		Undoes: true,
		Staged: "The files lie under `files/` by their digest; no page names them.",
		Committed: "`simple/PROJECT/index.html` and `index.json` name the files; each page is replaced in one rename. " +
			"`sluice undo` takes the files out of both pages; who installed them in between has them.",
		HardStop: "The index lists the same file name with another digest. Raise the version and release again; or, if nobody has installed the listed file, " +
			"remove its entry from both pages and retry.",
		Options: []Option{
			{Name: "directory", Doc: "the index's directory; pip's --index-url is this directory's simple/ as served", Required: true, Place: true},
		},
		New: newPypiIndex,
	}
}

// pypiIndex is a simple index in a directory. Files are stored by their digest, so that a staged file never stands in
// the way of another of the same name; what a name means is decided by the pages alone.
type pypiIndex struct {
	folder *folder
	temp   string
	now    func() time.Time
}

func newPypiIndex(setup Setup) (Target, error) {
	folder, err := newFolder(setup, "directory")
	if err != nil {
		return nil, err
	}
	return &pypiIndex{folder: folder, temp: setup.Temp, now: setup.Now}, nil
}

func (t *pypiIndex) Probe(_ context.Context, r Release) (Probe, error) {
	var probe Probe
	err := t.each(r, func(project string, items []Item) error {
		page, err := t.page(project)
		if err != nil {
			return err
		}
		for _, item := range items {
			there, err := page.holds("the index in "+t.folder.path, item.Artifact)
			if err != nil {
				return err
			}
			probe.add(item.Artifact.Name, item.Artifact.Digest, path.Join(t.folder.path, pagePath(project, "")), there)
		}
		return nil
	})
	return probe, err
}

// each calls fn for the projects of a release in order.
func (t *pypiIndex) each(r Release, fn func(project string, items []Item) error) error {
	byProject, err := distributions(r.Items)
	if err != nil {
		return err
	}
	for _, project := range slices.Sorted(maps.Keys(byProject)) {
		if err := fn(project, byProject[project]); err != nil {
			return err
		}
	}
	return nil
}

func (t *pypiIndex) page(project string) (simplePage, error) {
	b, err := t.folder.read(pagePath(project, "index.json"), maxIndexPage)
	if errors.Is(err, fs.ErrNotExist) {
		return simplePage{Name: project, Files: []simpleFile{}}, nil
	}
	if err != nil {
		return simplePage{}, err
	}
	return parseSimpleJSON(b)
}

func pagePath(project, name string) string { return path.Join("simple", project, name) }

// filePath is where a file's bytes lie.
func filePath(a release.Artifact) string {
	hex := a.Digest.Hex()
	return path.Join("files", hex[:2], hex[2:], a.Name)
}

func (t *pypiIndex) Stage(ctx context.Context, r Release) error {
	if _, err := t.Probe(ctx, r); err != nil {
		return err
	}
	for _, item := range r.Items {
		if err := t.stage(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

// stage writes the metadata last: where they are, the file was whole. It is hashed again all the same: what lies staged may
// have been damaged since, and is visible next.
func (t *pypiIndex) stage(ctx context.Context, item Item) error {
	name := filePath(item.Artifact)
	if whole, err := t.whole(name, item.Artifact); err != nil || whole {
		return err
	}
	d, err := parseDistribution(item.Artifact.Name)
	if err != nil {
		return err
	}
	return spooled(ctx, t.temp, item, func(file *os.File, size int64) error {
		text, err := readMetadata(d, file, size)
		if err != nil {
			return err
		}
		if _, err := file.Seek(0, 0); err != nil {
			return diskFault("rewind", file.Name(), err)
		}
		if err := t.folder.write(name, file); err != nil {
			return err
		}
		return t.folder.write(name+".metadata", bytes.NewReader(text))
	})
}

func (t *pypiIndex) whole(name string, a release.Artifact) (bool, error) {
	if staged, err := t.folder.has(name + ".metadata"); err != nil || !staged {
		return false, err
	}
	got, err := t.folder.digest(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return got == a.Digest, err
}

func (t *pypiIndex) Commit(ctx context.Context, r Release) error {
	if err := t.Stage(ctx, r); err != nil {
		return err
	}
	unlock, err := t.folder.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// Every page is looked at before the first is changed.
	if _, err := t.Probe(ctx, r); err != nil {
		return err
	}
	return t.each(r, t.commitProject)
}

func (t *pypiIndex) commitProject(project string, items []Item) error {
	page, err := t.page(project)
	if err != nil {
		return err
	}
	for _, item := range items {
		entry, version, err := t.entry(item)
		if err != nil {
			return err
		}
		page.add(entry, version)
	}
	if err := t.publish(pagePath(project, ""), page); err != nil {
		return err
	}
	return t.listProject(project)
}

// entry is what the page says of a staged file.
func (t *pypiIndex) entry(item Item) (simpleFile, string, error) {
	d, err := parseDistribution(item.Artifact.Name)
	if err != nil {
		return simpleFile{}, "", err
	}
	name := filePath(item.Artifact)
	text, err := t.folder.read(name+".metadata", maxMetadata)
	if err != nil {
		return simpleFile{}, "", err
	}
	f := simpleFile{
		Filename: d.File, URL: "../../" + path.Dir(name) + "/" + url.PathEscape(d.File), Size: item.Artifact.Size,
		Hashes: map[string]string{"sha256": item.Artifact.Digest.Hex()}, RequiresPython: parseMetadata(text).get("Requires-Python"),
		UploadTime: t.now().UTC().Format("2006-01-02T15:04:05.000000Z"),
	}
	if d.FileType == "bdist_wheel" {
		f.CoreMetadata = map[string]any{"sha256": release.DigestOf(text).Hex()}
	}
	return f, d.Version, nil
}

type rendered interface {
	json() ([]byte, error)
	html() ([]byte, error)
}

// publish replaces a page's two forms where they differ. JSON goes first: it is what the next publisher reads, so a
// crash between the two is repaired by the next attempt.
func (t *pypiIndex) publish(dir string, page rendered) error {
	asJSON, err := page.json()
	if err != nil {
		return fault.New(fault.Internal, "cannot write page %s: %w", dir, err)
	}
	asHTML, err := page.html()
	if err != nil {
		return fault.New(fault.Internal, "cannot write page %s: %w", dir, err)
	}
	if err := t.replace(path.Join(dir, "index.json"), asJSON); err != nil {
		return err
	}
	return t.replace(path.Join(dir, "index.html"), asHTML)
}

func (t *pypiIndex) replace(name string, b []byte) error {
	now, err := t.folder.read(name, maxIndexPage)
	if err == nil && bytes.Equal(now, b) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.folder.write(name, bytes.NewReader(b))
}

func (t *pypiIndex) listProject(project string) error {
	root := simpleRoot{Projects: []simpleProject{}}
	b, err := t.folder.read("simple/index.json", maxIndexPage)
	if err == nil {
		err = json.Unmarshal(b, &root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.As(fault.Invalid, err)
	}
	root.add(project)
	return t.publish("simple", root)
}

// Verify goes the way of pip: from the HTML page over the link to the file, and compares digests.
func (t *pypiIndex) Verify(_ context.Context, r Release) error {
	return t.each(r, func(project string, items []Item) error {
		b, err := t.folder.read(pagePath(project, "index.html"), maxIndexPage)
		if err != nil {
			return err
		}
		page, err := parseSimpleHTML(b)
		if err != nil {
			return err
		}
		for _, item := range items {
			if err := t.verify(page, project, item.Artifact); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *pypiIndex) verify(page simplePage, project string, a release.Artifact) error {
	there, err := page.holds("the index in "+t.folder.path, a)
	if err != nil {
		return err
	}
	if !there {
		return fault.New(fault.Transient, "cannot verify %q: the index in %s does not list it", a.Name, t.folder.path)
	}
	f, _ := page.find(a.Name)
	link, err := url.Parse(f.URL)
	if err != nil {
		return fault.New(fault.Invalid, "cannot verify %q: its link is not a URL", a.Name)
	}
	got, err := t.folder.digest(path.Join("simple", project, link.Path))
	if err != nil {
		return err
	}
	return sameDownload(a.Name, got, a.Digest)
}

// sameDownload is the end of every verification.
func sameDownload(name string, got, want release.Digest) error {
	if got == want {
		return nil
	}
	return fault.New(fault.Conflict, "cannot verify %q: downloading it gives digest %s, expected %s; users get other bytes than were tested", name, got, want)
}
