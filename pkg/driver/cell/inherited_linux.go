package cell

import (
	"golang.org/x/sys/unix"
)

// inherited is what commands get from the thread that starts them. Where they run as the same user, they can change it.
type inherited struct {
	limits   [limitKinds]unix.Rlimit
	nice, io int
	cpus     unix.CPUSet
	policy   int
}

// limitKinds is how many resource limits the kernel has.
const limitKinds = 16

func inherits() inherited {
	var i inherited
	for kind := range i.limits {
		_ = unix.Prlimit(0, kind, nil, &i.limits[kind])
	}
	i.nice, _ = unix.Getpriority(unix.PRIO_PROCESS, 0)
	priority, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, 0, 0)
	i.io = int(priority)
	_ = unix.SchedGetaffinity(0, &i.cpus)
	policy, _, _ := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	i.policy = int(policy)
	return i
}
