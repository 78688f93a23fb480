package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Credential is what a remote asks for over http and https. Password may be a token.
type Credential struct {
	Username string // "x-token" when empty: forges ignore it beside a token
	Password string // empty: the remote is asked without a credential
}

// Options of a Cache. The zero value is usable.
type Options struct {
	// Credentials returns what to show to the remote at url, which holds no credential itself.
	Credentials func(ctx context.Context, url string) (Credential, error)
	// FetchTimeout bounds one fetch, 10 minutes by default; LsTimeout one listing of refs, 30 seconds.
	FetchTimeout, LsTimeout time.Duration
	// MissingFor is how long a commit that the remote does not have may still be on its way, 1 minute by default.
	MissingFor time.Duration
	// Command is the git command, "git" by default.
	Command string
}

// Cache is a directory of bare mirrors, one per URL. It is safe for concurrent use, also by several processes.
type Cache struct {
	dir     string
	command string
	options Options

	mu      sync.Mutex
	mirrors map[string]*mirror
	missing map[string]time.Time // url and commit → when the remote was first seen without it
}

// New makes a cache below dir, which is created.
func New(dir string, options Options) (*Cache, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot use %q for git mirrors: %w", dir, err)
	}
	command, err := exec.LookPath(orElse(options.Command, "git"))
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot find the git command: %w; install git 2.31 or newer", err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fault.New(fault.Internal, "cannot make the directory of git mirrors: %w", err)
	}
	options.FetchTimeout = orElse(options.FetchTimeout, 10*time.Minute)
	options.LsTimeout = orElse(options.LsTimeout, 30*time.Second)
	options.MissingFor = orElse(options.MissingFor, time.Minute)
	return &Cache{
		dir: absolute, command: command, options: options,
		mirrors: map[string]*mirror{}, missing: map[string]time.Time{},
	}, nil
}

// mirror returns the mirror of a remote; SHA-256 repositories have mirrors of their own.
func (c *Cache) mirror(r remote, commit release.Commit) *mirror {
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	name := release.Slug(r.host+"-"+release.Derive("mirror", r.url, format)[:16]) + ".git"
	c.mu.Lock()
	defer c.mu.Unlock()
	m, known := c.mirrors[name]
	if !known {
		m = &mirror{path: filepath.Join(c.dir, name), format: format, turn: make(chan struct{}, 1)}
		c.mirrors[name] = m
	}
	return m
}

// ready returns the mirror that holds the commit, after fetching it if need be.
func (c *Cache) ready(ctx context.Context, url string, commit release.Commit, refs ...string) (*mirror, error) {
	r, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if !commit.Valid() {
		return nil, fault.New(fault.Invalid, "cannot fetch commit %q of %s: expected 40 or 64 hexadecimal digits", commit, r.url)
	}
	m := c.mirror(r, commit)
	if m.has(commit) {
		return m, nil
	}
	return m, c.fetch(ctx, r, m, commit, refs)
}

// sinceMissing notes that the remote does not have the commit and returns for how long that has been so.
func (c *Cache) sinceMissing(key string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, first := range c.missing {
		if time.Since(first) > 10*c.options.MissingFor {
			delete(c.missing, k)
		}
	}
	first, known := c.missing[key]
	if !known {
		first = time.Now()
		c.missing[key] = first
	}
	return time.Since(first)
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
