package blob

import (
	"context"
	"net/url"
	"strings"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
)

// schemes are the kinds of store that a URL can name. A further kind is one more line here and one more file.
func schemes() map[string]func(ctx context.Context, raw string) (Store, error) {
	return map[string]func(context.Context, string) (Store, error){
		"file": openDirectory,
		"s3":   openBucket,
	}
}

// Open returns the store that a URL names:
//
//	file:///var/lib/sluice/blobs
//	s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1&path_style=true
//
// S3 credentials are those of the usual AWS environment and files; with others, use S3 and bucket.Open. Open does not talk
// to a server: a service starts while its store is down.
func Open(ctx context.Context, raw string) (Store, error) {
	scheme, _, _ := strings.Cut(raw, ":")
	open, ok := schemes()[scheme]
	if !ok {
		return nil, fault.New(fault.Invalid, "cannot open a store of kind %.20q: expected file:///path or s3://bucket/prefix", scheme)
	}
	return open(ctx, raw)
}

func openDirectory(_ context.Context, raw string) (Store, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "cannot open a store in a directory: expected file:// and an absolute path, file:///var/lib/sluice/blobs")
	}
	return Dir(u.Path), nil
}

func openBucket(ctx context.Context, raw string) (Store, error) {
	c, err := bucket.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	b, err := bucket.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return S3(b), nil
}
