package bucket

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// copyAtOnce is the most that servers copy in one request.
const copyAtOnce = 5 << 30

// Copy makes the server copy an object of size bytes within the bucket.
func (b *Bucket) Copy(ctx context.Context, from, to string, size int64) error {
	for _, name := range []string{from, to} {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	if size > copyAtOnce {
		return b.copyParts(ctx, from, to, size, copyAtOnce)
	}
	_, err := b.client.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: b.bucket(), Key: b.key(to), CopySource: b.source(from),
	})
	return b.fail("copy "+b.URL(from)+" to", to, err)
}

func (b *Bucket) source(name string) *string {
	return aws.String((&url.URL{Path: b.config.Bucket + "/" + *b.key(name)}).EscapedPath())
}

// copyParts copies what is too large for one request.
func (b *Bucket) copyParts(ctx context.Context, from, to string, size, part int64) error {
	upload, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: b.bucket(), Key: b.key(to), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	if err != nil {
		return b.fail("copy to", to, err)
	}
	done, err := b.copyEach(ctx, upload, from, size, part)
	if err == nil {
		_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: b.bucket(), Key: b.key(to), UploadId: upload.UploadId,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
		})
	}
	if err == nil {
		return nil
	}
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	_, _ = b.client.AbortMultipartUpload(later, &s3.AbortMultipartUploadInput{Bucket: b.bucket(), Key: b.key(to), UploadId: upload.UploadId})
	return b.fail("copy to", to, err)
}

func (b *Bucket) copyEach(ctx context.Context, upload *s3.CreateMultipartUploadOutput, from string, size, part int64) ([]types.CompletedPart, error) {
	var done []types.CompletedPart
	for offset := int64(0); offset < size; offset += part {
		number := aws.Int32(int32(len(done) + 1))
		out, err := b.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
			Bucket: upload.Bucket, Key: upload.Key, UploadId: upload.UploadId, PartNumber: number,
			CopySource:      b.source(from),
			CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", offset, min(offset+part, size)-1)),
		})
		if err != nil {
			return nil, err
		}
		done = append(done, types.CompletedPart{PartNumber: number, ETag: out.CopyPartResult.ETag, ChecksumCRC32: out.CopyPartResult.ChecksumCRC32})
	}
	return done, nil
}
