package executor

import (
	"context"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// engine tells of local processes what an engine of containers does.
type engine struct {
	driver.Driver
}

func (e engine) Start(ctx context.Context, s driver.Spec) (driver.Process, error) {
	p, err := e.Driver.Start(ctx, s)
	return contained{p, s.Image}, err
}

type contained struct {
	driver.Process
	image string
}

func (c contained) Wait() driver.Exit {
	exit := c.Process.Wait()
	exit.Image, exit.Memory = c.image+"@sha256:1", exit.Code == 137
	return exit
}

// TestEngineIsBelieved: what the command ran in stands in the log, once; that it had too little memory in the reason, with
// its limit. That is the product's fault.
func TestEngineIsBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	local, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	w.start("one", func(c *Config) { c.Use = engine{local} })
	f := w.run(plan.Task{
		Prepare: "echo ready", Run: "exit 137", Image: "python", Resources: map[string]float64{"memory": 1 << 20},
	}, nil)
	if f.Class != release.ClassCommand || f.Outcome != release.Failure || !strings.Contains(f.Reason, "out of memory: its limit is 1048576 bytes") {
		t.Errorf("got %s: %s", f.Class, f.Reason)
	}
	if log := w.log(f); strings.Count(log, "sluice: it ran in the image python@sha256:1\n") != 1 {
		t.Errorf("the log is %q", log)
	}
}
