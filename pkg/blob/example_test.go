package blob_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sluiceci/sluice/pkg/blob"
)

func Example() {
	dir, _ := os.MkdirTemp("", "blobs-")
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()

	store, err := blob.Open(ctx, "file://"+dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	digest, size, _ := store.Put(ctx, strings.NewReader("hello"))
	text, _ := blob.ReadAll(ctx, store, digest, 1<<20)
	fmt.Println(digest, size, string(text))
	// Output: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 5 hello
}
