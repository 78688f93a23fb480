package main

import "syscall"

// wrapAttributes puts the command into a group of its own, and lets it hear of the wrapper's death as of a wish to end:
// it still returns its cluster.
func wrapAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
