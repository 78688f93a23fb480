package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
)

// bareCells isolates a shell as a small program would that does nothing else: new namespaces, a /proc, a /tmp and the
// workspace in them, a control group, another user, no privileges to gain. It prints the seconds of each time.
const bareCells = `#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char stack[1 << 16];
static char *work;

static int first(void *unused) {
	if (mount("", "/", "", MS_REC | MS_SLAVE, 0) || mount("proc", "/proc", "proc", 0, 0) || mount(work, work, "", MS_BIND, 0)) return 1;
	if (mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777")) return 1;
	pid_t p = vfork();
	if (p == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (getuid() == 0 && (setgroups(0, 0) || setgid(1900000000) || setuid(1900000000))) _exit(2);
		execl("/bin/sh", "sh", "-eu", "-c", ":", (char *)0);
		_exit(3);
	}
	int status = 1;
	while (wait(&status) > 0) {}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int n, char **v) {
	work = v[1];
	char *group = v[2];
	int flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD | (getuid() ? CLONE_NEWUSER : 0);
	for (int i = atoi(v[3]); i > 0; i--) {
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		if (*group) mkdir(group, 0755);
		pid_t p = clone(first, stack + sizeof stack, flags, 0);
		int status = 1;
		if (p < 0 || waitpid(p, &status, 0) < 0 || status) return fprintf(stderr, "status %d\n", status), 1;
		if (*group) rmdir(group);
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%.9f\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
	}
	return 0;
}
`

// isolations is how many attempts are isolated in each round, and rounds how often both sides take turns.
const isolations, rounds = 100, 5

// measureIsolation compares an isolated command of the local driver with the same made by a small program in C.
func measureIsolation(ctx context.Context, b *bench, _ *limits) (judgement, error) {
	program, err := compileBare(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	place := filepath.Join(b.dir, "isolated")
	work := filepath.Join(place, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	local, err := driver.NewLocal(driver.LocalOptions{Place: place, Cells: true, Isolation: driver.IsolationRequired})
	if err != nil {
		return nil, err
	}
	defer func() { _ = local.Close() }()
	var ours, bare []float64
	for range rounds {
		more, err := isolateBare(ctx, program, work)
		if err != nil {
			return nil, err
		}
		bare = append(bare, more...)
		if more, err = isolate(ctx, local, work); err != nil {
			return nil, err
		}
		ours = append(ours, more...)
	}
	return func(machine) []row {
		return []row{measured("isolation per attempt, p50", 1000*quantile(ours, 0.5), "ms", 1000*quantile(bare, 0.5),
			"the same made by a C program", 1.3, false)}
	}, nil
}

func compileBare(ctx context.Context, dir string) (string, error) {
	source, program := filepath.Join(dir, "cells.c"), filepath.Join(dir, "cells")
	if err := os.WriteFile(source, []byte(bareCells), 0o600); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O1", "-static", "-o", program, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot compile what isolation is compared with: %w: %s", err, out)
	}
	return program, nil
}

// bareGroup is a control group of version 2 that the program may make; "" where it may make none.
func bareGroup() string {
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		dir := filepath.Join(root, "sluice-bench")
		if os.Mkdir(dir, 0o755) == nil {
			_ = os.Remove(dir)
			return dir
		}
	}
	return ""
}

func isolateBare(ctx context.Context, program, work string) ([]float64, error) {
	out, err := exec.CommandContext(ctx, program, work, bareGroup(), strconv.Itoa(isolations)).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot isolate with a small program: %w", err)
	}
	var took []float64
	for line := range strings.Lines(string(out)) {
		one, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

func isolate(ctx context.Context, local *driver.Local, work string) ([]float64, error) {
	var took []float64
	for range isolations {
		start := time.Now()
		p, err := local.Start(ctx, driver.Spec{Args: []string{"sh", "-eu", "-c", ":"}, Dir: work, Output: &bytes.Buffer{}})
		if err != nil {
			return nil, err
		}
		if exit := p.Wait(); !exit.OK() {
			return nil, fmt.Errorf("an isolated shell ended with %s", exit)
		}
		took = append(took, time.Since(start).Seconds())
	}
	return took, nil
}
