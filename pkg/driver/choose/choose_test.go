package choose_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/fault"
)

// An executor opens the driver that its configuration names, sweeps, and starts.
func Example() {
	place, _ := os.MkdirTemp("", "place-")
	defer func() { _ = os.RemoveAll(place) }()
	ctx := context.Background()
	site, err := choose.Open(ctx, choose.Config{Kind: "local"}, choose.Options{Place: place})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = site.Close() }()
	_, _ = site.Sweep(ctx)
	var out bytes.Buffer
	process, err := site.Start(ctx, driver.Spec{Args: []string{"echo", "hello"}, Dir: place, Output: &out})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(process.Wait(), strings.TrimSpace(out.String()))
	// Output: exit status 0 hello
}

func TestUnknownKind(t *testing.T) {
	_, err := choose.Open(t.Context(), choose.Config{Kind: "vm"}, choose.Options{Place: t.TempDir()})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "expected one of local") {
		t.Errorf("got %v", err)
	}
}
