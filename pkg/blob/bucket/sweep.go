package bucket

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Sweep aborts the uploads that began before a time and never ended: what crashes left. They are not objects, but they
// take room, and not every server has lifecycle rules for them.
func (b *Bucket) Sweep(ctx context.Context, before time.Time) error {
	pages := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: b.bucket(), Prefix: b.key("")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return b.fail("list the uploads of", "", err)
		}
		for _, u := range page.Uploads {
			if err := b.abort(ctx, u, before); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Bucket) abort(ctx context.Context, u types.MultipartUpload, before time.Time) error {
	if !aws.ToTime(u.Initiated).Before(before) {
		return nil
	}
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: b.bucket(), Key: u.Key, UploadId: u.UploadId})
	if missing(err) {
		return nil // it has ended meanwhile
	}
	return b.fail("abort an upload to", aws.ToString(u.Key), err)
}
