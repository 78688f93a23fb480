package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const liveRuns = 100

// measureRestart starts a Sluice that has a long history and runs that wait, and looks when the first of these goes on.
func measureRestart(ctx context.Context, b *bench, _ *limits) (judgement, error) {
	p, err := b.start(ctx, "{pool: other, slots: 1}")
	if err != nil {
		return nil, err
	}
	defer func() { p.stop() }()
	var waiting release.RunID
	for range liveRuns {
		commit, err := p.commit(ctx, oneTask(probe{path: "true"}))
		if err != nil {
			return nil, err
		}
		if waiting, err = p.announce(ctx, commit); err != nil {
			return nil, err
		}
		if err := p.await(ctx, waiting, event.TypeTaskRequested); err != nil {
			return nil, err
		}
	}
	p.stop()
	reading, last, err := p.age(ctx, b.history)
	if err != nil {
		return nil, err
	}
	if err := p.digest(ctx, last); err != nil {
		return nil, err
	}
	if p.config, err = p.write("again.yaml", "listen: 127.0.0.1:0", withSlots(slots)); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := p.up(ctx); err != nil {
		return nil, err
	}
	facts, err := p.finish(ctx, waiting)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.tail())
	}
	took := at(facts, event.TypeTaskStarted).Sub(began).Seconds()
	return func(machine) []row {
		return []row{measured(fmt.Sprintf("restart with %d facts: the newest of %d waiting runs goes on after", b.history, liveRuns), took, "s",
			reading, "reading those facts", 1.5, false)}
	}, nil
}

// digest starts Sluice until its tables have a run, as those of a Sluice have that has lived through its history.
func (p *sluice) digest(ctx context.Context, run release.RunID) error {
	if err := p.up(ctx); err != nil {
		return err
	}
	defer p.stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/runs/"+string(run), nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || bytes.Contains(text, []byte(`"success"`)) {
			return err
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// age gives a Sluice that does not run a history of runs that are over. It says how long it takes to read all facts, and
// which run is the last.
func (p *sluice) age(ctx context.Context, facts int) (reading float64, last release.RunID, err error) {
	server, err := bus.Embed(bus.ServerOptions{Dir: filepath.Join(p.dir, "sluice", "nats")})
	if err != nil {
		return 0, "", err
	}
	defer server.Close()
	b, err := server.Connect(ctx, bus.Options{})
	if err != nil {
		return 0, "", err
	}
	defer b.Close()
	for said, i := 0, 0; said < facts; i++ {
		past := history(i)
		if err := b.Publish(ctx, past...); err != nil {
			return 0, "", err
		}
		said, last = said+len(past), past[0].Run
	}
	start := time.Now()
	f, err := b.Follow(ctx, bus.Following{Name: "bench"})
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	for {
		batch, err := f.Next(ctx, time.Minute)
		if err != nil || batch.Live {
			return time.Since(start).Seconds(), last, err
		}
	}
}

// history is a run of a hundred tasks that is over.
func history(i int) []event.Event {
	run := release.RunID(fmt.Sprintf("%08x-history", i))
	now := time.Now().Add(-24 * time.Hour)
	var out []event.Event
	say := func(p event.Payload) { out = append(out, event.Root(run, "/bench", now, p)) }
	change := release.Change{
		Kind: release.Push, Project: "bench", Repo: repo, Ref: "refs/heads/master", Branch: "master",
		Commit: release.Commit(fmt.Sprintf("%040x", i+1)), Title: "history", Verified: "poll", At: now,
	}
	plan := release.DigestOf([]byte(run))
	say(event.ChangeReceived{Change: change})
	say(event.RunPlanned{Trust: release.TrustTrusted, Change: change, Plan: plan, Builds: 100})
	for t := range 100 {
		task := release.TaskID(fmt.Sprint("t", t))
		say(event.TaskRequested{Task: task, Name: string(task), Job: "t", Kind: release.Build, Pool: "past", Plan: plan})
		say(event.TaskDispatched{Task: task, Attempt: 1, Pool: "past", Plan: plan})
		say(event.TaskStarted{Task: task, Attempt: 1, Pool: "past", Executor: "old"})
		say(event.TaskFinished{Task: task, Attempt: 1, Pool: "past", Executor: "old", Outcome: release.Success, Class: release.ClassOK})
	}
	say(event.CandidateAssembled{Candidate: plan, Blob: plan, Plan: plan, Commit: change.Commit})
	say(event.GateClosed{Reason: "history"})
	say(event.RunFinished{Outcome: release.Success})
	return out
}
