package publisher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func mavenKind() Kind {
	return Kind{
		Name: "maven",
		Doc:  "JARs and other files in Maven's repository layout with POM, checksums and maven-metadata.xml: in a directory, or over HTTP PUT (Gitea, Nexus, Artifactory).",
		Rank: 2,
		Staged: "In a directory the files lie under `.staged/` by their digest. Over HTTP there is no staging area: coordinates and bytes are checked, " +
			"and every name is free or taken by the same bytes.",
		Committed: "The version's files are in place, the POM last, and maven-metadata.xml lists the version, as the newest unless a newer one is there. A released version never changes; " +
			"to undo it a person deletes the version's directory or package before anybody uses it.",
		HardStop: "The version has the same file name with other bytes. Raise the version and release again; delete a version only if nobody can have used it.",
		Options: append([]Option{
			{Name: "directory", Doc: "the repository's directory; either this or url", Place: true},
			{Name: "url", Doc: "the repository's address for HTTP PUT; either this or directory", Place: true},
			{Name: "group", Doc: "groupId; may use words such as {project}. By default what the JAR's pom.properties or manifest says"},
			{Name: "artifact", Doc: "artifactId; by default what the JAR or its file name says"},
			{Name: "version", Doc: "version; by default what the JAR or its file name says"},
			{Name: "classifier", Doc: "classifier; by default what follows ARTIFACT-VERSION- in the file name"},
			{Name: "packaging", Doc: "packaging in a generated POM", Default: "jar"},
		}, remoteOptions("")...),
		New: newMaven,
	}
}

// maven publishes to a repository in Maven's layout.
type maven struct {
	store   mavenStore
	options Options
	temp    string
	now     func() time.Time
}

func newMaven(setup Setup) (Target, error) {
	t := &maven{options: setup.Options, temp: setup.Temp, now: setup.Now}
	switch directory, url := setup.Options["directory"], setup.Options["url"]; {
	case directory != "" && url == "":
		folder, err := newFolder(setup, "directory")
		t.store = mavenFolder{folder}
		return t, err
	case url != "" && directory == "":
		server, err := newRemote(setup, "url")
		t.store = mavenServer{server}
		return t, err
	default:
		return nil, fault.New(fault.Invalid, "cannot publish to Maven: give either option directory or option url")
	}
}

func (t *maven) Probe(ctx context.Context, r Release) (Probe, error) {
	var probe Probe
	files, err := t.files(ctx, r)
	if err != nil {
		return probe, err
	}
	for _, f := range files {
		there, err := t.holds(ctx, f)
		if err != nil {
			return probe, err
		}
		if list := t.listing(f.at); !slices.Contains(probe.Shared, list) {
			probe.Shared = append(probe.Shared, list)
		}
		probe.add(path.Base(f.at.path()), f.digest, t.store.location(f.at.path()), there)
	}
	return probe, nil
}

// listing is where the versions of an artifact are listed. One release at a time writes there.
func (t *maven) listing(c coordinates) string { return t.store.location(metadataOf(c)) }

func metadataOf(c coordinates) string { return path.Join(c.home(), "maven-metadata.xml") }

// holds asks the checksum beside the file; where there is none, the file itself.
func (t *maven) holds(ctx context.Context, f mavenFile) (bool, error) {
	name := f.at.path()
	b, err := t.store.read(ctx, name+".sha256", 1<<10)
	there := release.Digest("sha256:" + strings.ToLower(strings.TrimSpace(string(b))))
	if errors.Is(err, fs.ErrNotExist) {
		var sums checksums
		sums, err = t.store.sum(ctx, name, 0)
		there = sums.digest()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case there == f.digest:
		return true, nil
	default:
		return false, taken(path.Base(name), t.store.where(), there, f.digest)
	}
}

func (t *maven) Stage(ctx context.Context, r Release) error {
	return t.missing(ctx, r, func(f mavenFile, content mavenContent) error { return t.store.stage(ctx, content) })
}

