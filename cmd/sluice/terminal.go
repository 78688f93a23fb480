package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is where a screen is drawn.
type terminal interface {
	// size is the number of columns and rows.
	size() (columns, rows int)
	// keys calls fn with each key that is typed, until what it returns is called.
	keys(fn func(key byte)) (release func())
}

// tty is the terminal that the process was started on.
type tty struct{ out *os.File }

func (t tty) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// keys reads the terminal byte by byte and shows nothing of it. Where that is not possible no key is heard; an interrupt
// still ends the program.
func (t tty) keys(fn func(key byte)) func() {
	in, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return func() {}
	}
	raw, err := in.SyscallConn()
	if err != nil {
		return func() { _ = in.Close() }
	}
	var before *term.State
	_ = raw.Control(func(fd uintptr) { before, err = term.MakeRaw(int(fd)) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		eachKey(in, fn)
	}()
	return func() {
		if before != nil {
			_ = raw.Control(func(fd uintptr) { _ = term.Restore(int(fd), before) })
		}
		_ = in.Close() // ends the reading
		<-done
	}
}

func eachKey(in io.Reader, fn func(key byte)) {
	var one [1]byte
	for {
		if _, err := in.Read(one[:]); err != nil {
			return
		}
		fn(one[0])
	}
}
