package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// places makes the installation's places facts: what it offers is registered, what it no longer offers is taken away. It
// does so once, at the start, so that two schedulers with different files do not contradict each other for ever.
func (s *scheduler) places(ctx context.Context) error {
	known, err := s.registered(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]event.PlaceRegistered{}
	for _, p := range s.config.Providers {
		if err := s.offer(ctx, p, wanted); err != nil {
			return err
		}
	}
	if err := s.register(ctx, known, wanted); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// places answers who holds what, and what is wrong with each place.
func (d *desk) places(context.Context, lease.Everything) ([]lease.Place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Leases().Places(), nil
}

// registered reads the newest registration of each place.
func (s *scheduler) registered(ctx context.Context) (map[string]event.PlaceRegistered, error) {
	f, err := s.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-places", Types: []event.Type{event.TypePlaceRegistered}})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := map[string]event.PlaceRegistered{}
	for {
		batch, err := f.Next(ctx, patrol)
		if err != nil {
			return nil, err
		}
		for _, e := range batch.Events {
			if p, ok := e.Data.(event.PlaceRegistered); ok {
				known[nameOf(p)] = p
			}
		}
		if batch.Live {
			return known, nil
		}
	}
}

func nameOf(p event.PlaceRegistered) string { return p.Provider + "/" + p.Place }

// offer adds the places of a provider, and stores the plan by which they are cleaned and checked.
func (s *scheduler) offer(ctx context.Context, p Provider, wanted map[string]event.PlaceRegistered) error {
	digest, err := s.maintenance(ctx, p)
	if err != nil {
		return err
	}
	for _, one := range p.list() {
		r := event.PlaceRegistered{
			Provider: p.Name, Place: one.Name, Pool: p.Pool, Plan: string(digest), Capacity: one.Capacity, Address: one.address(),
			Health: p.Health != "", Clean: p.Clean != "",
		}
		wanted[nameOf(r)] = r
	}
	return nil
}

// maintenance stores the tasks "clean" and "health" of a provider as a plan.
func (s *scheduler) maintenance(ctx context.Context, p Provider) (release.Digest, error) {
	if p.Clean == "" && p.Health == "" {
		return "", nil
	}
	made := plan.Plan{
		Trust:   release.TrustRelease, // it is the installation's own
		Project: "provider " + p.Name, Change: release.Change{Kind: release.Schedule},
		Tasks: []plan.Task{}, Skipped: []plan.Skipped{}, Warnings: []string{},
	}
	for id, script := range map[release.TaskID]string{lease.TaskClean: p.Clean, lease.TaskHealth: p.Health} {
		if script != "" {
			made.Tasks = append(made.Tasks, p.task(id, script))
		}
	}
	slices.SortFunc(made.Tasks, func(a, b plan.Task) int { return compareIDs(a.ID, b.ID) })
	text, digest, err := made.Encode()
	if err != nil {
		return "", err
	}
	if _, err := blob.PutBytes(ctx, s.deps.Blobs, text); err != nil {
		return "", fmt.Errorf("cannot store how the places of provider %s are cleaned and checked: %w", p.Name, err)
	}
	return digest, nil
}

func (p Provider) task(id release.TaskID, script string) plan.Task {
	return plan.Task{
		ID: id, Name: string(id) + " a place of " + p.Name, Kind: release.Cleanup, Pool: p.Pool, Run: script, Checkout: "none",
		Secrets: p.Secrets, TimeoutS: p.timeout().Seconds(), Timeouts: release.Timeouts{Command: release.Duration(p.timeout())},
		Gang: plan.Gang{Each: p.On == OnPlace}, Why: "the installation's provider " + p.Name + " asks for it",
	}
}

func compareIDs(a, b release.TaskID) int {
	if a < b {
		return -1
	}
	return 1
}

// register says what is new. A version follows from the one before it, so that a place which is changed back is said
// again.
func (s *scheduler) register(ctx context.Context, known, wanted map[string]event.PlaceRegistered) error {
	var events []event.Event
	say := func(before, now event.PlaceRegistered) {
		version := before.Version
		if before.Version = ""; before != now {
			now.Version = release.Derive(version, fmt.Sprintf("%+v", now))
			events = append(events, event.Root(event.Fleet, s.deps.Source(Name), s.deps.Now(), now))
		}
	}
	for name, now := range wanted {
		say(known[name], now)
	}
	for name, before := range known {
		if _, offered := wanted[name]; !offered {
			gone := before
			gone.Version, gone.Removed = "", true
			say(before, gone)
		}
	}
	return s.deps.Bus.Publish(ctx, events...)
}
