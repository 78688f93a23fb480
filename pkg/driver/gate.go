//go:build unix

package driver

import "os"

// gate holds a command back until its limits are set: the kernel has no way to set them for a process that is not there
// yet. The pipe in place of standard input opens it.
const gate = `read -r _ || :; exec "$@" </dev/null`

// wrapped is what is really started: the program, within its sandbox, behind its gate.
func (p *process) wrapped(program string) (string, []string) {
	args := p.spec.Args
	if p.local.sandbox != "" {
		args = p.local.boxed(p.spec, program)
		program = p.local.sandbox
	}
	if p.spec.Limits.limited() {
		args = append([]string{"sh", "-c", gate, "sluice", program}, args[1:]...)
		program = "/bin/sh"
	}
	return program, args
}

// door is the standard input of a command: nothing, or the pipe that its gate waits at.
type door struct {
	stdin       uintptr
	inner, leaf *os.File
}

func (p *process) door() (door, error) {
	if !p.spec.Limits.limited() {
		return door{stdin: p.local.null.Fd()}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return door{}, err
	}
	return door{stdin: r.Fd(), inner: r, leaf: w}, nil
}

func (d door) open() {
	if d.leaf != nil {
		_ = d.inner.Close()
		_ = d.leaf.Close()
	}
}
