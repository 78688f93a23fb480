package publisher

import (
	"archive/zip"
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// mavenFile is one file of a release: an item's, or the POM made for it.
type mavenFile struct {
	at     coordinates
	digest release.Digest
	size   int64
	item   *Item
	text   []byte
}

// files names everything that a release puts into the repository, in the order of commits: a POM is what makes a
// version resolvable, so it goes last.
func (t *maven) files(ctx context.Context, r Release) ([]mavenFile, error) {
	var files []mavenFile
	for _, item := range r.Items {
		at, err := t.coordinates(ctx, r, item)
		if err != nil {
			return nil, err
		}
		files = append(files, mavenFile{at: at, digest: item.Artifact.Digest, size: item.Artifact.Size, item: &item})
	}
	files, err := t.addPOMs(files)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b mavenFile) int { return commitRank(a.at) - commitRank(b.at) })
	return files, distinct(files)
}

func commitRank(c coordinates) int {
	switch {
	case c.Extension == "pom":
		return 2
	case c.Classifier == "":
		return 1
	default:
		return 0
	}
}

func distinct(files []mavenFile) error {
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.at.path()] {
			return fault.New(fault.Invalid, "cannot publish two files to %s: give them classifiers, or other versions", f.at.path())
		}
		seen[f.at.path()] = true
	}
	return nil
}

// coordinates come from the options, then from the archive, then from the file's name.
func (t *maven) coordinates(ctx context.Context, r Release, item Item) (coordinates, error) {
	c, err := t.stated(r, item)
	if err != nil {
		return c, err
	}
	name := item.Artifact.Name
	if path.Ext(name) == ".pom" || path.Ext(name) == ".jar" && (c.Group == "" || c.Artifact == "" || c.Version == "") {
		inside, err := t.inside(ctx, item)
		if err != nil {
			return c, err
		}
		c = c.or(inside)
	}
	if path.Ext(name) != ".pom" {
		c = c.fromName(name)
	}
	return c, c.check(name)
}

func (t *maven) stated(r Release, item Item) (c coordinates, err error) {
	for option, field := range map[string]*string{
		"group": &c.Group, "artifact": &c.Artifact, "version": &c.Version, "classifier": &c.Classifier,
	} {
		if *field, err = r.expand(t.options[option], &item); err != nil {
			return c, err
		}
	}
	if path.Ext(item.Artifact.Name) == ".pom" {
		c.Classifier = ""
	}
	return c, nil
}

func (t *maven) inside(ctx context.Context, item Item) (c coordinates, err error) {
	err = spooled(ctx, t.temp, item, func(file *os.File, size int64) error {
		if path.Ext(item.Artifact.Name) == ".pom" {
			b, err := readAtMost(file, maxMetadata)
			if err != nil {
				return fault.New(fault.Invalid, "cannot read %q: %w", item.Artifact.Name, err)
			}
			c, err = fromPOM(b)
			return err
		}
		archive, err := zip.NewReader(file, size)
		if err != nil {
			return fault.New(fault.Invalid, "cannot read %q as a JAR: %w", item.Artifact.Name, err)
		}
		c = fromJar(archive)
		return nil
	})
	return c, err
}

// addPOMs makes a POM for every version that comes without one.
func (t *maven) addPOMs(files []mavenFile) ([]mavenFile, error) {
	poms := map[coordinates]bool{}
	packaging := map[coordinates]string{}
	for _, f := range files {
		pom := f.at.pom()
		poms[pom] = poms[pom] || f.at == pom
		if f.at.Classifier == "" && f.at.Extension != "pom" {
			packaging[pom] = t.options["packaging"]
		}
	}
	for _, pom := range slices.SortedFunc(maps.Keys(poms), func(a, b coordinates) int { return strings.Compare(a.path(), b.path()) }) {
		if poms[pom] {
			continue
		}
		text, err := makePOM(pom, cmp.Or(packaging[pom], "pom"))
		if err != nil {
			return nil, err
		}
		files = append(files, mavenFile{at: pom, digest: release.DigestOf(text), size: int64(len(text)), text: text})
	}
	return files, nil
}
