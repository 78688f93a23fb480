package enginetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func podman() Kind {
	return Kind{
		Name: "podman", Programs: []string{"podman", "runc", "conmon"}, Rootless: true,
		prepare: preparePodman, stop: stopPodman, second: secondPodman,
		client: func(_ *Engine, args ...string) *exec.Cmd { return exec.Command("podman", args...) },
		server: func(e *Engine) *exec.Cmd { return exec.Command("podman", "system", "service", "--time", "0", e.Host) },
	}
}

// containersConf makes podman ask for nothing that an ordinary container or virtual machine lacks: no systemd, no
// limits above its own.
const containersConf = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=%[2]d:%[2]d"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "%[1]s/tmp"
[network]
network_config_dir = "%[1]s/networks"
`

const storageConf = `[storage]
driver = "%[2]s"
runroot = "%[1]s/run"
graphroot = "%[1]s/storage"
`

// mostProcesses bounds those of a container; without root no more than the user itself may have.
func mostProcesses() uint64 {
	const many = 2000
	var own syscall.Rlimit
	if err := syscall.Getrlimit(rlimitNPROC, &own); err != nil || os.Getuid() == 0 {
		return many
	}
	return min(own.Max, many)
}

const rlimitNPROC = 6

func preparePodman(e *Engine) error {
	for name, text := range map[string]string{
		"containers.conf": fmt.Sprintf(containersConf, e.Dir, mostProcesses()), "storage.conf": fmt.Sprintf(storageConf, e.Dir, e.storage),
		"registries.conf": fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", e.Registry), "auth.json": `{"auths":{}}`,
		"policy.json": `{"default":[{"type":"insecureAcceptAnything"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(e.Dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	// The names are short: without root podman refuses, late and quietly, a runtime directory of more than 50 characters.
	e.env = append(os.Environ(), "HOME="+e.Dir,
		"CONTAINERS_CONF="+e.Dir+"/containers.conf", "CONTAINERS_STORAGE_CONF="+e.Dir+"/storage.conf",
		"CONTAINERS_REGISTRIES_CONF="+e.Dir+"/registries.conf", "REGISTRY_AUTH_FILE="+e.Dir+"/auth.json",
		"XDG_RUNTIME_DIR="+e.Dir+"/r", "TMPDIR="+e.Dir+"/t")
	return nil
}

// secondPodman serves the same images and containers once more.
func secondPodman(e *Engine) (*Engine, error) {
	second := &Engine{Image: e.Image, Tag: e.Tag, Dir: e.Dir, kind: e.kind, env: e.env, socket: "second.sock"}
	second.kind.stop = func(second *Engine) { second.end(syscall.SIGKILL) }
	return second, second.Serve()
}

func stopPodman(e *Engine) {
	e.end(syscall.SIGKILL)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	reset := exec.CommandContext(ctx, "podman", "system", "reset", "--force")
	reset.Env = e.env
	_ = reset.Run()
	e.unpause()
	e.remove()
}

// unpause ends the process that holds the name spaces of a podman without root.
func (e *Engine) unpause() {
	text, err := os.ReadFile(filepath.Join(e.Dir, "tmp", "pause.pid"))
	if err != nil {
		return
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
