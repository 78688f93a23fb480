package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray"
	"github.com/sluiceci/sluice/pkg/plan"
)

// rayDialect lets a definition include Ray's release tests: include: [{ray: release/release_tests.yaml}].
type rayDialect struct{}

// Read implements plan.Dialect.
func (rayDialect) Read(in plan.Included) (plan.Suite, error) {
	suite := raySuite{options: in.Options, files: in.Files, open: in.Open}
	_, err := suite.Tasks(plan.Asked{}) // every problem of the files, before any change asks for them
	return suite, err
}

type raySuite struct {
	options map[string]string
	files   []string
	open    func(string) ([]byte, error)
}

// Tasks implements plan.Suite. The frequency is that of the schedule, or of whoever starts the run, unless the include
// states one.
func (s raySuite) Tasks(asked plan.Asked) (plan.Imported, error) {
	options := maps.Clone(s.options)
	if options == nil {
		options = map[string]string{}
	}
	if frequency := asked.Change.Parameters["frequency"]; frequency != "" && options["frequency"] == "" {
		options["frequency"] = frequency
	}
	if options["env"] == "" && asked.Environment != "" {
		options["env"] = asked.Environment
	}
	var out plan.Imported
	var failed []error
	for _, file := range s.files {
		tasks, skipped, warnings, err := ray.Include(openFS(s.open), file, options)
		failed = append(failed, placed(err)...)
		out.Tasks, out.Skipped, out.Warnings = append(out.Tasks, tasks...), append(out.Skipped, skipped...), append(out.Warnings, warnings...)
	}
	return out, errors.Join(failed...)
}

// placedProblem is a problem of a Ray suite at its place.
type placedProblem struct{ ray.Problem }

// Error leaves the place out, which is told beside it.
func (p placedProblem) Error() string {
	bare := p.Problem
	bare.File, bare.Line = "", 0
	return bare.String()[len(": "):]
}

// Position implements definition.Positioned.
func (p placedProblem) Position() (file string, line, column int) { return p.File, p.Line, p.Column }

func placed(err error) []error {
	var problems ray.Problems
	if !errors.As(err, &problems) {
		return []error{err}
	}
	var out []error
	for _, p := range problems {
		out = append(out, placedProblem{p})
	}
	return out
}

// openFS is the files of a definition as a file system.
type openFS func(name string) ([]byte, error)

// Open implements fs.FS.
func (open openFS) Open(name string) (fs.File, error) {
	text, err := open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{Reader: bytes.NewReader(text), name: name, size: int64(len(text))}, nil
}

type openFile struct {
	*bytes.Reader
	name string
	size int64
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *openFile) Close() error               { return nil }
func (f *openFile) Name() string               { return f.name }
func (f *openFile) Size() int64                { return f.size }
func (f *openFile) Mode() fs.FileMode          { return 0o444 }
func (f *openFile) ModTime() time.Time         { return time.Time{} }
func (f *openFile) IsDir() bool                { return false }
func (f *openFile) Sys() any                   { return nil }
