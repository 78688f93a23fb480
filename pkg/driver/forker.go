//go:build unix

package driver

import (
	"runtime"
	"sync"
	"syscall"
)

// forker starts every process from one OS thread that lives as long as the driver. The kernel sends PDEATHSIG when
// the thread that forked dies, not the program; a goroutine's thread may be taken and ended by anybody who locks it.
type forker struct {
	jobs    chan *forkJob
	buffers sync.Pool
}

type forkJob struct {
	program string
	args    []string
	attr    *syscall.ProcAttr
	pid     int
	pidfd   int
	err     error
	done    chan struct{}
}

func startForker() *forker {
	f := &forker{jobs: make(chan *forkJob)}
	f.buffers.New = func() any { return new([bufferSize]byte) }
	go f.run()
	return f
}

func (f *forker) run() {
	runtime.LockOSThread()
	for job := range f.jobs {
		job.pidfd = -1
		job.attr.Sys = attributes(&job.pidfd)
		job.pid, job.err = syscall.ForkExec(job.program, job.args, job.attr)
		close(job.done)
	}
}

func (f *forker) stop() { close(f.jobs) }

func (f *forker) fork(program string, args []string, attr *syscall.ProcAttr) (pid, pidfd int, err error) {
	job := &forkJob{program: program, args: args, attr: attr, done: make(chan struct{})}
	f.jobs <- job
	<-job.done
	return job.pid, job.pidfd, job.err
}
