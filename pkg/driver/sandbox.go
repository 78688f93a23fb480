//go:build unix

package driver

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
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
	args := []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"}
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
	args = append(args, "--chdir", cmp.Or(spec.Dir, "/"), "--", program)
	if len(spec.Args) > 0 {
		args = append(args, spec.Args[1:]...)
	}
	return args
}

func bindFlag(writable bool) string {
	if writable {
		return "--bind"
	}
	return "--ro-bind"
}
