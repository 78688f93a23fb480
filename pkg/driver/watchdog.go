//go:build unix

package driver

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// watchScript waits until the pipe from the executor closes, which even SIGKILL does, and then kills what carries the
// leash of that instance until nothing is found. It is a shell and not a copy of this program: it costs a megabyte and
// no CPU. Systems without /proc leave it without work.
const watchScript = `trap '' HUP INT TERM
read -r _
i=0
while [ $i -lt 50 ]; do
	i=$((i+1)) found=
	for file in $(grep -lsF -e "$1" /proc/[0-9]*/environ); do
		pid=${file#/proc/}
		kill -9 "${pid%/environ}" && found=1
	done
	[ -n "$found" ] || exit 0
done`

// watchdog keeps one shell alive that outlives the executor just long enough.
type watchdog struct {
	leash string
	outer string
	log   *slog.Logger

	mu      sync.Mutex
	stopped bool
	cmd     *exec.Cmd
	leak    io.Closer // the write end that the executor's death closes
	ended   chan struct{}
}

func startWatchdog(leash, outer string, log *slog.Logger) *watchdog {
	w := &watchdog{leash: leash, outer: outer, log: log, ended: make(chan struct{})}
	if err := w.start(); err != nil {
		log.Warn("cannot start the watchdog: processes may outlive a killed executor until it is back", "error", err)
		close(w.ended)
		return w
	}
	go w.keep()
	return w
}

func (w *watchdog) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return os.ErrClosed
	}
	cmd := exec.Command("/bin/sh", "-c", watchScript, "sluice-watchdog", w.leash)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", leashVariable + "=" + w.outer}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	leak, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.leak = cmd, leak
	return nil
}

// keep starts the watchdog again when somebody killed it.
func (w *watchdog) keep() {
	defer close(w.ended)
	for {
		_ = w.cmd.Wait()
		w.mu.Lock()
		stopped := w.stopped
		w.mu.Unlock()
		if stopped {
			return
		}
		w.log.Warn("the watchdog of the executor ended; starting it again", "pid", w.cmd.Process.Pid)
		time.Sleep(time.Second) // Whatever kills it must not make a loop of forks.
		if err := w.start(); err != nil {
			return
		}
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	w.stopped = true
	if w.cmd != nil {
		_ = w.cmd.Process.Kill()
		_ = w.leak.Close()
	}
	w.mu.Unlock()
	<-w.ended
}
