package driver

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/driver/cell"
	"github.com/sluiceci/sluice/pkg/fault"
)

// cells are the cells of a Local: those that wait for a command, and the users that commands run as.
type cells struct {
	options cell.Options
	users   Users
	groups  *cgroups
	usual   Limits // of commands that state none, as a whole
	warm    int    // how many are kept however long they wait

	making sync.WaitGroup

	mu     sync.Mutex
	free   []*held
	slots  []bool // which users are taken
	closed bool
}

// held is a cell and what goes with it.
type held struct {
	cell *cell.Cell
	slot int
	room *cgroup
	idle *time.Timer // ends its waiting; nil where it is kept
}

// maxWarm is how many cells wait for commands whatever comes, at most: each has 2 MB.
const maxWarm = 33

// idleTime is how long a cell waits for the next command before it is closed.
const idleTime = time.Minute

// openCells finds the best kind of cell that this machine can make, and keeps the one that it was tried with.
func openCells(o cell.Options, users Users, groups *cgroups, warm int) (*cells, error) {
	var errs []error
	for _, kind := range kinds() {
		o.Kind = kind
		c := &cells{options: o, users: users, groups: groups, usual: groups.usual(), warm: warm, slots: make([]bool, users.count())}
		h, err := c.open()
		if err == nil {
			c.giveBack(h, false)
			c.making.Go(c.makeWarm)
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// makeWarm makes the cells that are kept, so that no command waits for one.
func (c *cells) makeWarm() {
	for range c.warm - 1 {
		h, err := c.open()
		if err != nil {
			return // Whoever needs one is told.
		}
		c.giveBack(h, false)
	}
}

func kinds() []cell.Kind {
	if os.Geteuid() == 0 {
		return []cell.Kind{cell.Users, cell.Namespace}
	}
	return []cell.Kind{cell.Namespace}
}

// take takes the cell that waits longest, or makes one. Those that were given back just now still take away what the last command
// left, which the next would have to wait for.
func (c *cells) take() (*held, error) {
	c.mu.Lock()
	if len(c.free) > 0 {
		h := c.free[0]
		c.free = slices.Delete(c.free, 0, 1)
		c.mu.Unlock()
		h.wake()
		return h, nil
	}
	c.mu.Unlock()
	return c.open()
}

// open makes a cell for a user that no other cell has.
func (c *cells) open() (*held, error) {
	slot, err := c.slot()
	if err != nil {
		return nil, err
	}
	h := &held{slot: slot}
	o := c.options
	o.User = c.users.First + slot
	h.room, err = c.groups.room(slot)
	if err == nil {
		o.Cgroup = h.room.fd()
		h.cell, err = cell.Open(o, h.room.enter)
	}
	if err != nil {
		c.drop(h)
		return nil, fault.New(fault.Transient, "cannot isolate a command: %w", err)
	}
	return h, nil
}

func (c *cells) slot() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, errClosed
	}
	slot := slices.Index(c.slots, false)
	if slot < 0 {
		return 0, fault.New(fault.Transient, "cannot isolate a command: each of the %d users %s runs one already; give the driver more users, "+
			"or the executor fewer slots", len(c.slots), c.users)
	}
	c.slots[slot] = true
	return slot, nil
}

// giveBack keeps a cell for the next command, or throws it away.
func (c *cells) giveBack(h *held, dirty bool) {
	c.mu.Lock()
	if dirty || c.closed {
		c.mu.Unlock()
		c.drop(h)
		return
	}
	defer c.mu.Unlock()
	c.free = append(c.free, h)
	if h.idle = nil; len(c.free) > c.warm {
		h.idle = time.AfterFunc(idleTime, func() { c.expire(h) })
	}
}

// wake ends the waiting of a cell.
func (h *held) wake() {
	if h.idle != nil {
		h.idle.Stop()
	}
}

func (c *cells) expire(h *held) {
	c.mu.Lock()
	i := slices.Index(c.free, h)
	if i >= 0 {
		c.free = slices.Delete(c.free, i, i+1)
	}
	c.mu.Unlock()
	if i >= 0 {
		c.drop(h)
	}
}

func (c *cells) drop(h *held) {
	if h.cell != nil {
		h.cell.Close()
	}
	h.room.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots[h.slot] = false
}

func (c *cells) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	free := c.free
	c.free, c.closed = nil, true
	c.mu.Unlock()
	c.making.Wait()
	for _, h := range free {
		h.wake()
		c.drop(h)
	}
	c.groups.close()
}
