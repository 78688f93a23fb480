package choose_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/driver/container/enginetest"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/fault"
)

func openAuto(t *testing.T) driver.Site {
	t.Helper()
	site, err := choose.Open(t.Context(), choose.Config{Kind: "auto"}, choose.Options{Place: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = site.Close() })
	return site
}

// TestAutoNeedsNoEngineForProcesses: what names an image is refused with all that was looked for, and nothing else is.
func TestAutoNeedsNoEngineForProcesses(t *testing.T) {
	home := t.TempDir()
	for name, want := range map[string][]string{
		"unix://" + home + "/ghost.sock": {"DOCKER_HOST unix://" + home + "/ghost.sock (not there)"},
		"carrier-pigeon":                 {"DOCKER_HOST carrier-pigeon (cannot use the engine"},
	} {
		t.Setenv("DOCKER_HOST", name)
		site := openAuto(t)
		if exit := drivertest.Exit(t, t.Context(), site, drivertest.Shell(t, "exit 0", nil)); !exit.OK() {
			t.Errorf("a process gives %v", exit)
		}
		spec := drivertest.Shell(t, "exit 0", nil)
		spec.Image = "busybox"
		_, err := site.Start(t.Context(), spec)
		if !fault.Is(err, fault.Invalid) {
			t.Fatalf("an image without an engine gives %v", err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %q", err, part)
			}
		}
	}
}

// TestAutoFindsTheEngine runs one command in a container and one beside it.
func TestAutoFindsTheEngine(t *testing.T) {
	enginetest.Needs(t)
	engine, err := enginetest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Stop)
	t.Setenv("DOCKER_HOST", engine.Host)
	site := openAuto(t)
	for image, want := range map[string]bool{"": true, engine.Image: false} {
		spec := drivertest.Shell(t, "test -e "+os.Args[0], nil) // a file of this machine
		spec.Image = image
		if exit := drivertest.Exit(t, t.Context(), site, spec); exit.OK() != want {
			t.Errorf("in image %q: %v", image, exit)
		}
	}
}
