package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	idle *time.Timer
}

// idleTime is how long a cell waits for the next command before it is closed.
const idleTime = time.Minute

// openCells finds the best kind of cell that this machine can make, and keeps the one that it was tried with.
func openCells(o cell.Options, users Users, groups *cgroups) (*cells, error) {
	var errs []error
	for _, kind := range kinds() {
		o.Kind = kind
		c := &cells{options: o, users: users, groups: groups, slots: make([]bool, users.count())}
		h, err := c.open()
		if err == nil {
			c.giveBack(h, false)
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
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
		h.idle.Stop()
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
	h.idle = time.AfterFunc(idleTime, func() { c.expire(h) })
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
	for _, h := range free {
		h.idle.Stop()
		c.drop(h)
	}
	c.groups.close()
}

// openIsolation makes what holds commands back, as far as this machine can.
func (l *Local) openIsolation(o LocalOptions) error {
	switch {
	case l.sandbox != "":
		return nil
	case o.Isolation == IsolationNone:
		l.isolation.Missing = append(l.isolation.Missing, "users and namespaces: the configuration says isolation: none")
		return nil
	}
	if !o.Cells || os.Getenv(cell.Variable) != "" {
		return l.missing(o, fault.New(fault.Invalid, "this program makes no cells"))
	}
	users, err := o.Users.orDefault()
	if err != nil {
		return err
	}
	groups := openCgroups(l.place)
	l.cells, err = openCells(cell.Options{View: l.view(o), Offline: o.Network == "none", Leash: leashVariable + "=" + l.outer + l.instance}, users, groups)
	if err != nil {
		groups.close()
		return l.missing(o, err)
	}
	l.isolation = Isolation{Held: []string{HoldsUser, HoldsPID, HoldsMount, HoldsIPC, HoldsKill}}
	if o.Network == "none" {
		l.isolation.Held = append(l.isolation.Held, HoldsNetwork)
	}
	l.isolation.Held = append(l.isolation.Held, groups.held()...)
	l.isolation.Missing = groups.missing()
	if l.cells.options.Kind == cell.Namespace {
		l.isolation.Missing = append(l.isolation.Missing,
			"users of their own: commands run as user "+fmt.Sprint(os.Getuid())+" in a user namespace; run the executor as root for a range of users")
	}
	for _, what := range l.isolation.Missing {
		l.log.Warn("this machine cannot hold commands back by everything", "missing", what)
	}
	return nil
}

// missing goes on without isolation, and says so, unless it is required.
func (l *Local) missing(o LocalOptions, err error) error {
	if o.Isolation == IsolationRequired || o.Network == "none" {
		return fault.New(fault.Invalid, "cannot isolate commands, which the configuration requires: %w", err)
	}
	why := strings.ReplaceAll(err.Error(), "\n", "; ")
	l.isolation.Missing = append(l.isolation.Missing, "users and namespaces: "+why)
	l.log.Warn("commands are not isolated: they run as the platform's user and see its files", "missing", why)
	return nil
}

// view is what commands see of this machine.
func (l *Local) view(o LocalOptions) cell.View {
	v, hide := cell.View{Scratch: scratchDirs(), Below: l.resolved}, append([]string{l.dir}, o.Hide...)
	home, _ := os.UserHomeDir()
	if home != "" && home != "/" {
		hide = append(hide, home)
		for _, dir := range toolchains(home, l.path) {
			v.Show = append(v.Show, cell.Tree{Source: dir, Target: dir, Foreign: true})
		}
	}
	for _, name := range []string{"/run/systemd/resolve", "/run/resolvconf"} { // what /etc/resolv.conf may lead to
		v.Show = append(v.Show, cell.Tree{Source: name, Target: name, Foreign: true})
	}
	for _, m := range o.Show {
		v.Show = append(v.Show, cell.Tree{Source: m.Source, Target: m.At(), Writable: m.Writable, Foreign: true})
	}
	v.Hide = hidden(hide)
	return v
}

// toolchains are the trees below a home that the directories of PATH belong to: of ~/.pyenv/shims that is ~/.pyenv. Where
// that would be all that programs of the user keep, it is the directory itself.
func toolchains(home, path string) []string {
	var trees []string
	for _, dir := range filepath.SplitList(path) {
		if dir == home || !Within(dir, home) {
			continue
		}
		tree := filepath.Dir(dir)
		if tree == home || slices.Contains([]string{".local", ".cargo", ".config"}, filepath.Base(tree)) {
			tree = dir
		}
		if !slices.ContainsFunc(trees, func(other string) bool { return Within(tree, other) }) {
			trees = append(trees, tree)
		}
	}
	return trees
}
