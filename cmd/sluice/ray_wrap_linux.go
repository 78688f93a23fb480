package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// wrapAttributes puts the command into a group of its own, and lets it hear of the wrapper's death as of a wish to end:
// it still returns its cluster.
func wrapAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// groupLives reports whether a process of the group has not ended. The kernel alone does not say it: it counts those that
// have ended and that nobody reaps, as in a container whose first process is no init.
func groupLives(pgid int) bool {
	if syscall.Kill(-pgid, 0) != nil {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		// After the name, which may hold anything: state, parent, group.
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(pgid) && fields[0][0] != 'Z' && fields[0][0] != 'X' {
			return true
		}
	}
	return false
}
