package bucket

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	tmtypes "github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"

	"github.com/sluiceci/sluice/pkg/fault"
)

// An upload holds at most concurrency + 2 parts in memory: 25 MiB.
const (
	// PartSize is the size of the parts of an upload in bytes, the least that servers take. What is smaller goes in one
	// request.
	PartSize    = 5 << 20
	concurrency = 3

	// MaxUnknown is the most that can be uploaded if the size is not said before, in bytes: there are at most 10 000 parts.
	MaxUnknown = 10_000 * PartSize
)

// Upload streams an object of any size with bounded memory and without a temporary file. If r fails, its error is
// returned as it is and there is no object. Of unknown size at most MaxUnknown bytes are taken.
func (b *Bucket) Upload(ctx context.Context, name string, r io.Reader, w Write) error {
	if err := CheckName(name); err != nil {
		return err
	}
	in := &source{Reader: r, left: MaxUnknown}
	input := &transfermanager.UploadObjectInput{
		Bucket: b.bucket(), Key: b.key(name), Body: in, ContentType: optional(w.MediaType), Metadata: w.Notes,
		ChecksumAlgorithm: tmtypes.ChecksumAlgorithmCrc32, IfMatch: optional(w.Tag),
	}
	if w.Size > 0 {
		in.left = math.MaxInt64
		input.ContentLength = aws.Int64(w.Size) // very large objects get larger parts
	}
	if w.Absent {
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

// source remembers how reading failed, so that it can be told from how writing failed, and ends what is too much.
type source struct {
	io.Reader
	left   int64
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.left -= int64(n); s.left < 0 {
		err = fault.New(fault.Invalid, "cannot upload more than %d bytes whose number is not known before", int64(MaxUnknown))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}
