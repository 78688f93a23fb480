//go:build unix

package driver

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Bubblewrap is the sandbox that Local can make.
const Bubblewrap = "bubblewrap"

// probeTime bounds the look whether a sandbox can be made.
const probeTime = 10 * time.Second

// openSandbox makes sure that the sandbox that is asked for can be made here: what runs without one when one was asked
// for would be worse than nothing running.
func (l *Local) openSandbox(kind string) error {
	switch kind {
	case "":
		return nil
	case Bubblewrap:
	default:
		return fault.New(fault.Invalid, "cannot make a sandbox of kind %q: expected %q, or nothing for none", kind, Bubblewrap)
	}
	program, ok := lookPath("bwrap", l.path)
	if !ok {
		return fault.New(fault.Invalid, "cannot make a sandbox: no bwrap in PATH %s; install bubblewrap", l.path)
	}
	l.sandbox = program
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	args := l.boxed(Spec{}, "/bin/sh")
	said, err := exec.CommandContext(ctx, program, append(args[1:], "-c", ":")...).CombinedOutput()
	if err != nil {
		return fault.New(fault.Invalid, "cannot make a sandbox: %w: %.300s; this machine may forbid user namespaces",
			err, bytes.TrimSpace(said))
	}
	return nil
}

// boxed is the command line of bubblewrap for a command. All of the machine is there to read but for other attempts'
// workspaces, and the command can write to its own trees. It cannot be process 1 of its namespace: that would hear no
// SIGTERM.
func (l *Local) boxed(spec Spec, program string) []string {
	args := append([]string{"bwrap"}, machine()...)
	args = append(args, "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL")
	if info, err := os.Stat(l.dir); err == nil && info.IsDir() {
		args = append(args, "--tmpfs", l.dir)
	}
	if !spec.Network {
		args = append(args, "--unshare-net")
	}
	for _, m := range spec.Mounts {
		args = append(args, bindFlag(m.Writable), m.Source, m.At())
	}
	for _, tree := range spec.Trees() {
		if tree != "/" {
			args = append(args, "--bind", tree, tree)
		}
	}
	args = append(args, "--remount-ro", "/", "--chdir", cmp.Or(spec.Dir, "/"), "--", program)
	if len(spec.Args) > 0 {
		args = append(args, spec.Args[1:]...)
	}
	return args
}

// restless reports whether a folder is one below which container engines mount and unmount all the time. A bind of all that lies below a
// folder fails when a mount goes away meanwhile.
func restless(folder string) bool {
	switch folder {
	case "/dev", "/proc", "/run", "/tmp", "/var/run", "/var/tmp",
		"/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/kubelet":
		return true
	default:
		return false
	}
}

// machine binds what is on the machine to be read, folder by folder, but for what is restless.
func machine() []string {
	args := bound("/", "/var")
	args = append(args, bound("/var", "/var/lib")...)
	args = append(args, bound("/var/lib", "")...)
	return append(args, "--dir", "/run", "--symlink", "/run", "/var/run", "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
}

// bound binds the entries of a folder; one of them is left to be bound in parts.
func bound(folder, parts string) []string {
	entries, _ := os.ReadDir(folder) // what cannot be listed cannot be read in the sandbox either
	var args []string
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		if restless(name) || name == parts {
			continue
		}
		if e.Type()&os.ModeSymlink == 0 {
			args = append(args, "--ro-bind-try", name, name)
		} else if target, err := os.Readlink(name); err == nil {
			args = append(args, "--symlink", target, name)
		}
	}
	return args
}

func bindFlag(writable bool) string {
	if writable {
		return "--bind"
	}
	return "--ro-bind"
}
