package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/loopback"
	"github.com/sluiceci/sluice/pkg/release"
)

// demoOptions are the flags of `sluice up --demo`.
type demoOptions struct {
	on      bool
	exit    bool
	project string
}

// demoChange is one of the demo's three commits and what must become of it.
type demoChange struct {
	title     string
	push      func(context.Context) (release.Commit, error)
	line      string // the ref that its run is of
	outcome   release.Outcome
	published bool
}

// demo is a run of the demo.
type demo struct {
	options demoOptions
	out     io.Writer
	dir     string
	world   *demoWorld
	p       *platform
}

// run starts the platform and its world, pushes three commits and shows what becomes of them.
func (o demoOptions) run(ctx context.Context, in *installation, out io.Writer, level string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return exitWith(2, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if in.Dir == "" {
		in.Dir = filepath.Join(dir, "sluice")
	}
	release, err := anyPort(in)
	if err != nil {
		return exitWith(2, err)
	}
	defer release()
	d := &demo{options: o, out: out, dir: dir}
	if d.world, err = newDemoWorld(ctx, dir, in); err != nil {
		return exitWith(2, err)
	}
	defer d.world.Close()
	return d.serve(ctx, cancel, in, level)
}

// anyPort chooses the port that "--listen HOST:0" leaves open: the forge must know it before the platform listens.
func anyPort(in *installation) (release func(), err error) {
	host, port, err := net.SplitHostPort(in.Listen)
	if err != nil || port != "0" || host != "127.0.0.1" {
		return func() {}, nil // a wrong address is told where it is listened at
	}
	in.Listen, release, err = loopback.Reserve()
	return release, err
}

func (d *demo) serve(ctx context.Context, cancel context.CancelFunc, in *installation, level string) error {
	if level == "info" {
		level = "error" // the demo tells its own story; --log debug shows everything
	}
	log, err := logger(level)
	if err != nil {
		return err
	}
	if d.p, err = newPlatform(ctx, in, log); err != nil {
		return exitWith(2, err)
	}
	defer d.p.close()
	if err := d.p.writeConnection(); err != nil {
		return exitWith(2, err)
	}
	served := make(chan error, 1)
	go func() { served <- d.p.run(ctx) }()
	told := d.tell(ctx)
	if told == nil && !d.options.exit {
		fmt.Fprintf(d.out, "\nIt stays up: %s (ctrl-c ends it; sluice --server %s runs lists what you saw)\n", in.PublicURL, in.PublicURL)
		<-ctx.Done()
	}
	cancel()
	if err := <-served; err != nil {
		return exitWith(2, err)
	}
	if told != nil && !errors.Is(told, context.Canceled) {
		return exitWith(1, told)
	}
	return nil
}

// tell is the story: three changes, and the proof of the release.
func (d *demo) tell(ctx context.Context) error {
	start := time.Now()
	d.say("Sluice is up: %s\n%s", d.p.in.PublicURL, d.world.describe())
	fitted, err := d.world.seed(ctx, d.options.project)
	if err != nil {
		return err
	}
	d.say("the project, fitted to this machine: %s", strings.ReplaceAll(fitted, "\n", "\n  "))
	for i, c := range d.changes() {
		d.say("\n%d. %s", i+1, c.title)
		if err := d.play(ctx, c); err != nil {
			return err
		}
	}
	d.say("\nThree changes in %.0f seconds: one release, proven by its users' clients; one pull request; one shut gate.",
		time.Since(start).Seconds())
	return nil
}

func (d *demo) changes() []demoChange {
	return []demoChange{
		{
			title: "A push to master: built, tested, released", push: d.world.pushMaster, line: "refs/heads/master",
			outcome: release.Success, published: true,
		},
		{
			title: "A pull request: built and tested, and it can never publish", push: d.world.openPullRequest,
			line: "refs/pull/1/head", outcome: release.Success,
		},
		{
			title: "A push to master with a bug that only the release tests see: the gate stays shut", push: d.world.pushBug,
			line: "refs/heads/master", outcome: release.Failure,
		},
	}
}

// play pushes a commit, follows its run to the end, and compares what came of it with what must.
func (d *demo) play(ctx context.Context, c demoChange) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	commit, err := c.push(ctx)
	if err != nil {
		return err
	}
	run := release.Change{Repo: demoRepo, Ref: c.line, Commit: commit, Kind: release.Push}.RunID()
	d.say("   %s/runs/%s", d.p.in.PublicURL, run)
	show := &progress{out: d.out, prefix: "   ", now: time.Now}
	finished, err := show.run(ctx, d.p.deps.Bus, run)
	if err != nil {
		return fmt.Errorf("cannot follow run %s: %w", run, err)
	}
	if finished.Outcome != c.outcome {
		return fmt.Errorf("run %s ended with %s (%s), but must end with %s", run, finished.Outcome, finished.Reason, c.outcome)
	}
	published, err := d.published(ctx, run)
	if err != nil || published != c.published {
		return fmt.Errorf("run %s: published is %v, but must be %v: %w", run, published, c.published, err)
	}
	if published {
		return d.world.prove(ctx, commit, d.say)
	}
	return d.world.proveAbsent(ctx, commit, d.say)
}

// published reports whether a run made a release, or so much as asked for a step of one.
func (d *demo) published(ctx context.Context, run release.RunID) (bool, error) {
	_, err := d.p.deps.Bus.Get(ctx, event.TypeReleasePublished.FilterRun(run))
	if err == nil {
		return true, nil
	}
	if bus.Empty(err) {
		return false, nil
	}
	return false, err
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
