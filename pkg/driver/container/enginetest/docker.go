package enginetest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func docker() Kind {
	return Kind{
		Name: "docker", Programs: []string{"dockerd", "docker", "containerd", "runc"},
		prepare: prepareDocker, stop: stopDocker, died: containerdDied, second: secondDocker,
		client: func(e *Engine, args ...string) *exec.Cmd {
			return exec.Command("docker", append([]string{"--host", e.Host}, args...)...)
		},
		server: serveDocker,
	}
}

// prepareDocker gives Docker a home of its own, so that no settings of a user reach it.
func prepareDocker(e *Engine) error {
	e.env = append(os.Environ(), "HOME="+e.Dir, "DOCKER_CONFIG="+e.Dir, "DOCKER_HOST=", "DOCKER_CONTEXT=", "DOCKER_TMPDIR="+e.Dir+"/t")
	return os.WriteFile(filepath.Join(e.Dir, "daemon.json"), []byte("{}"), 0o600)
}

// serveDocker is a daemon that touches nothing of the machine's network.
func serveDocker(e *Engine) *exec.Cmd {
	dir, storage := e.Dir, e.storage
	if storage == "overlay" {
		storage = "overlay2"
	}
	return exec.Command("dockerd", "--host", e.Host, "--config-file", dir+"/daemon.json",
		"--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid",
		"--iptables=false", "--ip6tables=false", "--bridge=none", "--shutdown-timeout=1", "--storage-driver="+storage)
}

// secondDocker is a daemon of its own: two cannot share their containers.
func secondDocker(e *Engine) (*Engine, error) {
	second := &Engine{Dir: filepath.Join(filepath.Dir(e.Dir), "second"), kind: e.kind, socket: e.socket, storage: e.storage}
	if err := second.start(); err != nil {
		second.Stop()
		return nil, err
	}
	return second, nil
}

// containerdDied waits for the end of the daemon's own containerd: the next daemon would take it for alive.
func containerdDied(e *Engine) {
	pid, err := os.ReadFile(filepath.Join(e.Dir, "exec", "containerd", "containerd.pid"))
	if err != nil {
		return
	}
	process := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(process); err != nil {
			return
		}
	}
}

// stopDocker ends the daemon and unmounts what a killed one left.
func stopDocker(e *Engine) {
	e.end(syscall.SIGTERM)
	defer e.remove()
	table, err := os.Open("/proc/self/mounts")
	if err != nil {
		return
	}
	defer func() { _ = table.Close() }()
	for lines := bufio.NewScanner(table); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[1], e.Dir+"/") {
			_ = syscall.Unmount(fields[1], syscall.MNT_DETACH)
		}
	}
}
