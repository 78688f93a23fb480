package driver_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// TestIsolatedCommandsCannotSendToTheMetadataAddress: where that is held the kernel drops the packet before it leaves.
func TestIsolatedCommandsCannotSendToTheMetadataAddress(t *testing.T) {
	local := newIsolated(t, driver.LocalOptions{})
	var said bytes.Buffer
	exit := drivertest.Exit(t, t.Context(), local, driver.Spec{Args: []string{"bash", "-c", "echo hello >/dev/udp/169.254.169.254/80"}, Dir: t.TempDir(), Output: &said})
	held := slices.Contains(local.Isolation().Held, driver.HoldsMetadata)
	if os.Geteuid() == 0 && !held {
		t.Errorf("root cannot hold it: %q", local.Isolation().Missing)
	}
	if held && exit.OK() {
		t.Errorf("a packet was sent: %s", said.String())
	}
}

// TestACommandWithoutLimitsHasUsualOnes: one that makes processes for ever ends them, not the machine.
func TestACommandWithoutLimitsHasUsualOnes(t *testing.T) {
	local := newIsolated(t, driver.LocalOptions{})
	var said bytes.Buffer
	drivertest.Exit(t, t.Context(), local, driver.Spec{Args: []string{"sh", "-c", "cat /proc/self/cgroup"}, Dir: t.TempDir(), Output: &said})
	group := ""
	for line := range strings.Lines(said.String()) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 && (parts[1] == "pids" || parts[1] == "") {
			group = filepath.Join("/sys/fs/cgroup", parts[1], parts[2])
			if most, err := os.ReadFile(filepath.Join(group, "pids.max")); err == nil {
				if got := strings.TrimSpace(string(most)); got == "max" {
					t.Errorf("the group %s has no limit", group)
				}
				return
			}
		}
	}
	if slices.Contains(local.Isolation().Held, driver.HoldsPIDs) {
		t.Errorf("no limit was found in %q", said.String())
	}
}

// TestSandboxHasNoKeys: what a user's keys hold stays when all of its processes have ended.
func TestSandboxHasNoKeys(t *testing.T) {
	local := newSandbox(t, t.TempDir())
	if exit := drivertest.Exit(t, t.Context(), local, drivertest.Shell(t, "grep -q '^Seccomp:.*2$' /proc/self/status", nil)); !exit.OK() {
		t.Errorf("a command in the sandbox has no filter of system calls: %v", exit)
	}
}
