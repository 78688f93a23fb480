//go:build !linux

package cell

// Inside reports whether this process was started as a cell: there are none on this system.
func Inside() bool { return false }

// Be does nothing on this system.
func Be() {}