// missing calls fn with every file that the repository lacks, and its content.
func (t *maven) missing(ctx context.Context, r Release, fn func(mavenFile, mavenContent) error) error {
	files, err := t.files(ctx, r)
	if err != nil {
		return err
	}
	for _, f := range files {
		there, err := t.holds(ctx, f)
		if err == nil && !there {
			err = t.content(ctx, f, func(content mavenContent) error { return fn(f, content) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *maven) content(ctx context.Context, f mavenFile, fn func(mavenContent) error) error {
	if f.item == nil {
		return fn(textContent(f.text))
	}
	return spooled(ctx, t.temp, *f.item, func(file *os.File, size int64) error {
		sums, err := sumOf(file)
		if err != nil {
			return diskFault("read", file.Name(), err)
		}
		return fn(mavenContent{sums: sums, size: size, open: func() (io.Reader, error) {
			return io.NewSectionReader(file, 0, size), nil
		}})
	})
}

func (t *maven) Commit(ctx context.Context, r Release) error {
	unlock, err := t.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	files, err := t.files(ctx, r)
	if err != nil {
		return err
	}
	for _, f := range files { // every name is looked at before the first is taken
		if _, err := t.holds(ctx, f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := t.commit(ctx, f); err != nil {
			return err
		}
	}
	return t.list(ctx, files, r.Leave)
}

// commit puts a file where it is missing, then the checksums that are missing.
func (t *maven) commit(ctx context.Context, f mavenFile) error {
	complete, err := t.complete(ctx, f)
	if err != nil || complete {
		return err
	}
	return t.content(ctx, f, func(content mavenContent) error {
		there, err := t.holds(ctx, f)
		if err != nil {
			return err
		}
		if !there {
			if err := t.put(ctx, f, content); err != nil {
				return err
			}
		}
		return t.putChecksums(ctx, f.at.path(), content.sums)
	})
}

// complete reports whether nothing is left to do for a file: checksums are written after it, sha512 last.
func (t *maven) complete(ctx context.Context, f mavenFile) (bool, error) {
	there, err := t.holds(ctx, f)
	if err != nil || !there {
		return false, err
	}
	for _, ending := range checksumEndings() {
		_, err := t.store.read(ctx, f.at.path()+ending, 1<<10)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// put takes "already there" for an answer only after looking what is there.
func (t *maven) put(ctx context.Context, f mavenFile, content mavenContent) error {
	err := t.store.put(ctx, f.at.path(), content)
	if status := statusOf(err); status != http.StatusConflict && status != http.StatusBadRequest {
		return err
	}
	there, probeErr := t.holds(ctx, f)
	switch {
	case probeErr != nil:
		return probeErr
	case there:
		return nil
	case statusOf(err) == http.StatusConflict:
		return fault.New(fault.Transient, "cannot publish %q yet: the name is taken and cannot be read: %w", path.Base(f.at.path()), err)
	default:
		return err
	}
}

// putChecksums writes no newline: servers compare the whole text. Many servers make the checksums themselves.
func (t *maven) putChecksums(ctx context.Context, name string, sums checksums) error {
	for _, ending := range checksumEndings() {
		b, err := t.store.read(ctx, name+ending, 1<<10)
		if err == nil && strings.EqualFold(strings.TrimSpace(string(b)), sums[ending]) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := t.store.put(ctx, name+ending, textContent([]byte(sums[ending]))); err != nil {
			return err
		}
	}
	return nil
}

// list adds the versions to maven-metadata.xml, the last thing that becomes visible.
func (t *maven) list(ctx context.Context, files []mavenFile, leave []string) error {
	for _, f := range files {
		if f.at.Extension != "pom" {
			continue
		}
		if err := t.listVersion(ctx, f.at, leave); err != nil {
			return err
		}
	}
	return nil
}

func (t *maven) listVersion(ctx context.Context, c coordinates, leave []string) error {
	name := metadataOf(c)
	b, m, err := t.metadata(ctx, name)
	if err != nil {
		return err
	}
	if !m.lists(c.Version) {
		if b, err = m.insert(c, t.now(), slices.Contains(leave, t.listing(c))); err != nil {
			return err
		}
		if err := t.store.put(ctx, name, textContent(b)); err != nil {
			return err
		}
	}
	return t.putChecksums(ctx, name, textContent(b).sums)
}

func (t *maven) metadata(ctx context.Context, name string) ([]byte, mavenMetadata, error) {
	b, err := t.store.read(ctx, name, maxMetadata)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, mavenMetadata{}, err
	}
	m, err := parseMavenMetadata(b)
	return b, m, err
}

// Verify downloads every file with its checksums, and the list of versions. A version that another writer has dropped from the
// list, because both had read the list before either wrote it, is listed again.
func (t *maven) Verify(ctx context.Context, r Release) error {
	files, err := t.files(ctx, r)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := t.verify(ctx, f); err != nil {
			return err
		}
	}
	unlock, err := t.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.list(ctx, files, r.Leave); err != nil {
		return err
	}
	for _, f := range files {
		if err := t.listed(ctx, f.at); err != nil {
			return err
		}
	}
	return nil
}

func (t *maven) verify(ctx context.Context, f mavenFile) error {
	name := f.at.path()
	sums, err := t.store.sum(ctx, name, f.size)
	if err != nil {
		return notYet(name, err)
	}
	if err := sameDownload(path.Base(name), sums.digest(), f.digest); err != nil {
		return err
	}
	for _, ending := range checksumEndings() {
		b, err := t.store.read(ctx, name+ending, 1<<10)
		if err != nil {
			return notYet(name+ending, err)
		}
		if got := strings.TrimSpace(string(b)); !strings.EqualFold(got, sums[ending]) {
			return fault.New(fault.Conflict, "cannot verify %q: it says %q, the file has %s; clients refuse such a file", path.Base(name)+ending, got, sums[ending])
		}
	}
	return nil
}

func (t *maven) listed(ctx context.Context, c coordinates) error {
	_, m, err := t.metadata(ctx, metadataOf(c))
	if err == nil && !m.lists(c.Version) {
		err = fault.New(fault.Transient, "cannot verify %q: maven-metadata.xml does not list version %s yet", path.Base(c.path()), c.Version)
	}
	return err
}

// notYet takes "not there" after a commit for a server that is behind.
func notYet(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Kind: fault.Transient, Err: fmt.Errorf("cannot verify %q: it is not there yet: %w", path.Base(name), err)}
	}
	return err
}
