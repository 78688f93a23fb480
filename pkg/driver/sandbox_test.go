//go:build linux

package driver_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/fault"
)

func newSandbox(t *testing.T, place string) *driver.Local {
	t.Helper()
	drivertest.Needs(t, "bwrap")
	local, err := driver.NewLocal(driver.LocalOptions{Place: place, Sandbox: driver.Bubblewrap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	return local
}

func TestSandboxConforms(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Driver { return newSandbox(t, t.TempDir()) })
}

func TestSandboxHoldsTheMachineBack(t *testing.T) {
	place := t.TempDir()
	local := newSandbox(t, place)
	secret := filepath.Join(place, "neighbour")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	outside := filepath.Join(t.TempDir(), "outside")
	for name, script := range map[string]string{
		"a file elsewhere":        "echo x > " + outside,
		"the root":                "echo x > /sluice-was-here",
		"another workspace":       "cat " + secret,
		"processes of the system": fmt.Sprintf("test -d /proc/%d && kill -0 %d", os.Getpid(), os.Getpid()),
		"the network":             fmt.Sprintf("exec bash -c 'echo > /dev/tcp/127.0.0.1/%d'", listener.Addr().(*net.TCPAddr).Port),
		"mounts":                  "mount -o remount,rw /",
	} {
		if exit := drivertest.Exit(t, t.Context(), local, drivertest.Shell(t, script, nil)); exit.OK() {
			t.Errorf("the sandbox lets a command have %s", name)
		}
	}
	spec := drivertest.Shell(t, "echo x > /tmp/x; echo x > /dev/shm/x; echo x > mine; cat /etc/passwd", nil)
	if exit := drivertest.Exit(t, t.Context(), local, spec); !exit.OK() {
		t.Errorf("the sandbox has no room of its own: %v", exit)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside")
	}
}

func TestSandboxShowsWhatItIsToldTo(t *testing.T) {
	local := newSandbox(t, t.TempDir())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	source, attempt := t.TempDir(), t.TempDir()
	spec := drivertest.Shell(t, "", nil)
	spec.Args[3] = fmt.Sprintf(`echo a > %[1]s/a; echo b > /opt/b || echo c > %[2]s/c; mkdir d; exec bash -c 'echo > /dev/tcp/127.0.0.1/%[3]d'`,
		source, attempt, listener.Addr().(*net.TCPAddr).Port)
	spec.Mounts = []driver.Mount{{Source: source, Writable: true}, {Source: t.TempDir(), Target: "/opt"}}
	spec.Network, spec.Root, spec.Dir = true, attempt, filepath.Join(attempt, "work")
	if err := os.Mkdir(spec.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	exit := drivertest.Exit(t, t.Context(), local, spec)
	for _, name := range []string{filepath.Join(source, "a"), filepath.Join(attempt, "c"), filepath.Join(spec.Dir, "d")} {
		if _, err := os.Stat(name); err != nil || !exit.OK() {
			t.Errorf("%v: %v", exit, err)
		}
	}
}

// TestSandboxIsNeverLeftOutSilently: what cannot be had is an error.
func TestSandboxIsNeverLeftOutSilently(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "bwrap"), []byte("#!/bin/sh\necho no namespaces for you >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, options := range []driver.LocalOptions{
		{Sandbox: "chroot"},
		{Sandbox: driver.Bubblewrap, Path: t.TempDir()},
		{Sandbox: driver.Bubblewrap, Path: broken + ":/bin:/usr/bin"},
	} {
		options.Place = t.TempDir()
		_, err := driver.NewLocal(options)
		if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), "cannot make a sandbox") {
			t.Errorf("%+v gives %v", options, err)
		}
	}
}

func TestLimitsOfLocal(t *testing.T) {
	local := newLocal(t)
	for name, one := range map[string]struct {
		limits driver.Limits
		script string
		shows  string
	}{
		"file size": {driver.Limits{FileSize: 1 << 20}, "head -c 2000000 /dev/zero > big || wc -c < big; head -c 2000 /dev/zero > small", "1048576"},
		"memory":    {driver.Limits{Memory: 64 << 20}, "head -c 200M /dev/zero | tail -c 150M | wc -c; echo ended", "ended"},
		"cpu time":  {driver.Limits{CPUTime: time.Second}, "sh -c 'while :; do :; done' || echo $?", "152"},
		"processes": {driver.Limits{Processes: 4321}, "grep -o 'Max processes *4321' /proc/self/limits | tr -d ' '", "Maxprocesses4321"},
		"all":       {driver.Limits{Memory: 1 << 30, CPUTime: time.Minute, FileSize: 1 << 30}, `n=$(wc -c); echo "in $n"`, "in 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			spec := drivertest.Shell(t, one.script, &out)
			spec.Limits = one.limits
			exit := drivertest.Exit(t, t.Context(), local, spec)
			if !exit.OK() || !strings.Contains(out.String(), one.shows) || strings.Contains(out.String(), "157286400") {
				t.Errorf("%v with output %q, expected %q", exit, out.String(), one.shows)
			}
		})
	}
}

func TestLimitedAndBoxed(t *testing.T) {
	var out bytes.Buffer
	spec := drivertest.Shell(t, "head -c 2000000 /dev/zero > big; exit 5", &out)
	spec.Limits = driver.Limits{FileSize: 1 << 20}
	spec.Args = append(spec.Args[:1], "-c", `head -c 2000000 /dev/zero > big; wc -c < big; echo "$1"; exit 5`, "sh", "a b")
	exit := drivertest.Exit(t, t.Context(), newSandbox(t, t.TempDir()), spec)
	if exit.Code != 5 || !strings.HasSuffix(out.String(), "1048576\na b\n") || exit.Leftovers != 0 {
		t.Errorf("%+v with output %q", exit, out.String())
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Error(err)
	}
}
