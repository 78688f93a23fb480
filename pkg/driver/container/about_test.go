package container

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

func TestLimitsThatAreNotHeld(t *testing.T) {
	t.Parallel()
	all := about{MemoryLimit: true, CPUQuota: true, PidsLimit: true}
	rootless1, rootless2, alone := all, all, all
	rootless1.Rootless, rootless1.CgroupVersion = true, "1"
	rootless2.SecurityOptions, rootless2.CgroupVersion = []string{"name=seccomp", "name=rootless"}, "2"
	alone.CgroupDriver = "none"
	memory, time := driver.Limits{Memory: 1 << 20}, driver.Limits{CPUTime: 1, FileSize: 1}
	for _, one := range []struct {
		name   string
		engine about
		limits driver.Limits
		held   bool
	}{
		{"with root", all, driver.Limits{CPU: 1, Memory: 1, Processes: 1}, true},
		{"no group for memory", about{CPUQuota: true, PidsLimit: true}, memory, false},
		{"no group for processors", about{MemoryLimit: true, PidsLimit: true}, driver.Limits{CPU: 1}, false},
		{"no group for processes", about{MemoryLimit: true, CPUQuota: true}, driver.Limits{Processes: 1}, false},
		{"without root, version 1", rootless1, memory, false},
		{"without root, version 2", rootless2, memory, true},
		{"no groups at all", alone, memory, false},
		{"what the shell holds", rootless1, time, true},
	} {
		if err := one.engine.holds(one.limits); (err == nil) != one.held || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", one.name, err)
		}
	}
	if !rootless1.rootless() || !rootless2.rootless() || all.rootless() {
		t.Error("who is rootless is not known")
	}
}
