package driver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/driver/cell"
)

// usualProcesses is what a command may have at a time that states no limit.
const usualProcesses = 4096

// usual is what a command may use that states no limit, where groups hold it: without one it could take the machine down.
func (c *cgroups) usual() Limits {
	var l Limits
	if c.bases[HoldsPIDs] != "" {
		l.Processes = usualProcesses
	}
	var info unix.Sysinfo_t
	if c.bases[HoldsMemory] != "" && unix.Sysinfo(&info) == nil {
		l.Memory = int64(info.Totalram) * int64(info.Unit) / 4 * 3
	}
	return l
}

// ownPIDs is how many threads a cell itself has, at most.
const ownPIDs = 16

// limit sets what a command may use as a whole.
func (g *cgroup) limit(l Limits) error {
	g.killed = g.oomKills()
	if l.Memory == g.set.Memory && l.Processes == g.set.Processes && l.CPU == g.set.CPU {
		return nil
	}
	g.set = l
	pids := "max"
	if l.Processes > 0 {
		pids = strconv.FormatInt(l.Processes+ownPIDs, 10)
	}
	if err := errors.Join(g.limitMemory(l.Memory), g.write(HoldsPIDs, "pids.max", pids), g.limitCPU(l.CPU)); err != nil {
		return fmt.Errorf("cannot limit a command: %w", err)
	}
	return nil
}

func (g *cgroup) limitMemory(bytes int64) error {
	most, none := "max", "-1"
	if bytes > 0 {
		most = strconv.FormatInt(bytes, 10)
		none = most
	}
	if g.unified(HoldsMemory) {
		_ = g.write(HoldsMemory, "memory.swap.max", map[bool]string{true: "0", false: "max"}[bytes > 0]) // a kernel may count no swap
		return g.write(HoldsMemory, "memory.max", most)
	}
	return g.write(HoldsMemory, "memory.limit_in_bytes", none)
}

func (g *cgroup) limitCPU(cpus float64) error {
	const period = 100_000
	quota := strconv.Itoa(int(cpus * period))
	if g.unified(HoldsCPU) {
		if cpus <= 0 {
			quota = "max"
		}
		return g.write(HoldsCPU, "cpu.max", fmt.Sprint(quota, " ", period))
	}
	if cpus <= 0 {
		quota = "-1"
	}
	return g.write(HoldsCPU, "cpu.cfs_quota_us", quota)
}

func (g *cgroup) unified(controller string) bool { return g.dirs[controller] == g.dirs[""] }

func (g *cgroup) write(controller, file, value string) error {
	dir, ok := g.dirs[controller]
	if !ok {
		return nil // What it lacks is said at start.
	}
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
}

// oomKills is how often the kernel killed something in the group for its memory.
func (g *cgroup) oomKills() int64 {
	if g.kills == nil || g.set.Memory == 0 {
		return 0
	}
	var buffer [512]byte
	size, _ := g.kills.ReadAt(buffer[:], 0)
	for line := range bytes.Lines(buffer[:size]) {
		if rest, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			return n
		}
	}
	return 0
}

// openKills opens what oomKills reads.
func (g *cgroup) openKills() {
	dir, ok := g.dirs[HoldsMemory]
	if !ok {
		return
	}
	name := "memory.oom_control"
	if g.unified(HoldsMemory) {
		name = "memory.events"
	}
	g.kills, _ = os.Open(filepath.Join(dir, name))
}

func (g *cgroup) killedForMemory() bool { return g.oomKills() > g.killed }

// beside are the limits of single processes that a command has beside those of its group.
func (l Limits) beside(g *cgroup) []cell.Limit {
	if g.dirs[HoldsMemory] != "" {
		l.Memory = 0
	}
	if g.dirs[HoldsPIDs] != "" {
		l.Processes = 0
	}
	var list []cell.Limit
	for resource, value := range l.resources() {
		hard := value
		if resource == unix.RLIMIT_CPU {
			hard++ // The soft limit is SIGXCPU, which says what it is; the hard one SIGKILL.
		}
		list = append(list, cell.Limit{Resource: uint64(resource), Soft: value, Hard: hard})
	}
	return list
}
