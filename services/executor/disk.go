package executor

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// space is how much the disk of a directory has free, in bytes.
func space(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// free is the disk space for workspaces.
func (e *executor) free() (int64, error) { return e.config.space(e.place.attempts) }

// floor is the disk space below which something must give way: what is kept for logs and results.
func (c Config) floor() int64 { return c.MinFree / 4 }

// checkDisk takes no work while the disk is nearly full: an attempt would fail half way, and the log with it. Once it is
// fuller still, the attempt whose files take the most is ended.
func (e *executor) checkDisk(ctx context.Context) {
	if e.config.MinFree < 0 {
		return
	}
	free, err := e.free()
	switch {
	case err != nil:
		e.refuse("cannot see how full the disk is: "+err.Error(), false)
	case free < e.config.MinFree:
		e.refuse(fmt.Sprintf("the disk has %d MiB free, expected at least %d", free>>20, e.config.MinFree>>20), false)
	default:
		e.refuse("", false)
	}
	if err == nil && free < e.config.floor() {
		e.makeRoom(ctx, free)
	}
}

// makeRoom ends the attempt whose files take the most, one at a time. It counts between two heartbeats, so it takes little time.
func (e *executor) makeRoom(ctx context.Context, free int64) {
	var largest *attempt
	var most int64
	all := e.inHand(anyone)
	for _, a := range all {
		if a.yields.Load() {
			return // It is ending.
		}
		size, err := treeSize(ctx, e.place.attempt(a.ref), sizingAll/time.Duration(len(all)))
		if fault.Is(err, fault.Invalid) { // nobody can say how much it takes, so it makes room first
			largest, most = a, size
			break
		}
		if size > most {
			largest, most = a, size
		}
	}
	if largest == nil {
		return
	}
	largest.yields.Store(true)
	largest.stop(release.ClassInfra, diskReason(free, e.config.floor(), most))
}

func diskReason(free, floor, size int64) string {
	return fmt.Sprintf("the executor's disk was full: %d MiB were free, expected at least %d; the files of this attempt took %d MiB",
		free>>20, floor>>20, size>>20)
}

// blameDisk tells a command that failed because the disk was full from one that failed by itself.
func (a *attempt) blameDisk(ctx context.Context, class release.Class, reason string) (release.Class, string) {
	switch class {
	case release.ClassCommand, release.ClassPrepare, release.ClassSetup, release.ClassUnknown:
	default:
		return class, reason
	}
	if a.e.config.MinFree < 0 {
		return class, reason
	}
	if free, err := a.e.free(); err == nil && free < a.e.config.floor() {
		size, _ := treeSize(ctx, a.dir, sizing) // at least
		return release.ClassInfra, diskReason(free, a.e.config.floor(), size) + "; then " + reason
	}
	return class, reason
}

// occupied is how much of the disk a file takes: a sparse one less than its length.
func occupied(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
