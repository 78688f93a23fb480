package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	defaultNodes  = 10 * time.Minute // until every node of a lease must be ready; the scheduler allows as much
	defaultExpiry = 24 * time.Hour   // after which places that were made for an attempt are destroyed
	readyPause    = 250 * time.Millisecond
	readyMost     = 10 * time.Second
	destroyTries  = 3
	maxAddresses  = 1 << 20 // bytes
)

// findMaker finds the provider of the definition that makes the attempt's places.
func (a *attempt) findMaker() {
	for i := range a.plan.Providers {
		if one := &a.plan.Providers[i]; one.Create != "" && a.task.Lease.Wanted() && one.Name == a.task.Lease.Provider {
			a.maker = one
		}
	}
}

// checkLease refuses a task that was given no places and cannot make any.
func (a *attempt) checkLease() error {
	if !a.task.Lease.Wanted() || len(a.lease.Places) > 0 || a.maker != nil {
		return nil
	}
	return fail(release.ClassConfig, "cannot lease from provider %q: neither this installation nor the definition has one of that name that "+
		"makes places", a.task.Lease.Provider)
}

// awaitNodes makes the places, where the definition makes its own, and waits until every node is ready.
func (a *attempt) awaitNodes(ctx context.Context) error {
	if a.maker != nil {
		limit := firstSet(a.data.Timeouts.Nodes, a.task.Timeouts.Nodes, release.Duration(defaultNodes))
		bound, cancel := bounded(ctx, limit, release.ClassInfraTimeout, "waiting for the nodes")
		defer cancel()
		if err := a.phase("nodes", func() error { return a.makePlaces(bound) }); err != nil {
			return orCause(bound, err)
		}
	}
	return a.makeNodes(ctx)
}

func (a *attempt) makePlaces(ctx context.Context) error {
	if err := a.prove(ctx); err != nil {
		return err
	}
	expires := a.e.now().Add(firstSet(a.maker.Expiry, release.Duration(defaultExpiry))).UTC()
	if err := a.announce(ctx, expires); err != nil {
		return err
	}
	env := a.makerVariables(expires)
	file := filepath.Join(a.dir, placesName)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return fail(release.ClassInfra, "cannot make the file of places: %w", err)
	}
	env["SLUICE_PLACES"] = file
	create := order{phase: "create", what: "making the places", text: a.maker.Create, class: release.ClassInfra, env: env, root: true}
	if err := a.script(ctx, a.here(), create); err != nil {
		return err
	}
	addresses, err := readAddresses(a.dir)
	if err != nil {
		return err
	}
	if err := a.move(addresses); err != nil {
		return err
	}
	if err := a.e.place.record(a.ref, record{Data: a.data, Made: true, Addresses: addresses, Expires: expires}); err != nil {
		return classify("", err)
	}
	return a.awaitReady(ctx, expires)
}

// announce says, before anything is made, what will have to be destroyed: here, on the disk, and for everybody.
func (a *attempt) announce(ctx context.Context, expires time.Time) error {
	if err := a.e.place.record(a.ref, record{Data: a.data, Made: true, Expires: expires}); err != nil {
		return classify("", err)
	}
	made := event.PlacesCreated{
		Task: a.ref.Task, Attempt: a.ref.Attempt, Pool: a.e.config.Pool, Provider: a.maker.Name, Plan: a.data.Plan,
		Owner: a.owner(), Expires: expires, Lease: a.data.Lease,
	}
	if err := a.e.deps.Bus.Publish(ctx, event.Root(a.ref.Run, a.e.source(), a.e.now(), made)); err != nil {
		return classify(release.ClassInfra, err)
	}
	return nil
}

