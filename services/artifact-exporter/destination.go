package exporter

import (
	"context"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// DestinationConfig says where things are kept.
type DestinationConfig struct {
	Name     string   `yaml:"name"`     // a token: "archive"; it is part of the consumers' names
	URL      string   `yaml:"url"`      // "file:///srv/exports" or "s3://bucket/prefix?endpoint=…&region=…&path_style=true"
	Projects []string `yaml:"projects"` // globs of projects; empty means all

	// AccessKey and SecretKey are names of secrets of the installation; if empty, S3 credentials are those of the usual
	// AWS environment.
	AccessKey string `yaml:"access_key"`
	SecretKey string `yaml:"secret_key"`
}

// destination is a place that keeps files under names. Names are clean relative paths with "/"; none is ever a directory
// of another. Whatever of this fails half-way is repeated from the beginning.
type destination interface {
	// put writes a file, unless it is there. A file is there whole or not at all.
	put(ctx context.Context, name string, f file) error

	// claim writes a small file, unless one is there, and returns what is there then: the first one wins.
	claim(ctx context.Context, name string, text []byte) ([]byte, error)

	// lead makes a folder, latest/ or released/, lead to a manifest at once. replaces is asked with the manifest that it leads to now, or nil, and
	// says whether the new one takes its place; of two that lead at once the second is asked again.
	lead(ctx context.Context, folder string, to manifest, replaces func(now []byte) (bool, error)) error

	// location is the address of a name, for people.
	location(name string) string

	// sweep removes what crashes left before a time.
	sweep(ctx context.Context, before time.Time) error
}

// file is something to be kept.
type file struct {
	path      string // below the home of its run
	digest    release.Digest
	size      int64
	mediaType string
	open      func(ctx context.Context) (io.ReadCloser, error) // fails at its end if the bytes are not those of the digest
}

// destinations are the kinds of destination by their URL's scheme.
func destinations() map[string]func(DestinationConfig, secret) (destination, error) {
	return map[string]func(DestinationConfig, secret) (destination, error){
		"file": openDirectory, // destination_dir.go
		"s3":   openBucket,    // destination_s3.go
	}
}

// secret looks up a value by its name.
type secret func(name string) (string, error)

func openDestination(c DestinationConfig, secrets secret) (destination, error) {
	if !release.Token(c.Name) || len(c.Name) > 40 {
		return nil, fault.New(fault.Invalid, "its name is %q, expected up to 40 letters, digits, - and _", c.Name)
	}
	for _, glob := range c.Projects {
		if !doublestar.ValidatePattern(glob) {
			return nil, fault.New(fault.Invalid, "%q is no glob of projects", glob)
		}
	}
	scheme, _, _ := strings.Cut(c.URL, ":")
	open, ok := destinations()[scheme]
	if !ok {
		return nil, fault.New(fault.Invalid, "its URL is of kind %.20q, expected file:///path or s3://bucket/prefix", scheme)
	}
	return open(c, secrets)
}

// directoryOf is the path of a file URL.
func directoryOf(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.Invalid, "its URL is %q, expected file:// and an absolute path, file:///srv/exports", raw)
	}
	return u.Path, nil
}
