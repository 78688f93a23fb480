package git

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// keptRefs is how many of the newest commits git compares with the remote's at the next fetch. With a ref for
	// each of 5 000 commits a fetch takes twenty times as long.
	keptRefs = 50
	// keptPacks is how many packs may stand side by side until they are rolled up.
	keptPacks = 50
)

// keep bounds what grows with the number of fetches. Objects are never removed: work trees borrow them. That it could not
// be done is no reason to refuse a commit that is there; it is done after the next fetch.
func (f fetching) keep(ctx context.Context) {
	f.mirror.forgetRefs()
	packs, _ := filepath.Glob(filepath.Join(f.mirror.path, "objects", "pack", "*.pack"))
	if len(packs) < keptPacks {
		return
	}
	k := f.call
	k.args = []string{"repack", "--geometric=2", "-d", "-q"}
	_, _ = f.cache.run(ctx, k)
}

// forgetRefs removes the oldest refs of fetched commits. They are files: nothing ever packs them.
func (m *mirror) forgetRefs() {
	dir := filepath.Join(m.path, "refs", "sluice")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= keptRefs {
		return
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age(b), age(a)) })
	for _, e := range entries[:len(entries)-keptRefs] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}

func age(e os.DirEntry) time.Duration {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return time.Since(info.ModTime())
}
