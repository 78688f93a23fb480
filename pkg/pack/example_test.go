package pack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/pack"
)

// A directory goes into a store without a temporary file, and comes out again.
func Example() {
	ctx := context.Background()
	work, _ := os.MkdirTemp("", "pack-")
	defer func() { _ = os.RemoveAll(work) }()
	from, to := filepath.Join(work, "from"), filepath.Join(work, "to")
	_ = os.MkdirAll(filepath.Join(from, "docs"), 0o755)
	_ = os.WriteFile(filepath.Join(from, "docs", "index.html"), []byte("<h1>Hello</h1>"), 0o600)
	store := blob.Dir(filepath.Join(work, "blobs"))

	stream := pack.Stream(ctx, from)
	digest, _, err := store.Put(ctx, stream)
	_ = stream.Close()
	fmt.Println(err)

	blob, _, _ := store.Open(ctx, digest)
	fmt.Println(pack.Untar(ctx, blob, to, pack.Limits{Bytes: 1 << 20}))
	_ = blob.Close()
	text, _ := os.ReadFile(filepath.Join(to, "docs", "index.html"))
	fmt.Println(string(text))
	// Output:
	// <nil>
	// <nil>
	// <h1>Hello</h1>
}
