package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups is where this executor may make control groups. Both layouts are used as they are found: version 2 with all
// controllers, and the hybrid one, where the controllers are hierarchies of version 1 beside a version 2 without them.
type cgroups struct {
	bases map[string]string // a directory of ours by controller; "" is version 2 itself
	lacks []string
}

// controllers are what limits need.
func controllers() []string { return []string{HoldsMemory, HoldsPIDs, HoldsCPU} }

const cgroupRoot = "/sys/fs/cgroup"

// openCgroups makes a group for an executor in each hierarchy that lets it.
func openCgroups(place string) *cgroups {
	c := &cgroups{bases: map[string]string{}}
	name := "sluice-" + strings.TrimSuffix(place, "-")
	for controller, dirs := range hierarchies() {
		for _, dir := range dirs {
			base := filepath.Join(dir, name)
			if err := os.Mkdir(base, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				c.bases[controller] = base
				break
			}
		}
	}
	if v2, ok := c.bases[""]; ok {
		c.delegate(v2)
	}
	for _, one := range controllers() {
		if c.bases[one] == "" {
			c.lacks = append(c.lacks, fmt.Sprintf("cgroup controller %s: no hierarchy with it may be written to", one))
		}
	}
	return c
}

// delegate hands the controllers that version 2 has down to the rooms.
func (c *cgroups) delegate(base string) {
	for _, one := range controllers() {
		if c.bases[one] != "" {
			continue
		}
		parent := filepath.Join(filepath.Dir(base), "cgroup.subtree_control")
		_ = os.WriteFile(parent, []byte("+"+one), 0) // it may be there already, which the next says
		if os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), []byte("+"+one), 0) == nil {
			c.bases[one] = base
		}
	}
}

// hierarchies lists, by controller, the directories that this process's own group may be in, the innermost first.
func hierarchies() map[string][]string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			mount, known := cgroupMount(controller, parts[1])
			if known {
				found[controller] = slices.Compact([]string{filepath.Join(mount, parts[2]), mount})
			}
		}
	}
	return found
}

// cgroupMount is where a controller is mounted.
func cgroupMount(controller, together string) (string, bool) {
	candidates := []string{filepath.Join(cgroupRoot, together), filepath.Join(cgroupRoot, controller)}
	kind := int64(unix.CGROUP_SUPER_MAGIC)
	if controller == "" {
		candidates, kind = []string{cgroupRoot, filepath.Join(cgroupRoot, "unified")}, unix.CGROUP2_SUPER_MAGIC
	} else if !slices.Contains(controllers(), controller) {
		return "", false
	}
	for _, dir := range candidates {
		var s unix.Statfs_t
		if unix.Statfs(dir, &s) == nil && s.Type == kind {
			return dir, true
		}
	}
	return "", false
}

func (c *cgroups) held() []string {
	var held []string
	for _, one := range controllers() {
		if c.bases[one] != "" {
			held = append(held, one)
		}
	}
	return held
}

func (c *cgroups) missing() []string { return c.lacks }

func (c *cgroups) close() {
	for _, base := range c.bases {
		removeGroup(base)
	}
}

// removeGroup removes a group. For a moment after its last process has ended the kernel still counts it as busy.
func removeGroup(dir string) {
	for wait := time.Millisecond; wait < 100*time.Millisecond; wait *= 2 {
		if err := os.Remove(dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(wait)
	}
}

// cgroup is the group of one cell, in every hierarchy.
type cgroup struct {
	dirs   map[string]string // by controller; "" is version 2
	dir    *os.File          // of version 2
	kills  *os.File          // says how often the kernel killed for memory; nil where it does not
	set    Limits            // what is set now
	killed int64             // how often the kernel killed for memory before the command
}

// room makes the group of a cell.
func (c *cgroups) room(slot int) (*cgroup, error) {
	g := &cgroup{dirs: map[string]string{}}
	for controller, base := range c.bases {
		dir := filepath.Join(base, strconv.Itoa(slot))
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return g, err
		}
		g.dirs[controller] = dir
	}
	if dir, ok := g.dirs[""]; ok {
		file, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return g, err
		}
		g.dir = file
	}
	g.openKills()
	return g, nil
}

// fd is the descriptor of the version 2 group; 0 where there is none.
func (g *cgroup) fd() int {
	if g.dir == nil {
		return 0
	}
	return int(g.dir.Fd())
}

// enter puts a cell into the groups of version 1: into that of version 2 it was born.
func (g *cgroup) enter(pid int) error {
	for controller, dir := range g.dirs {
		if controller == "" || dir == g.dirs[""] {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), strconv.AppendInt(nil, int64(pid), 10), 0); err != nil {
			return err
		}
	}
	return nil
}

// close removes the groups. Whatever is still in them is killed.
func (g *cgroup) close() {
	if g == nil {
		return
	}
	if dir, ok := g.dirs[""]; ok {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	}
	for _, dir := range g.dirs {
		removeGroup(dir)
	}
	for _, file := range []*os.File{g.dir, g.kills} {
		if file != nil {
			_ = file.Close()
		}
	}
}
