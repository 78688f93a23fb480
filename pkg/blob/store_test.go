package blob_test

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/blob/blobtest"
)

func TestDirConforms(t *testing.T) {
	blobtest.Conform(t, blob.Dir(t.TempDir()))
}

func TestS3Conforms(t *testing.T) {
	server := blobtest.Serve(t)
	t.Run("whole bucket", func(t *testing.T) {
		s := blob.S3(server.Bucket(t, "blobs", ""))
		if _, err := blob.PutBytes(t.Context(), s, []byte("hello")); err != nil {
			t.Error(err)
		}
	})
	t.Run("below a prefix", func(t *testing.T) {
		server.Bucket(t, "shared", "")
		t.Setenv("AWS_ACCESS_KEY_ID", blobtest.AccessKey)
		t.Setenv("AWS_SECRET_ACCESS_KEY", blobtest.SecretKey)
		s, err := blob.Open(t.Context(), server.URL("shared", "some/where"))
		if err != nil {
			t.Fatal(err)
		}
		blobtest.Conform(t, s)
	})
}
