package executor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/release"
)

// node is one place of a gang: a room of its own there.
type node struct {
	room
	index int
	held  release.Held
	lost  error // why it takes no further part
}

// nodesName is the directory of the nodes' rooms, below the attempt's.
const nodesName = "nodes"

// String names the node for people.
func (n *node) String() string {
	return fmt.Sprintf("node %d (%s at %s)", n.index, n.held.Place, addressOf(n.held))
}

// makeNodes gives every place of a gang a room with a copy of the workspace.
func (a *attempt) makeNodes(ctx context.Context) error {
	if !a.task.Gang.Each {
		return nil
	}
	if len(a.lease.Places) == 0 {
		return fail(release.ClassConfig, "cannot run task %s on every node: it leases no places", a.task.ID)
	}
	a.nameNodes(ctx)
	for _, n := range a.nodes {
		if n.lost != nil {
			a.log.note(n.String() + ": " + n.lost.Error())
			continue
		}
		if err := a.furnish(ctx, n); err != nil {
			return orCause(ctx, classify(release.ClassInfra, err))
		}
	}
	return a.tally(ctx, order{what: "reaching the nodes"})
}

// nameNodes makes the rooms known, without making them, and opens the drivers of those elsewhere.
func (a *attempt) nameNodes(ctx context.Context) {
	a.nodes = nil
	lines := &sync.Mutex{}
	var group sync.WaitGroup
	for i, held := range a.lease.Places {
		n := &node{index: i, held: held, room: room{
			dir: filepath.Join(a.dir, nodesName, strconv.Itoa(i)), output: a.log.node(i, lines), code: new(int32),
			far: held.Address != "" || !a.e.local(),
			env: map[string]string{
				"SLUICE_NODE_INDEX": strconv.Itoa(i), "SLUICE_NODE_COUNT": strconv.Itoa(len(a.lease.Places)),
				"SLUICE_NODE_NAME": held.Place, "SLUICE_NODE_ADDRESS": addressOf(held),
				"SLUICE_NODE_TOKEN": strconv.FormatInt(held.Token, 10),
			},
		}}
		a.nodes = append(a.nodes, n)
		group.Go(func() {
			var err error
			if n.driver, err = a.e.reach(ctx, held.Address); err != nil {
				n.lost = classify(release.ClassConfig, err)
			}
		})
	}
	group.Wait()
}

// furnish copies workspace and inputs into a node's room. The driver takes them to where the node is.
func (a *attempt) furnish(ctx context.Context, n *node) error {
	for _, name := range []string{workName, inputsName, artifactsName} {
		if err := copyTree(ctx, filepath.Join(a.dir, name), filepath.Join(n.dir, name)); err != nil {
			return err
		}
	}
	if n.far {
		return giveStepper(n.dir)
	}
	return nil
}

// onNodes runs a script on every node that still takes part, the starts apart from each other by the stagger, and fails
// when fewer than the gang needs succeed. As soon as that is certain, the others are ended: they hold scarce places.
func (a *attempt) onNodes(ctx context.Context, o order) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	need, start := a.needed(), time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	left := 0
	for _, n := range a.nodes {
		if n.lost == nil {
			left++
		}
	}
	for _, n := range a.nodes {
		if n.lost != nil {
			continue
		}
		group.Go(func() {
			err := a.onNode(ctx, n, o, start)
			mu.Lock()
			defer mu.Unlock()
			if n.lost = err; err == nil {
				return
			}
			a.log.note(n.String() + ": " + err.Error())
			if left--; left < need && o.phase == phaseTest {
				cancel(&dragged{fmt.Sprintf("ended, since %s failed and %d are needed", n, need)})
			}
		})
	}
	group.Wait()
	return a.tally(ctx, o)
}

func (a *attempt) onNode(ctx context.Context, n *node, o order, start time.Time) error {
	if wait := time.Duration(n.index) * a.task.Gang.Stagger.Std(); wait > 0 && o.phase == phaseTest {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(start.Add(wait))):
		}
	}
	err := a.guarded(func() error { return a.script(ctx, &n.room, o) })
	if log, ok := n.output.(*nodeLog); ok {
		log.flush()
	}
	var over *overrun
	if a.task.LongRunning && errors.As(err, &over) {
		return nil
	}
	return err
}

func (a *attempt) needed() int {
	if need := int(a.task.Gang.Need); need > 0 {
		return min(need, len(a.nodes))
	}
	return len(a.nodes)
}

// dragged is why a node was ended that had not failed.
type dragged struct{ why string }

func (d *dragged) Error() string { return d.why }

// tally says whether enough nodes succeeded, and names those that did not. The class is that of a node whose own command
// failed, before that of what failed around it.
func (a *attempt) tally(ctx context.Context, o order) error {
	good, need := 0, a.needed()
	if o.phase == phaseCleanup || o.phase == phaseCleanupFirst {
		need = len(a.nodes)
	}
	var lost []string
	var first error
	for _, n := range a.nodes {
		switch {
		case n.lost == nil:
			good++
			continue
		case errors.As(n.lost, new(*dragged)):
			continue
		}
		lost = append(lost, n.String()+": "+n.lost.Error())
		if first == nil || a.own(o, n.lost) && !a.own(o, first) {
			first = n.lost
			a.result.ExitCode = *n.code
		}
	}
	switch err := context.Cause(ctx); {
	case good >= need:
		return nil
	case first == nil || err != nil && !errors.As(err, new(*dragged)) && !errors.Is(err, context.Canceled):
		return err
	}
	return &failure{classOf(first), fmt.Errorf("%s: %d of %d nodes succeeded, expected %d: %s", o.what, good, len(a.nodes), need,
		firstOf(lost))}
}

// own reports whether an error is of a class that the order's own script ends with, rather than what fails around it.
func (a *attempt) own(o order, err error) bool {
	class := classOf(err)
	return class == o.class || slices.ContainsFunc(a.task.Exits, func(e release.Exit) bool { return e.Class == class })
}

// classOf is the class that an error knows; the platform's fault when it knows none.
func classOf(err error) release.Class {
	var known *failure
	if errors.As(err, &known) {
		return known.class
	}
	return release.ClassInfra
}

// firstOf names a few of many.
func firstOf(list []string) string {
	const few = 3
	if len(list) > few {
		return strings.Join(list[:few], "; ") + fmt.Sprintf("; and %d more", len(list)-few)
	}
	return strings.Join(list, "; ")
}

// reach opens the driver of an address: this executor's own for a place on this machine.
func (e *executor) reach(ctx context.Context, address string) (driver.Driver, error) {
	if address == "" {
		return e.driver, nil
	}
	return e.sites.open(ctx, address)
}
