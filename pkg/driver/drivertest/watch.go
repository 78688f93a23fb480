package drivertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Output keeps what a command says and lets a test wait for it.
type Output struct {
	mu   sync.Mutex
	said bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(b)
}

// String is all that was said so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// Await waits until a text was said, within the deadline.
func (o *Output) Await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(deadline); !strings.Contains(o.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not said within %s, but %.500q", text, deadline, o.String())
		}
	}
}

// markVariable is in the environment of all that the suite starts, so that it is found wherever it went.
const markVariable = "SLUICE_TEST_MARK"

func mark(t *testing.T) string { return fmt.Sprintf("%d@%s@", os.Getpid(), t.Name()) }

// NoneLeft fails when something that carries the test's mark runs. It sees nothing where there is no /proc.
func NoneLeft(t *testing.T) {
	t.Helper()
	if left := Left(t); left != "" {
		t.Errorf("still running: %s", left)
	}
}

// Left tells what carries the test's mark and runs; "" when nothing does.
func Left(t *testing.T) string { return strings.Join(marked(mark(t)), "; ") }

// marked lists living processes with a mark in their environment. Zombies have none.
func marked(mark string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(markVariable+"="+mark)) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found = append(found, fmt.Sprintf("%s %.80q", filepath.Base(filepath.Dir(file)), line))
	}
	return found
}

// Needs ends a test that lacks a program: skipped on a laptop, failed in CI, whose machine has all that
// scripts/prerequisites lists.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if Program(program) != "" {
			continue
		}
		Lacks(t, program+" is missing: run CI=true scripts/prerequisites test")
	}
}

// Lacks ends a test that this machine or user cannot run: skipped on a laptop, failed in CI.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; CI runs every test", what)
	}
	t.Skip(what)
}

// Program finds a program in PATH or where servers are kept; "" when there is none.
func Program(name string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin", "/usr/local/sbin") {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}
