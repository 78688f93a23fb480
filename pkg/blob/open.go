package blob

import (
	"context"
	"net/url"
	"strings"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Options are what a store's URL does not say.
type Options struct {
	// AccessKey and SecretKey are S3 credentials; if empty, those of the usual AWS environment and files are used.
	AccessKey, SecretKey, SessionToken string
}

// schemes are the kinds of store that a URL can name. A further kind is one more line here and one more file.
func schemes() map[string]func(ctx context.Context, raw string, o Options) (Store, error) {
	return map[string]func(context.Context, string, Options) (Store, error){
		"file": openDirectory,
		"s3":   openBucket,
	}
}

// Open returns the store that a URL names:
//
//	file:///var/lib/sluice/blobs
//	s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1&path_style=true
//
// It does not talk to a server: a service starts while its store is down.
func Open(ctx context.Context, raw string, o Options) (Store, error) {
	scheme, _, _ := strings.Cut(raw, ":")
	open, ok := schemes()[scheme]
	if !ok {
		return nil, fault.New(fault.Invalid, "cannot open a store of kind %.20q: expected file:///path or s3://bucket/prefix", scheme)
	}
	return open(ctx, raw, o)
}

func openDirectory(_ context.Context, raw string, _ Options) (Store, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "cannot open store %q: expected file:// and an absolute path, file:///var/lib/sluice/blobs", raw)
	}
	return Dir(u.Path), nil
}

func openBucket(ctx context.Context, raw string, o Options) (Store, error) {
	c, err := bucket.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	c.AccessKey, c.SecretKey, c.SessionToken = o.AccessKey, o.SecretKey, o.SessionToken
	b, err := bucket.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return S3(b), nil
}
