package bucket

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	tmtypes "github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"

	"github.com/sluiceci/sluice/pkg/release"
)

// An upload holds at most (concurrency + 2) parts in memory: 48 MiB.
const (
	// PartSize is the size of the parts of an upload in bytes. What is smaller goes in one request.
	PartSize    = 8 << 20
	concurrency = 4
)

// Upload is what is known of an object before it is written.
type Upload struct {
	Size      int64 // bytes; 0 if not known
	MediaType string
	Absent    bool           // only if there is no such object; else the error's kind is Conflict
	Digest    release.Digest // kept with the object, for Stat; it is not checked here
}

// Upload streams an object of any size with bounded memory and without a temporary file. If r fails, its error is
// returned as it is and there is no object.
func (b *Bucket) Upload(ctx context.Context, name string, r io.Reader, u Upload) error {
	if err := CheckName(name); err != nil {
		return err
	}
	in := &source{Reader: r}
	input := &transfermanager.UploadObjectInput{
		Bucket: b.bucket(), Key: b.key(name), Body: in, ContentType: optional(u.MediaType),
		ChecksumAlgorithm: tmtypes.ChecksumAlgorithmCrc32,
	}
	if u.Size > 0 {
		input.ContentLength = aws.Int64(u.Size) // very large objects get larger parts: there are at most 10 000
	}
	if u.Digest != "" {
		input.Metadata = map[string]string{digestKey: u.Digest.Hex()}
	}
	if u.Absent {
		input.IfNoneMatch = aws.String("*")
	}
	_, err := transfermanager.New(b.client, tune).UploadObject(ctx, input)
	if in.failed != nil {
		return in.failed
	}
	return b.fail("write", name, err)
}

func tune(o *transfermanager.Options) {
	o.PartSizeBytes = PartSize
	o.MultipartUploadThreshold = PartSize
	o.Concurrency = concurrency
	o.FailTimeout = 15 * time.Second // to abort the upload although its context has ended
}

// source remembers how reading failed, so that it can be told from how writing failed.
type source struct {
	io.Reader
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}
