package publisher

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// distribution is a Python file to publish, as its name states it.
type distribution struct {
	File     string
	Project  string // normalised (PEP 503)
	Name     string // as written
	Version  string
	FileType string // "bdist_wheel", "sdist"
	Python   string // "cp312", "source"
}

var (
	wheelName = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)-([A-Za-z0-9_.!+]+)(?:-(\d[^-]*))?-([^-]+)-([^-]+)-([^-]+)\.whl$`)
	sdistName = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)-([0-9][A-Za-z0-9_.!+]*)\.tar\.gz$`)
	separator = regexp.MustCompile(`[-_.]+`)
)

// normalise is PEP 503's form of a project's name.
func normalise(name string) string { return strings.ToLower(separator.ReplaceAllString(name, "-")) }

// parseDistribution reads a wheel's or a source distribution's file name.
func parseDistribution(file string) (distribution, error) {
	if m := wheelName.FindStringSubmatch(file); m != nil {
		return distribution{file, normalise(m[1]), m[1], m[2], "bdist_wheel", m[4]}, nil
	}
	if m := sdistName.FindStringSubmatch(file); m != nil {
		return distribution{file, normalise(m[1]), m[1], m[2], "sdist", "source"}, nil
	}
	return distribution{}, fault.New(fault.Invalid,
		"cannot publish %q to a Python index: expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl or NAME-VERSION.tar.gz", file)
}

// distributions parses the names of a release's items, grouped by project.
func distributions(items []Item) (map[string][]Item, error) {
	byProject := map[string][]Item{}
	for _, item := range items {
		d, err := parseDistribution(item.Artifact.Name)
		if err != nil {
			return nil, err
		}
		byProject[d.Project] = append(byProject[d.Project], item)
	}
	return byProject, nil
}

const maxMetadata = 4 << 20

// readMetadata gets the core metadata out of a distribution: METADATA of a wheel, PKG-INFO of a source distribution.
func readMetadata(d distribution, file *os.File, size int64) ([]byte, error) {
	text, err := readWheelMetadata(d, file, size)
	if d.FileType == "sdist" {
		text, err = readSdistMetadata(file)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the metadata of %q: %w", d.File, err)
	}
	return text, parseMetadata(text).agrees(d)
}

func readWheelMetadata(d distribution, file *os.File, size int64) ([]byte, error) {
	if d.FileType != "bdist_wheel" {
		return nil, nil
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, err
	}
	for _, entry := range archive.File {
		dir, name, _ := strings.Cut(entry.Name, "/")
		if name == "METADATA" && strings.HasSuffix(dir, ".dist-info") {
			r, err := entry.Open()
			if err != nil {
				return nil, err
			}
			defer func() { _ = r.Close() }()
			return readAtMost(r, maxMetadata)
		}
	}
	return nil, errors.New("the archive has no *.dist-info/METADATA")
}

func readSdistMetadata(r io.Reader) ([]byte, error) {
	unzipped, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the archive has no NAME-VERSION/PKG-INFO")
		}
		if err != nil {
			return nil, err
		}
		if _, name, _ := strings.Cut(strings.TrimPrefix(header.Name, "./"), "/"); name == "PKG-INFO" {
			return readAtMost(archive, maxMetadata)
		}
	}
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(b)) > limit {
		return nil, errors.New("it is larger than expected")
	}
	return b, err
}

// metadata is core metadata: fields in their order, and the description.
type metadata struct {
	Fields      []metadataField
	Description string
}

type metadataField struct{ Name, Value string }

// parseMetadata reads the header form that METADATA and PKG-INFO share. Lines that are not fields are passed over, as
// indexes do.
func parseMetadata(text []byte) metadata {
	var m metadata
	head, body, _ := bytes.Cut(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSuffix(line, "\n")
		if continued := strings.TrimLeft(line, " \t"); continued != line && len(m.Fields) > 0 {
			m.Fields[len(m.Fields)-1].Value += "\n" + strings.TrimPrefix(continued, "|")
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			m.Fields = append(m.Fields, metadataField{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	m.Description = string(body)
	return m
}

func (m metadata) get(name string) string {
	for _, f := range m.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// agrees refuses a file whose inside is another project or version than its name says.
func (m metadata) agrees(d distribution) error {
	name, version := m.get("Name"), m.get("Version")
	if normalise(name) == d.Project && separator.ReplaceAllString(version, "-") == separator.ReplaceAllString(d.Version, "-") {
		return nil
	}
	return fault.New(fault.Invalid, "cannot publish %q: its metadata say %s %s; the name and the metadata must agree", d.File, name, version)
}

// formName is what the upload form calls a metadata field.
func formName(field string) string {
	switch strings.ToLower(field) {
	case "classifier":
		return "classifiers"
	case "project-url":
		return "project_urls"
	case "license-file":
		return "license_files"
	default:
		return strings.ReplaceAll(strings.ToLower(field), "-", "_")
	}
}
