package faults

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

var threeNodes = flag.Bool("three-nodes", false, "run the services on a NATS cluster of three servers that fail in turn; make e2e does")

// away is for how long a part of the cluster is away: longer than any election, and than every silence that counts for an executor.
const away = 12 * time.Second

// TestThreeNodes releases commits while the servers of a NATS cluster fail in turn. No change is lost, nothing is published twice, and
// no attempt is declared lost whose executor was well.
func TestThreeNodes(t *testing.T) {
	if !*threeNodes {
		t.Skip("it takes minutes: make e2e runs it")
	}
	n := newNodes(t)
	n.ready()
	c := &cluster{t: t, dir: t.TempDir(), binary: binary(t), processes: map[string]*process{}, kills: map[string]int{}}
	c.world = newSurroundings(t, c.dir)
	files := n.installations(c.world.config)
	sluice(t, "setup", "--config", files["setup"])
	c.bus = n.onlooker()
	for _, name := range services() {
		c.world.config = files[name]
		c.start(name)
	}
	t.Cleanup(c.stop)
	commits := map[string]release.Commit{}
	for i, fault := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"the leader of the facts is killed", func() { n.outage(n.leader(), syscall.SIGKILL) }},
		{"the leader of the facts falls silent", func() { n.silence(n.leader()) }},
		{"the leader of the facts falls silent again", func() { n.silence(n.leader()) }},
		{"node 1 falls silent", func() { n.silence(n.all[0]) }},
		{"node 2 falls silent", func() { n.silence(n.all[1]) }},
		{"node 3 falls silent", func() { n.silence(n.all[2]) }},
		{"all nodes are restarted in turn", n.roll},
		{"all nodes are killed at once", n.dark},
	} {
		commit := c.world.push(i+1, false)
		commits[fault.name] = commit
		time.Sleep(time.Duration(i) * 150 * time.Millisecond) // each fault meets the run elsewhere
		fault.do()
		c.awaitRelease(t, fault.name, commit)
	}
	c.tally(t, commits)
}

// outage ends a node and brings it back.
func (n *nodes) outage(one *node, with syscall.Signal) {
	n.end(one, with)
	time.Sleep(away)
	n.start(one)
	n.ready()
}

// silence stops a node's process: its connections stay open, and nothing comes.
func (n *nodes) silence(one *node) {
	n.t.Helper()
	if err := one.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		n.t.Fatal(err)
	}
	time.Sleep(away)
	if err := one.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		n.t.Fatal(err)
	}
	n.ready()
}

func (n *nodes) roll() {
	for _, one := range n.all {
		n.end(one, syscall.SIGTERM)
		n.start(one)
		n.ready()
	}
}

func (n *nodes) dark() {
	for _, one := range n.all {
		_ = one.cmd.Process.Signal(syscall.SIGKILL)
	}
	for _, one := range n.all {
		<-one.exited
	}
	time.Sleep(away)
	for _, one := range n.all {
		n.start(one)
	}
	n.ready()
}

// awaitRelease waits until a commit is released.
func (c *cluster) awaitRelease(t *testing.T, fault string, commit release.Commit) {
	t.Helper()
	run := release.Change{Repo: repo, Ref: "refs/heads/master", Commit: commit}.RunID()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if _, err := c.bus.Get(t.Context(), event.TypeReleasePublished.FilterRun(run)); err == nil {
			return
		}
	}
	t.Fatalf("%s: commit %s is not released after four minutes; facts:\n%s\n%s", fault, commit, story(c.facts(t, run)), c.logs())
}

// tally counts what must not have happened.
func (c *cluster) tally(t *testing.T, commits map[string]release.Commit) {
	t.Helper()
	doubled, lost, attempts, released := 0, 0, 0, 0
	for fault, commit := range commits {
		for target, times := range c.world.received(commit) {
			if times != 1 {
				doubled++
				t.Errorf("%s: %s received commit %s %d times", fault, target, commit.Short(), times)
			}
		}
		run := release.Change{Repo: repo, Ref: "refs/heads/master", Commit: commit}.RunID()
		for _, e := range c.facts(t, run) {
			if e.Type == event.TypeReleasePublished {
				released++
			}
			f, is := e.Data.(event.TaskFinished)
			if is {
				attempts++
			}
			if is && f.Class == release.ClassLost {
				lost++
				t.Errorf("%s: attempt %d of %s was declared lost: %s", fault, f.Attempt, f.Task, f.Reason)
			}
		}
	}
	if released != len(commits) {
		t.Errorf("of %d commits %d were released", len(commits), released)
	}
	t.Logf("%d commits, %d released; %d publications other than once; %d attempts, %d wrongly lost", len(commits), released, doubled, attempts, lost)
}

// installations writes a file for each service, which names only that service's key.
func (n *nodes) installations(config string) map[string]string {
	n.t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		n.t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range append(services(), "setup") {
		identity := name
		if name == "executor" {
			identity = "pool-default"
		}
		files[name] = config + "-" + name
		nats := fmt.Sprintf("\ntest_scheduler: {disconnect: {default: 30s}}\nnats: {urls: [\"%s\"], replicas: 3, creds: %s}\n", strings.Join(n.urls(), `", "`), filepath.Join(n.identities(), identity+".nk"))
		if err := os.WriteFile(files[name], append(bytes.Clone(text), nats...), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	return files
}

func (n *nodes) onlooker() *bus.Bus {
	n.t.Helper()
	key, err := bus.KeyFile(filepath.Join(n.identities(), "onlooker.nk"))
	if err != nil {
		n.t.Fatal(err)
	}
	b, err := bus.Connect(n.t.Context(), strings.Join(n.urls(), ","), bus.Options{Name: "faults", Identity: "onlooker", Key: &key, Onlooker: true, Replicas: 3})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(b.Close)
	return b
}
