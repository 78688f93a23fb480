package publisher

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// coordinates name a file in a Maven repository.
type coordinates struct{ Group, Artifact, Version, Classifier, Extension string }

var coordinate = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.+-]*[A-Za-z0-9_+])?$`)

// check refuses what would leave the repository, and snapshots: released versions never change.
func (c coordinates) check(file string) error {
	for what, value := range map[string]string{"group": c.Group, "artifact": c.Artifact, "version": c.Version, "extension": c.Extension} {
		if !coordinate.MatchString(value) || strings.Contains(value, "..") {
			return fault.New(fault.Invalid, "cannot publish %q to Maven: its %s is %q; state it as an option of the target, or in the archive's pom.properties", file, what, value)
		}
	}
	if c.Classifier != "" && (!coordinate.MatchString(c.Classifier) || strings.Contains(c.Classifier, "..")) {
		return fault.New(fault.Invalid, "cannot publish %q to Maven: its classifier is %q", file, c.Classifier)
	}
	if strings.HasSuffix(c.Version, "-SNAPSHOT") {
		return fault.New(fault.Invalid, "cannot publish %q to Maven: version %s is a snapshot, and a release never changes", file, c.Version)
	}
	return nil
}

// home is the directory of all versions; it holds maven-metadata.xml.
func (c coordinates) home() string {
	return path.Join(strings.ReplaceAll(c.Group, ".", "/"), c.Artifact)
}

func (c coordinates) path() string {
	name := c.Artifact + "-" + c.Version
	if c.Classifier != "" {
		name += "-" + c.Classifier
	}
	return path.Join(c.home(), c.Version, name+"."+c.Extension)
}

// pom is the same release's project file.
func (c coordinates) pom() coordinates {
	return coordinates{Group: c.Group, Artifact: c.Artifact, Version: c.Version, Extension: "pom"}
}

// or fills what is empty from other.
func (c coordinates) or(other coordinates) coordinates {
	return coordinates{
		cmp.Or(c.Group, other.Group), cmp.Or(c.Artifact, other.Artifact), cmp.Or(c.Version, other.Version),
		cmp.Or(c.Classifier, other.Classifier), cmp.Or(c.Extension, other.Extension),
	}
}

// jarName reads a name of which nothing is known: the version begins at the first digit after a hyphen and ends at the next
// hyphen, unless a word follows that versions have: "1.0-rc-2".
var jarName = regexp.MustCompile(`^(.+?)-([0-9][^-]*(?:-(?i:alpha|beta|milestone|rc|cr|m|ga|final|release|sp)[.-]?[0-9]*)*)(?:-(.+))?$`)

// fromName reads "demo-1.0-linux.jar". What is known already decides where the version ends: it may have hyphens.
func (c coordinates) fromName(file string) coordinates {
	extension := strings.TrimPrefix(path.Ext(file), ".")
	if strings.HasSuffix(file, ".tar.gz") {
		extension = "tar.gz"
	}
	out := c.or(coordinates{Extension: extension})
	stem := strings.TrimSuffix(file, "."+extension)
	if found, ok := around(stem, c); ok {
		return out.or(found)
	}
	if c.Artifact != "" && c.Version != "" {
		return out
	}
	if m := jarName.FindStringSubmatch(stem); m != nil && (c.Artifact == "" || c.Artifact == m[1]) {
		if c.Version != "" && c.Version != m[2] {
			return out // the name says something else than is known
		}
		return out.or(coordinates{Artifact: m[1], Version: m[2], Classifier: m[3]})
	}
	return out
}

// around reads a name whose version is known: the artifact stands before it and the classifier after it.
func around(stem string, known coordinates) (coordinates, bool) {
	if known.Version == "" {
		return coordinates{}, false
	}
	for from := 0; ; from++ {
		i := strings.Index(stem[min(from, len(stem)):], "-"+known.Version)
		if i < 0 {
			return coordinates{}, false
		}
		from += i
		artifact, rest := stem[:from], stem[from+1+len(known.Version):]
		if artifact != "" && (known.Artifact == "" || known.Artifact == artifact) && (rest == "" || rest[0] == '-') {
			return coordinates{Artifact: artifact, Version: known.Version, Classifier: strings.TrimPrefix(rest, "-")}, true
		}
	}
}

// fromJar reads what a JAR says of itself: Maven's own pom.properties first, then the manifest.
func fromJar(archive *zip.Reader) coordinates {
	var found []coordinates
	var manifest coordinates
	for _, entry := range archive.File {
		if ok, _ := path.Match("META-INF/maven/*/*/pom.properties", entry.Name); ok {
			p := properties(entry, "=")
			found = append(found, coordinates{Group: p["groupId"], Artifact: p["artifactId"], Version: p["version"]})
		}
		if entry.Name == "META-INF/MANIFEST.MF" {
			p := properties(entry, ":")
			manifest = coordinates{Group: p["Implementation-Vendor-Id"], Artifact: p["Implementation-Title"], Version: p["Implementation-Version"]}
		}
	}
	if len(found) == 1 { // a JAR with its dependencies inside has several, and is none of them
		return found[0].or(manifest)
	}
	return manifest
}

func properties(entry *zip.File, separator string) map[string]string {
	out := map[string]string{}
	r, err := entry.Open()
	if err != nil {
		return out
	}
	defer func() { _ = r.Close() }()
	b, err := readAtMost(r, maxMetadata)
	if err != nil {
		return out
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	for line := range strings.Lines(strings.ReplaceAll(text, "\n ", "")) { // a manifest's long lines go on after a space
		if key, value, ok := strings.Cut(line, separator); ok {
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return out
}

// project is the part of a POM that is read and written here.
type project struct {
	XMLName    xml.Name `xml:"project"`
	Space      string   `xml:"xmlns,attr,omitempty"`
	Model      string   `xml:"modelVersion"`
	GroupID    string   `xml:"groupId"`
	ArtifactID string   `xml:"artifactId"`
	Version    string   `xml:"version"`
	Packaging  string   `xml:"packaging,omitempty"`
}

// fromPOM reads the coordinates of a project file; what it leaves out is its parent's.
func fromPOM(b []byte) (coordinates, error) {
	var p struct {
		GroupID    string `xml:"groupId"`
		ArtifactID string `xml:"artifactId"`
		Version    string `xml:"version"`
		Parent     struct {
			GroupID string `xml:"groupId"`
			Version string `xml:"version"`
		} `xml:"parent"`
	}
	if err := xml.Unmarshal(b, &p); err != nil {
		return coordinates{}, fault.New(fault.Invalid, "cannot read a POM: %w", err)
	}
	return coordinates{
		Group: strings.TrimSpace(cmp.Or(p.GroupID, p.Parent.GroupID)), Artifact: strings.TrimSpace(p.ArtifactID),
		Version: strings.TrimSpace(cmp.Or(p.Version, p.Parent.Version)), Extension: "pom",
	}, nil
}

// makePOM writes the least that a client needs. The same release gives the same bytes.
func makePOM(c coordinates, packaging string) ([]byte, error) {
	b, err := xml.MarshalIndent(project{
		Space: "http://maven.apache.org/POM/4.0.0", Model: "4.0.0",
		GroupID: c.Group, ArtifactID: c.Artifact, Version: c.Version, Packaging: packaging,
	}, "", "  ")
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot write the POM of %s: %w", c.path(), err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

// mavenMetadata is maven-metadata.xml: which versions there are.
type mavenMetadata struct {
	XMLName    xml.Name        `xml:"metadata"`
	GroupID    string          `xml:"groupId"`
	ArtifactID string          `xml:"artifactId"`
	Versioning mavenVersioning `xml:"versioning"`
}

type mavenVersioning struct {
	Latest      string   `xml:"latest,omitempty"`
	Release     string   `xml:"release,omitempty"`
	Versions    []string `xml:"versions>version"`
	LastUpdated string   `xml:"lastUpdated,omitempty"`
}

// parseMavenMetadata reads maven-metadata.xml; nothing is an artifact without versions.
func parseMavenMetadata(b []byte) (mavenMetadata, error) {
	var m mavenMetadata
	if len(bytes.TrimSpace(b)) == 0 {
		return m, nil
	}
	decoder := xml.NewDecoder(bytes.NewReader(b))
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	if err := decoder.Decode(&m); err != nil {
		return m, fault.New(fault.Invalid, "cannot read maven-metadata.xml: %w", err)
	}
	return m, nil
}

func (m mavenMetadata) lists(version string) bool {
	return slices.Contains(m.Versioning.Versions, version)
}

// add lists a version, and makes it the newest unless one that is newer is there: a correction of an older version does not
// move who asks for the newest.
func (m mavenMetadata) add(c coordinates, now time.Time) ([]byte, error) {
	return m.insert(c, now, false)
}

// insert is add; with late, a release that was pushed later has listed its version already. That decides between versions
// which Maven has no order for, such as those of two commits.
func (m mavenMetadata) insert(c coordinates, now time.Time, late bool) ([]byte, error) {
	m.XMLName = xml.Name{Local: "metadata"}
	m.GroupID, m.ArtifactID = c.Group, c.Artifact
	for _, newest := range []*string{&m.Versioning.Latest, &m.Versioning.Release} {
		if *newest == "" || newer(c.Version, *newest, late) {
			*newest = c.Version
		}
	}
	m.Versioning.Versions = append(slices.Clone(m.Versioning.Versions), c.Version)
	m.Versioning.LastUpdated = now.UTC().Format("20060102150405")
	b, err := xml.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot write maven-metadata.xml: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

func newer(version, than string, late bool) bool {
	if unordered(version, than) {
		return !late
	}
	return mavenOrder(version, than) >= 0
}
