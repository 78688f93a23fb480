package bucket

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Sweep aborts the uploads that began before a time and never ended: what crashes left. They are not objects, but they
// take room, and not every server has lifecycle rules for them.
func (b *Bucket) Sweep(ctx context.Context, before time.Time) error {
	return b.EachUpload(ctx, func(u Unfinished) error {
		if !u.Began.Before(before) {
			return nil
		}
		_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: b.bucket(), Key: aws.String(u.key), UploadId: aws.String(u.id)})
		if missing(err) {
			return nil // it has ended meanwhile
		}
		return b.fail("abort an upload to", u.Name, err)
	})
}

// Unfinished is an upload in parts that has not ended.
type Unfinished struct {
	Name  string // of the object that it is to become
	Began time.Time

	key, id string
}

// EachUpload calls f for the uploads below the bucket's prefix that have not ended.
func (b *Bucket) EachUpload(ctx context.Context, f func(Unfinished) error) error {
	pages := s3.NewListMultipartUploadsPaginator(b.client, &s3.ListMultipartUploadsInput{Bucket: b.bucket(), Prefix: b.key("")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return b.fail("list the uploads of", "", err)
		}
		for _, u := range page.Uploads {
			key := aws.ToString(u.Key)
			name := strings.TrimPrefix(key, aws.ToString(b.key("")))
			if err := f(Unfinished{Name: name, Began: aws.ToTime(u.Initiated), key: key, id: aws.ToString(u.UploadId)}); err != nil {
				return err
			}
		}
	}
	return nil
}
