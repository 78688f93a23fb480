package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Info is what a server knows of an object.
type Info struct {
	Name    string
	Size    int64
	Tag     string // of the bytes, for Write
	Changed time.Time
	Notes   map[string]string // as they were written; nil in Each
}

// Write says how an object is written. If a condition is not met the error's kind is Conflict.
type Write struct {
	MediaType string
	Notes     map[string]string // kept with the object: names of lower-case letters, values of ASCII
	Absent    bool              // only if there is no such object
	Tag       string            // only if the object is still the one with this tag
	Size      int64             // bytes, for Upload; 0 if not known
}

// Put writes a small object at once and returns its tag.
func (b *Bucket) Put(ctx context.Context, name string, body []byte, w Write) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	in := &s3.PutObjectInput{
		Bucket: b.bucket(), Key: b.key(name), Body: bytes.NewReader(body), ContentType: optional(w.MediaType),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc32, IfMatch: optional(w.Tag), Metadata: w.Notes,
	}
	if w.Absent {
		in.IfNoneMatch = aws.String("*")
	}
	out, err := b.client.PutObject(ctx, in)
	if err != nil {
		return "", b.fail("write", name, err)
	}
	return aws.ToString(out.ETag), nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

// Get opens an object. An object that is not there is an error that wraps fs.ErrNotExist.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, Info, error) {
	return b.get(ctx, name, nil)
}

// GetRange opens n bytes of an object from an offset on.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, n int64) (io.ReadCloser, error) {
	rc, _, err := b.get(ctx, name, aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+n-1)))
	return rc, err
}

func (b *Bucket) get(ctx context.Context, name string, span *string) (io.ReadCloser, Info, error) {
	if err := CheckName(name); err != nil {
		return nil, Info{}, err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: b.bucket(), Key: b.key(name), Range: span})
	if err != nil {
		return nil, Info{}, b.fail("read", name, err)
	}
	return out.Body, Info{
		Name: name, Size: aws.ToInt64(out.ContentLength), Tag: aws.ToString(out.ETag), Changed: aws.ToTime(out.LastModified),
		Notes: out.Metadata,
	}, nil
}

// Stat reports whether an object is there, and what the server knows of it.
func (b *Bucket) Stat(ctx context.Context, name string) (Info, bool, error) {
	if err := CheckName(name); err != nil {
		return Info{}, false, err
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: b.bucket(), Key: b.key(name)})
	if err = b.fail("look for", name, err); errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, err
	}
	return Info{
		Name: name, Size: aws.ToInt64(out.ContentLength), Tag: aws.ToString(out.ETag), Changed: aws.ToTime(out.LastModified),
		Notes: out.Metadata,
	}, true, nil
}

// Remove removes an object. One that is not there is removed already.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: b.bucket(), Key: b.key(name)})
	return b.fail("remove", name, err)
}

// Create makes the bucket if it is not there.
func (b *Bucket) Create(ctx context.Context) error {
	_, err := b.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: b.bucket()})
	var owned *types.BucketAlreadyOwnedByYou
	if errors.As(err, &owned) {
		return nil
	}
	return b.fail("create", "", err)
}

// Each calls fn for every object whose name begins with a prefix, in the order of the names.
func (b *Bucket) Each(ctx context.Context, prefix string, fn func(Info) error) error {
	skip := len(*b.key(""))
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: b.bucket(), Prefix: b.key(prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return b.fail("list", prefix, err)
		}
		for _, o := range page.Contents {
			info := Info{Name: aws.ToString(o.Key)[skip:], Size: aws.ToInt64(o.Size), Tag: aws.ToString(o.ETag), Changed: aws.ToTime(o.LastModified)}
			if err := fn(info); err != nil {
				return err
			}
		}
	}
	return nil
}
