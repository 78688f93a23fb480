package definition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// The bounds of what a definition includes.
const (
	maxFiles    = 200     // all files that are read
	maxIncluded = 8 << 20 // bytes of all files
	maxNesting  = 10      // files that include each other
)

// Repo is where a file is looked for: the definition's own repository when zero.
type Repo struct {
	URL string
	At  release.Commit
}

// Loader hands over files of a commit. What is not there is fs.ErrNotExist; what may not be read is fault.Invalid or
// fault.Denied. Any other error ends the reading: it says nothing of the definition.
type Loader interface {
	// Glob lists the files that fit a glob, sorted.
	Glob(ctx context.Context, repo Repo, glob string) ([]string, error)
	// Read returns a file of at most limit bytes.
	Read(ctx context.Context, repo Repo, name string, limit int64) ([]byte, error)
}

// TargetOption is something that the definition may say of a kind of target.
type TargetOption struct {
	Name     string
	Required bool
	Secret   bool // the value must be "$NAME"
}

// Options are what reading a definition may use beside its text. The zero value reads definitions that include nothing.
type Options struct {
	Loader   Loader
	Dialects map[string]plan.Dialect   // by the key of an include
	Targets  map[string][]TargetOption // by kind; options of kinds that are not listed are not checked
}

func (o *Options) dialects() []string {
	if o == nil {
		return nil
	}
	return keysOf(o.Dialects)
}

// loading is the reading of one definition with all that it includes.
type loading struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Load
	options Options
	seen    map[string]bool // files that are part already
	digests []string        // "name digest" of what was included
	texts   map[string][]byte
	bytes   int
	failed  error // of the loader, that is no problem of the definition
}

// where is the file that is being read.
type where struct {
	repo  Repo
	base  string   // prefix of names in messages
	chain []string // of the files that include each other, up to this one
}

// name is what a file is called in messages.
func (w where) name(file string) string {
	if w.repo.URL != "" {
		return shorten(printable(w.repo.URL), 200) + "@" + w.repo.At.Short() + ":" + file
	}
	return path.Join(w.base, file)
}

// include reads the files of one include into a definition.
func (l *loading) include(def *Definition, s *source, in *Include, from where) {
	if in.Path.Value == "" || in.Repo.Value != "" && !release.Commit(in.Commit.Value).Valid() {
		return // told when it was read
	}
	if in.Repo.Value != "" {
		from.repo, from.base = Repo{in.Repo.Value, release.Commit(in.Commit.Value)}, ""
	}
	at := cmp.Or(in.Path.At, in.At)
	for _, name := range l.files(s, at, from, in.Path.Value) {
		l.part(def, s, at, from, name)
	}
}

// files lists what a path or glob names.
func (l *loading) files(s *source, at Pos, from where, glob string) []string {
	if problem := unsafePath(glob); problem != "" || strings.Contains(glob, openMark) {
		s.fail(at, "", "cannot include: %s", cmp.Or(problem, "an include has no templates"))
		return nil
	}
	if !strings.ContainsAny(glob, "*?[{") {
		return []string{path.Clean(glob)}
	}
	if l.options.Loader == nil {
		s.fail(at, "", "cannot include %s: there is nothing to read files from here", glob)
		return nil
	}
	names, err := l.options.Loader.Glob(l.ctx, from.repo, glob)
	if err != nil {
		l.tell(s, at, from.name(glob), err)
		return nil
	}
	if len(names) == 0 {
		s.fail(at, "", "cannot include %s: no file fits the glob", from.name(glob))
	}
	return names
}

// read returns a file, or notes why it cannot be read.
func (l *loading) read(s *source, at Pos, from where, name string) ([]byte, bool) {
	switch {
	case l.failed != nil || s.full():
		return nil, false
	case l.options.Loader == nil:
		s.fail(at, "", "cannot read %s: there is nothing to read files from here", from.name(name))
		return nil, false
	case len(l.digests) >= maxFiles:
		s.fail(at, "", "the definition includes more than %d files", maxFiles)
		return nil, false
	}
	full := from.name(name)
	if known, ok := l.texts[full]; ok {
		return known, true
	}
	text, err := l.options.Loader.Read(l.ctx, from.repo, name, maxSize)
	if err != nil {
		l.tell(s, at, full, err)
		return nil, false
	}
	if l.bytes += len(text); l.bytes > maxIncluded {
		s.fail(at, "", "the definition includes more than %d bytes", maxIncluded)
		return nil, false
	}
	l.digests, l.texts[full] = append(l.digests, fmt.Sprintf("%s %s", full, release.DigestOf(text))), text
	return text, true
}

// tell notes an error of the loader: a problem of the definition, or the end of reading it.
func (l *loading) tell(s *source, at Pos, name string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.fail(at, "", "cannot read %s: there is no such file", name)
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.Denied):
		s.fail(at, "", "%s", shorten(printable(err.Error()), 300))
	case l.failed == nil:
		l.failed = err
	}
}

// part reads one file that is included, and puts what it says into the definition.
func (l *loading) part(def *Definition, s *source, at Pos, from where, name string) {
	full := from.name(name)
	if i := slices.Index(from.chain, full); i >= 0 {
		s.fail(at, "", "files include each other in a circle: %s", strings.Join(append(slices.Clone(from.chain[i:]), full), " → "))
		return
	}
	if l.seen[full] {
		return
	}
	if len(from.chain) > maxNesting {
		s.fail(at, "", "more than %d files include each other", maxNesting)
		return
	}
	text, ok := l.read(s, at, from, name)
	if !ok {
		return
	}
	l.seen[full] = true
	from.chain = append(slices.Clone(from.chain), full)
	part := newSource(full, string(text))
	part.problems = s.problems
	made := l.decode(part, from, true)
	s.problems = part.problems
	if made != nil {
		def.add(s, made)
	}
}

// missing is a file that a dialect asked for and that cannot be read.
type missing struct{ message string }

func (m *missing) Error() string { return m.message }

// Is makes it fs.ErrNotExist.
func (*missing) Is(target error) bool { return target == fs.ErrNotExist }
