package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// place is a directory that stands for a machine: whoever uses it leaves files there.
func (c *cluster) place(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(c.world.ground(), "rack")
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		err = os.Chmod(dir, 0o777) // every attempt may be another user
	}
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.OpenFile(c.world.config, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(config, "providers: [{name: lab, places: [{name: rack}], clean: 'rm -f %s/*'}]\n", dir)
	if err != nil || config.Close() != nil {
		t.Fatal(err)
	}
	c.kill("test-scheduler")
	return dir
}

// TestADirtyPlaceIsCleanedBeforeItIsLeasedAgain: an executor is killed while its attempt uses a place, then the scheduler
// while the place is cleaned. The next attempt finds it clean.
func TestADirtyPlaceIsCleanedBeforeItIsLeasedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	rack := c.place(t)
	ready := filepath.Join(c.world.ground(), "go")
	c.world.write("sluice.yaml", fmt.Sprintf(`project: tiny
gate: {require: [builds]}
builds:
  soak:
    lease: lab
    checkout: none
    run: |
      test -z "$(ls %[1]s)"
      touch %[1]s/mess
      test -e %[2]s || sleep 60
      rm %[1]s/mess
`, rack, ready))
	commit := c.world.push(1, false)
	run := release.Change{Repo: repo, Ref: "refs/heads/master", Commit: commit}.RunID()
	facts := c.all(t)
	facts.until(t, func(e event.Event) bool { return e.Run == run && e.Type == event.TypeTaskStarted })
	c.wait(t, filepath.Join(rack, "mess"))
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.kill("executor")
	facts.until(t, func(e event.Event) bool {
		g, ok := e.Data.(event.LeaseGranted)
		return ok && g.Holder.Task == lease.TaskClean
	})
	c.kill("test-scheduler")
	facts.until(t, func(e event.Event) bool {
		f, ok := e.Data.(event.TaskFinished)
		return ok && e.Run == run && f.Class == release.ClassOK
	})
	facts.until(t, func(e event.Event) bool {
		f, ok := e.Data.(event.LeaseEnded)
		return ok && f.Token >= 4 && f.State == release.PlaceFree
	})
	var leases []string
	for _, e := range facts.seen {
		switch f := e.Data.(type) {
		case event.LeaseGranted:
			leases = append(leases, fmt.Sprintf("%d to %s", f.Token, f.Holder.Task))
		case event.LeaseEnded:
			leases = append(leases, fmt.Sprintf("%d leaves it %s", f.Token, f.State))
		}
	}
	want := []string{
		"1 to soak", "1 leaves it cleanup-pending", "2 to clean", "2 leaves it free",
		"3 to soak", "3 leaves it cleanup-pending", "4 to clean", "4 leaves it free",
	}
	if !slices.Equal(leases, want) {
		t.Errorf("%s\nwant\n%s\n%s", strings.Join(leases, "\n"), strings.Join(want, "\n"), c.logs())
	}
}

// wait waits for a file.
func (c *cluster) wait(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 60s\n%s", file, c.logs())
		}
	}
}

// reading reads every fact.
type reading struct {
	c    *cluster
	from *bus.Follower
	seen []event.Event
}

func (c *cluster) all(t *testing.T) *reading {
	t.Helper()
	f, err := c.bus.Follow(t.Context(), bus.Following{Name: "faults"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return &reading{c: c, from: f}
}

// until reads on until a fact is there.
func (r *reading) until(t *testing.T, is func(event.Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for !slices.ContainsFunc(r.seen, is) {
		batch, err := r.from.Next(ctx, time.Second)
		if err != nil {
			t.Fatalf("it did not happen: %v; facts:\n%s\n%s", err, story(r.seen), r.c.logs())
		}
		r.seen = append(r.seen, batch.Events...)
	}
}
