//go:build unix && !linux

package main

import "syscall"

// wrapAttributes puts the command into a group of its own.
func wrapAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
