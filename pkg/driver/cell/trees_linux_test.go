package cell

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNoNumberOfFilesHidesOne: what a command left in a scratch directory is found by the number of entries, so all of them are
// counted, however long their names are and however many one system call brings.
func TestNoNumberOfFilesHidesOne(t *testing.T) {
	dir := t.TempDir()
	for n := range 100 {
		if got, err := entries(dir, math.MaxInt); err != nil || got != n {
			t.Fatalf("of %d entries %d are counted, %v", n, got, err)
		}
		for most := range n {
			if got, err := entries(dir, most); err != nil || got <= most {
				t.Fatalf("%d entries count as %d when more than %d are too many, %v", n, got, most, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(n)+strings.Repeat("x", n%2*200)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
