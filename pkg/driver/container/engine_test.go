package container_test

import (
	"os"
	"sync"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver/container/enginetest"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// shared is the one engine of all tests; TestMain stops it.
var (
	started *enginetest.Engine
	shared  = sync.OnceValues(func() (_ *enginetest.Engine, err error) {
		started, err = enginetest.Start()
		return started, err
	})
)

func TestMain(m *testing.M) {
	code := drivertest.Overlap(m)
	if started != nil {
		started.Stop()
	}
	os.Exit(code)
}

// newEngine gives the tests' engine, or skips where there cannot be one.
func newEngine(t *testing.T) *enginetest.Engine {
	t.Helper()
	enginetest.Needs(t)
	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return e
}