// makerVariables are what the commands of a provider see beside the attempt's own: how many places are wanted, and the
// tags that tell whose they are and until when.
func (a *attempt) makerVariables(expires time.Time) map[string]string {
	env := map[string]string{
		"SLUICE_NODES":   strconv.Itoa(int(a.task.Lease.Count())),
		"SLUICE_OWNER":   a.owner(),
		"SLUICE_EXPIRES": expires.Format(time.RFC3339),
		"SLUICE_TAG":     strings.Join([]string{"sluice", string(a.ref.Run), string(a.ref.Task), strconv.Itoa(int(a.ref.Attempt))}, "-"),
	}
	maps.Copy(env, a.makers)
	return env
}

// placesName is the file that a provider's command writes the places to that it made.
const placesName = "places"

// readAddresses reads what the provider printed: an address on each line.
func readAddresses(dir string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fail(release.ClassInfra, "cannot read the places that were made: %w", err)
	}
	defer func() { _ = root.Close() }()
	text, err := files.Read(root, placesName, maxAddresses)
	if err != nil {
		return nil, fail(release.ClassInfra, "cannot read the places that were made: expected a file of at most %d bytes at $SLUICE_PLACES: %w", maxAddresses, err)
	}
	return strings.Fields(string(text)), nil
}

// move writes the addresses of places that were made into the lease.
func (a *attempt) move(addresses []string) error {
	want := int(a.task.Lease.Count())
	if len(addresses) != want {
		return fail(release.ClassInfra, "provider %s made %d places, expected %d; its command prints the address of each to $SLUICE_PLACES",
			a.maker.Name, len(addresses), want)
	}
	places := slices.Clone(a.lease.Places)
	for i, address := range addresses {
		if i == len(places) {
			places = append(places, release.Held{Place: a.maker.Name + "-" + strconv.Itoa(i)})
		}
		if address == "local" { // this machine: a fact has no address for it
			address = ""
		}
		places[i].Address = address
	}
	a.lease.Provider, a.lease.Places = a.maker.Name, places
	return nil
}

// awaitReady asks until every node is up.
func (a *attempt) awaitReady(ctx context.Context, expires time.Time) error {
	if a.maker.Ready == "" {
		return nil
	}
	env := a.makerVariables(expires)
	for pause := readyPause; ; pause = min(2*pause, readyMost) {
		err := a.script(ctx, a.here(), order{
			phase: "ready", what: "asking whether the nodes are ready", text: a.maker.Ready, class: release.ClassInfra, env: env, root: true,
		})
		var known *failure
		if err == nil || ctx.Err() != nil || !errors.As(err, &known) || known.class != release.ClassInfra {
			return orCause(ctx, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// destroy destroys the places that were made, or may have been. Its error says what is left.
func (a *attempt) destroy(ctx context.Context) error {
	r, found, err := a.e.place.recorded(a.ref)
	if err != nil || !found || !r.Made {
		return err
	}
	if err := a.destroyMade(ctx, r.Expires); err != nil {
		return err
	}
	return a.e.sayDestroyed(ctx, a.ref, a.maker.Name)
}

// destroyMade runs the command that destroys, a few times if need be.
func (a *attempt) destroyMade(ctx context.Context, expires time.Time) error {
	ctx, cancel := bounded(ctx, a.cleanupLimit(), release.ClassInfraTimeout, "destroying the places")
	defer cancel()
	o := order{
		phase: "destroy", what: "destroying the places", text: a.maker.Destroy, class: release.ClassInfra, env: a.makerVariables(expires), root: true,
	}
	var err error
	for try := range destroyTries {
		if err = a.script(ctx, a.here(), o); err == nil || ctx.Err() != nil || try == destroyTries-1 {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second << try):
		}
	}
	if err != nil {
		return fmt.Errorf("the places of provider %s are left: %w", a.maker.Name, err)
	}
	return nil
}

func (e *executor) sayDestroyed(ctx context.Context, ref event.AttemptRef, provider string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return e.deps.Bus.Publish(ctx, event.Root(ref.Run, e.source(), e.now(), event.PlacesDestroyed{
		Task: ref.Task, Attempt: ref.Attempt, Pool: e.config.Pool, Provider: provider,
	}))
}
