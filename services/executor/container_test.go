package executor

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/driver/container/enginetest"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// boxed is a task as a pool of containers or sandboxes gets it. It tells how many networks it sees, and leaves a file and
// a report.
func boxed() plan.Task {
	return plan.Task{
		Prepare: "echo prepared > prepared",
		Run: `cat prepared; echo "networks: $(grep -c : /proc/net/dev)"
! echo x > /sluice-was-here || test -n "$SLUICE_TEST_ROOT"
echo made > out.txt; mkdir sub; cp out.txt sub/deep.txt
echo '<testsuite><testcase name="a"/></testsuite>' > junit.xml`,
		Cleanup: `test -e out.txt && echo "cleaned after $SLUICE_OUTCOME"`,
		Outputs: []plan.Output{{Type: "text", Path: "*.txt"}, {Type: "deep", Path: "sub/*.txt"}},
		Reports: plan.Reports{JUnit: "*.xml"},
	}
}

// TestContainerPool runs attempts in containers of a real engine: the workspace is there and comes back with what was
// made in it, there is no network unless the task asks, and the limits hold.
func TestContainerPool(t *testing.T) {
	t.Parallel()
	enginetest.Needs(t)
	engine, err := enginetest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Stop)
	for name, test := range map[string]func(*testing.T, *world, *enginetest.Engine){
		"whole": containerWhole, "network": containerNetwork, "memory": containerMemory, "image": containerImage,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start("one", func(c *Config) {
				c.Driver = choose.Config{Kind: "container", Container: choose.Container{Host: engine.Host, Network: "host"}}
			})
			test(t, w, engine)
		})
	}
}

func containerWhole(t *testing.T, w *world, engine *enginetest.Engine) {
	task := boxed()
	task.Image = engine.Registry + "/sluice/busybox:1"
	task.Variables = map[string]string{"SLUICE_TEST_ROOT": "a container's root is its own"}
	f := w.run(task, nil)
	log := w.log(f)
	if f.Class != release.ClassOK || f.Tests.Total != 1 || len(f.Artifacts) != 2 || w.blob(f.Artifacts[1].Digest) != "made\n" {
		t.Fatalf("got %+v, log %q", f, log)
	}
	for _, want := range []string{"prepared\n", "networks: 1\n", "cleaned after success", "it ran in the image " + engine.Registry + "/sluice/busybox@" + engine.Digest} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

func containerNetwork(t *testing.T, w *world, engine *enginetest.Engine) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	f := w.run(plan.Task{
		Image: engine.Image, Network: "full", Run: fmt.Sprintf("nc 127.0.0.1 %d -e true", listener.Addr().(*net.TCPAddr).Port),
	}, nil)
	if f.Class != release.ClassOK {
		t.Errorf("a task that asks for a network ended as %s: %s", f.Class, f.Reason)
	}
}

func containerMemory(t *testing.T, w *world, engine *enginetest.Engine) {
	f := w.run(plan.Task{
		Image: engine.Image, Resources: map[string]float64{"memory": 32 << 20}, Run: "dd if=/dev/zero of=/dev/null bs=200M count=1",
	}, nil)
	if f.Outcome == release.Success || !strings.Contains(f.Reason, "out of memory") {
		t.Errorf("a task that takes more memory than it has ended as %s: %s", f.Class, f.Reason)
	}
}

func containerImage(t *testing.T, w *world, engine *enginetest.Engine) {
	f := w.run(plan.Task{Image: engine.Registry + "/sluice/secret/x:1", Run: ":"}, nil)
	if f.Class != release.ClassConfig && f.Class != release.ClassSetup || !strings.Contains(f.Reason, "sluice/secret/x:1") {
		t.Errorf("an image that cannot be had ended as %s: %s", f.Class, f.Reason)
	}
}

// TestSandboxPool runs the same in bubblewrap: the machine's files are there to read, and only the workspace to write.
func TestSandboxPool(t *testing.T) {
	t.Parallel()
	drivertest.Needs(t, "bwrap")
	w := newWorld(t)
	w.start("one", func(c *Config) { c.Driver = choose.Config{Kind: "local", Local: choose.Local{Sandbox: "bubblewrap"}} })
	f := w.run(boxed(), nil)
	log := w.log(f)
	if f.Class != release.ClassOK || f.Tests.Total != 1 || len(f.Artifacts) != 2 || w.blob(f.Artifacts[1].Digest) != "made\n" {
		t.Fatalf("got %+v, log %q", f, log)
	}
	if !strings.Contains(log, "prepared\n") || !strings.Contains(log, "networks: 1\n") || !strings.Contains(log, "cleaned after success") {
		t.Errorf("log %q", log)
	}
}
