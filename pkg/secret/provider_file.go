package secret

import (
	"bufio"
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// maxFile bounds a file of secrets, in bytes.
const maxFile = 4 << 20

// file is a file of NAME=value lines. It is read as a whole, at the start and again once its values are too old: what was
// put into it is seen then, and a mode that became too wide is refused.
type file struct {
	path   string
	keep   time.Duration
	mu     sync.Mutex
	values map[string]string
	until  time.Time
}

// openFile reads the file once, so that what is wrong with it is known at the start.
func openFile(c ProviderConfig) (Provider, error) {
	if c.Path == "" {
		return nil, fault.New(fault.Invalid, "cannot open a provider of secrets of kind file: it has no path")
	}
	f := &file{path: c.Path, keep: c.Keep}
	return f, f.fresh()
}

// Get implements Provider.
func (f *file) Get(_ context.Context, name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fresh(); err != nil {
		return "", err
	}
	value, ok := f.values[name]
	if !ok {
		return "", missing(name)
	}
	return value, nil
}

// fresh reads the file if it was not read for a while.
func (f *file) fresh() (err error) {
	if time.Now().Before(f.until) {
		return nil
	}
	f.values, err = f.read()
	f.until = time.Now().Add(f.keep)
	if err != nil {
		f.until = time.Time{}
	}
	return err
}

func (f *file) read() (map[string]string, error) {
	from, err := os.Open(f.path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read secrets: %w", err)
	}
	defer func() { _ = from.Close() }()
	info, err := from.Stat()
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read secrets: %w", err)
	}
	if err := private(f.path, info); err != nil {
		return nil, err
	}
	return f.parse(io.LimitReader(from, maxFile))
}

// private refuses a file that others can read. A pipe that a shell made, as in <(pass …), is nobody else's.
func private(name string, info os.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return fault.New(fault.Invalid, "cannot read secrets from %s: it is a directory, expected a file of NAME=value lines", name)
	case mode.IsRegular() && mode.Perm()&0o077 != 0:
		return fault.New(fault.Denied, "cannot read secrets from %s: its mode is %#o, so other accounts can read or change it; run: chmod 600 %s",
			name, mode.Perm(), quote(name))
	case mode.IsRegular() && info.Size() > maxFile:
		return fault.New(fault.Invalid, "cannot read secrets from %s: it has %d bytes, expected at most %d", name, info.Size(), maxFile)
	}
	return nil
}

// quote writes a path as a shell reads it.
func quote(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (f *file) parse(from io.Reader) (map[string]string, error) {
	out := map[string]string{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxFile)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fault.New(fault.Invalid, "cannot read secrets from %s: line %d is not NAME=value, a comment or empty", f.path, n)
		}
		out[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fault.New(fault.Invalid, "cannot read secrets from %s: %w", f.path, err)
	}
	return out, nil
}

// FileNames lists the names that a file of secrets has.
func FileNames(path string) ([]string, error) {
	values, err := (&file{path: path}).read()
	return slices.Sorted(maps.Keys(values)), err
}
