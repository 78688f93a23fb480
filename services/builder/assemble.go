package builder

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/stamp"
)

const (
	assemblers    = 4                // candidates verified at once
	verifyTimeout = 30 * time.Minute // for all artifacts of a candidate
	retryEvery    = 5 * time.Second  // after the blob store or the stream did not answer
)

// join follows the facts and assembles the candidate of each run whose builds are all in. What did not become a fact is
// tried again.
func (b *builder) join(ctx context.Context) error {
	facts, err := b.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-join", Types: joinHears()})
	if err != nil {
		return err
	}
	defer facts.Close()
	workers := &crew{busy: map[string]bool{}}
	workers.group.SetLimit(assemblers)
	defer workers.wait()
	runs := joins{}
	for {
		batch, err := facts.Next(ctx, retryEvery)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			runs.apply(e)
		}
		if batch.Live {
			for _, c := range runs.ready() {
				workers.start(fmt.Sprint(c.run, c.round), func() { b.conclude(ctx, c) })
			}
		}
	}
}

// crew works on several candidates at once, and on each once.
type crew struct {
	mu    sync.Mutex
	busy  map[string]bool
	group errgroup.Group
}

func (c *crew) start(key string, work func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[key] {
		return
	}
	c.busy[key] = true
	if !c.group.TryGo(func() error {
		defer c.done(key)
		work()
		return nil
	}) {
		delete(c.busy, key) // all hands are busy: the next look finds it again
	}
}

func (c *crew) done(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, key)
}

func (c *crew) wait() { _ = c.group.Wait() }

// conclude says what the builds of a run gave. An error is logged and the run stays ready.
func (b *builder) conclude(ctx context.Context, c complete) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	verdict, err := b.assemble(ctx, c)
	if err == nil {
		err = b.deps.Bus.Publish(ctx, event.New(c.cause, b.deps.Source(Name), b.deps.Now(), verdict))
	}
	if err != nil && ctx.Err() == nil {
		b.deps.Log.Warn("cannot assemble a candidate; trying again", "run", c.run, "err", err)
	}
}

// assemble verifies the artifacts and freezes them.
func (b *builder) assemble(ctx context.Context, c complete) (event.Payload, error) {
	if len(c.failures) > 0 {
		return event.CandidateRejected{Round: c.round, Reasons: c.failures}, nil
	}
	commit := c.planned.Change.Commit
	problems, err := b.verify(ctx, c.artifacts, commit)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return event.CandidateRejected{Round: c.round, Reasons: problems}, nil
	}
	candidate := release.NewCandidate(c.run, commit, c.artifacts)
	text, err := json.Marshal(candidate)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot encode the candidate of %s: %w", c.run, err)
	}
	digest, err := blob.PutBytes(ctx, b.deps.Blobs, text)
	if err != nil {
		return nil, fmt.Errorf("cannot freeze the candidate of %s: %w", c.run, err)
	}
	return event.CandidateAssembled{
		Round: c.round, Candidate: candidate.ID, Blob: digest, Plan: c.planned.Plan, Commit: commit,
		Artifacts: int32(len(candidate.Artifacts)),
	}, nil
}

// verify opens every artifact that should carry the commit and lists those that do not.
func (b *builder) verify(ctx context.Context, artifacts []release.Artifact, commit release.Commit) ([]string, error) {
	var problems []string
	for _, a := range artifacts {
		if !a.Stamped {
			continue
		}
		open := func() (stamp.File, int64, error) { return blob.OpenAt(ctx, b.deps.Blobs, a.Digest) }
		err := stamp.Check(ctx, a, open, commit)
		if fault.Is(err, fault.Invalid) {
			problems = append(problems, err.Error())
		} else if err != nil {
			return nil, err
		}
	}
	return problems, nil
}
