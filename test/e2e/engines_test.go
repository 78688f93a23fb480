package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEngines runs every test of containers, the conformance suite and the faults, on Docker: make test runs them on
// podman.
func TestEngines(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []string{"./pkg/driver/container", "./services/executor"} {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", containerTests(room), room)
		cmd.Dir, cmd.Env = top, append(os.Environ(), "CI=true", "SLUICE_TEST_ENGINE=docker")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s on Docker: %v\n%s", room, err, said)
		}
	}
}

// containerTests matches the tests of a room that need an engine.
func containerTests(room string) string {
	if room == "./services/executor" {
		return "Container"
	}
	return "."
}
