//go:build unix

package driver

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
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
	var err error
	if l.filter, err = callFilter(); err != nil {
		return fault.New(fault.Invalid, "cannot make a sandbox: cannot make a filter of system calls: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	args := l.boxed(Spec{}, "/bin/sh")
	probe := exec.CommandContext(ctx, program, append(args[1:], "-c", ":")...)
	if l.filter != nil {
		file, err := again(l.filter)
		if err != nil {
			return fault.New(fault.Invalid, "cannot make a sandbox: %w", err)
		}
		defer func() { _ = file.Close() }()
		probe.ExtraFiles = []*os.File{file}
	}
	said, err := probe.CombinedOutput()
	if err != nil {
		return fault.New(fault.Invalid, "cannot make a sandbox: %w: %.300s; this machine may forbid user namespaces",
			err, bytes.TrimSpace(said))
	}
	l.isolation = Isolation{
		Held: []string{HoldsUser, HoldsPID, HoldsMount, HoldsIPC, HoldsNetwork},
		Missing: []string{
			"limits of memory and processes as a whole: bubblewrap holds those of each process",
			"the metadata address 169.254.169.254: bubblewrap keeps no task with network: full from it",
		},
	}
	return nil
}

// filterFD is where bubblewrap finds the filter of system calls.
const filterFD = 3

// boxed is the command line of bubblewrap for a command. It sees what a program needs to run and nothing else: a list of
// what is there cannot forget what should not be. It cannot be process 1 of its namespace: that would hear no SIGTERM.
func (l *Local) boxed(spec Spec, program string) []string {
	args := append([]string{"bwrap"}, machine(spec.Network)...)
	args = append(args, "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL")
	if !spec.Network {
		args = append(args, "--unshare-net")
	}
	if l.filter != nil {
		args = append(args, "--seccomp", strconv.Itoa(filterFD))
	}
	for _, m := range append(slices.Clone(l.shown), spec.Mounts...) {
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

// programs and their libraries, as distributions lay them out.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"}
}

// settings are what programs read of /etc: no keys, no passwords, nothing of services.
func settings() []string {
	return []string{
		"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "debian_version", "default/locale", "environment", "fonts", "group", "host.conf",
		"inputrc", "issue", "java", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias",
		"locale.conf", "locale.gen", "localtime", "login.defs", "lsb-release", "magic", "magic.mime", "mailcap", "manpath.config", "maven", "mime.types", "networks",
		"nsswitch.conf", "openssl", "os-release", "passwd", "pki/ca-trust", "pki/java", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "profile", "profile.d",
		"protocols", "python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "redhat-release", "rpc", "services", "shells", "skel",
		"ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "xattr.conf", "xdg",
	}
}

// networkSettings are what names of hosts need.
func networkSettings() []string { return []string{"/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf"} }

// machine binds what every command sees, to be read.
func machine(network bool) []string {
	var args []string
	for _, dir := range systemDirs() {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	for _, name := range settings() {
		args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	args = append(args, "--dir", "/run", "--dir", "/var", "--symlink", "/run", "/var/run")
	if network {
		for _, name := range append(networkSettings(), "/run/systemd/resolve", "/run/resolvconf") {
			args = append(args, "--ro-bind-try", name, name)
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
