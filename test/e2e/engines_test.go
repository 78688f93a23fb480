package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestDocker runs every test of containers, the conformance suite and the faults, on Docker: make test runs them on
// podman.
func TestDocker(t *testing.T) {
	for room, tests := range map[string]string{"pkg/driver/container": ".", "services/executor": "Container"} {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", tests, "./"+room)
		cmd.Dir, cmd.Env = top(t), append(os.Environ(), "CI=true", "SLUICE_TEST_ENGINE=docker")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s on Docker: %v\n%s", room, err, said)
		}
	}
}

// somebody is a user id that nobody has.
const somebody = 64321

// TestRootlessPodman runs the driver's tests as an ordinary user, on a podman of that user. The user needs no account
// and no lines in /etc/subuid: it is root inside, and there is nobody else.
func TestRootlessPodman(t *testing.T) {
	// Below /tmp, and short: podman refuses a runtime directory of more than 50 characters.
	dir, err := os.MkdirTemp("/tmp", "r-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "container.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./pkg/driver/container")
	build.Dir = top(t)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	args := []string{program}
	if os.Getuid() == 0 {
		id := strconv.Itoa(somebody)
		args = []string{"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups", program}
		if err := os.Chown(dir, somebody, somebody); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "CI=true", "SLUICE_TEST_ENGINE=podman"}
	log, err := os.Create(filepath.Join(t.TempDir(), "log")) // and no pipe, which what podman leaves would hold open
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name()) // an empty one tells as little as none
		t.Errorf("%v\n%s", err, said)
	}
}
