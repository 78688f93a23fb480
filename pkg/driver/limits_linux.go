package driver

import (
	"os"

	"golang.org/x/sys/unix"
)

// limited reports whether a process needs limits of its own.
func (l Limits) limited() bool { return len(l.resources()) > 0 }

// resources are the limits that the kernel holds for one process: CPU is not among them. Memory is RLIMIT_DATA and not
// RLIMIT_AS: runtimes that reserve address space by the terabyte use little of it.
func (l Limits) resources() map[int]uint64 {
	all := map[int]uint64{}
	for resource, value := range map[int]int64{
		unix.RLIMIT_DATA:  l.Memory,
		unix.RLIMIT_NPROC: l.Processes,
		unix.RLIMIT_FSIZE: l.FileSize,
		unix.RLIMIT_CPU:   int64(l.CPUTime.Seconds() + 0.999),
	} {
		if value > 0 {
			all[resource] = uint64(value)
		}
	}
	return all
}

// apply sets the limits of a process. None is ever raised.
func (l Limits) apply(pid int) error {
	for resource, value := range l.resources() {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
		limit := unix.Rlimit{Cur: min(value, now.Max), Max: min(value, now.Max)}
		if resource == unix.RLIMIT_CPU && limit.Max < now.Max {
			limit.Max++ // The soft limit is SIGXCPU, which says what it is; the hard one SIGKILL.
		}
		if err := unix.Prlimit(pid, resource, &limit, nil); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
	}
	return nil
}
