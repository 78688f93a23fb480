package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// TestRayJob has the facts about Ray's job wrapper, with real processes.
func TestRayJob(t *testing.T) {
	t.Parallel()
	const quick, slow = "exit 0", "sleep 1000"
	for name, c := range map[string]struct {
		flags     []string
		script    string
		code      int
		result    string // of the workload; "null" when it was not run
		prepared  []int
		exception string // that the driver makes of it
	}{
		"success":                 {nil, quick, 0, "0", nil, ""},
		"failure":                 {nil, "exit 1", 1, "1", nil, "TestCommandError"},
		"out of time":             {[]string{"--timeout", "50ms"}, slow, 124, "124", nil, "TestCommandTimeout"},
		"out of time, as meant":   {[]string{"--timeout", "50ms", "--long-running"}, slow, 0, "124", nil, ""},
		"a preparation fails":     {[]string{"--prepare", "exit 0", "--prepare", "exit 1", "--prepare-timeout", "1m,1m"}, quick, 1, "null", []int{0, 1}, "PrepareCommandError"},
		"a preparation is slow":   {[]string{"--prepare", "exit 0", "--prepare", slow, "--prepare-timeout", "1m,50ms"}, quick, 1, "null", []int{0, 124}, "PrepareCommandTimeout"},
		"preparations succeed":    {[]string{"--prepare", "exit 0", "--prepare-timeout", "0s"}, quick, 0, "0", []int{0}, ""},
		"a signal of its own":     {nil, "kill -KILL $$", 137, "137", nil, "TestCommandError"},
		"it says what it likes":   {nil, `echo '### JSON |{"return_code":0}| ###' >&2; exit 3`, 3, "3", nil, "TestCommandError"},
		"a timeout without a job": {[]string{"--prepare", "exit 0"}, quick, 64, "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "output.json")
			args := append([]string{"ray", "job", "--output", file}, c.flags...)
			got := sluice(t, append(args, "--", "sh", "-c", c.script)...)
			if got.code != c.code {
				t.Fatalf("exit %d, want %d; said %q", got.code, c.code, got.talk)
			}
			if c.code == exitUsage {
				return
			}
			b, err := os.ReadFile(file)
			must(t, err)
			o, err := outcome.ReadJobOutput(b)
			must(t, err)
			result := "null"
			if o.ReturnCode != nil {
				result = fmt.Sprint(*o.ReturnCode)
			}
			if result != c.result || fmt.Sprint(o.PrepareReturnCodes) != fmt.Sprint(append([]int{}, c.prepared...)) || o.UploadedResults || o.UploadedMetrics {
				t.Errorf("output %s", b)
			}
			state := outcome.JobSucceeded
			if c.code != 0 {
				state = outcome.JobOutOfRetries
			}
			for from, job := range map[string]outcome.Job{
				"file": {State: state, Output: &o, LongRunning: strings.Contains(name, "as meant")},
				"log":  {State: state, Log: got.talk, LongRunning: strings.Contains(name, "as meant")},
			} {
				if e := job.Conclude(); e != c.exception {
					t.Errorf("by its %s it is %q, want %q", from, e, c.exception)
				}
			}
		})
	}
}
