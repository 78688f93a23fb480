//go:build unix && !linux

package main

import "syscall"

// wrapAttributes puts the command into a group of its own.
func wrapAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// groupLives reports whether the group has a process.
func groupLives(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }
