package blob

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// schemes are the kinds of store that a URL can name. A further kind is one more line here and one more file.
func schemes() map[string]func(context.Context, *url.URL, Options) (Store, error) {
	return map[string]func(context.Context, *url.URL, Options) (Store, error){
		"file": openDirectory,
	}
}

// Options are what a URL does not say.
type Options struct{}

// Open returns the store that a URL names:
//
//	file:///var/lib/sluice/blobs
func Open(ctx context.Context, raw string, options Options) (Store, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot open store: %w", err)
	}
	open, ok := schemes()[u.Scheme]
	if !ok {
		return nil, fault.New(fault.Invalid, "cannot open store %q: expected file:///path or s3://bucket/prefix", u.Redacted())
	}
	return open(ctx, u, options)
}

func openDirectory(_ context.Context, u *url.URL, _ Options) (Store, error) {
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" {
		return nil, fault.New(fault.Invalid, "cannot open store %q: expected file:// and an absolute path, file:///var/lib/sluice/blobs", u.Redacted())
	}
	s := Dir(u.Path)
	if err := s.sweep(time.Now()); err != nil {
		return nil, fault.New(fault.Transient, "cannot open store %s: %w", s.path, err)
	}
	return s, nil
}
