package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// follow reads the log to its end and finds out how the command ended, over as many connections as it takes. It reports
// whether the host was there at last.
func (p *process) follow() bool {
	p.heard = time.Now()
	for wait := retryTime; ; wait = min(2*wait, 2*time.Second) {
		before := p.heard
		ended, err := p.attach()
		if ended {
			return true
		}
		if silent := time.Since(p.heard); fault.Is(err, fault.Denied) || silent > p.driver.options.Patience {
			p.exit.Code, p.exit.Truncated = -1, true
			p.ending.Blame(fault.New(fault.Transient, "cannot follow the command: host %s has been away for %s: %w",
				p.driver.options.Address, silent.Round(time.Second), err))
			return false
		}
		if p.heard.After(before) {
			p.driver.log.Warn("the connection to a host is lost; its command runs on", "process", p.ID(), "err", err)
			wait = retryTime
		}
		time.Sleep(wait)
	}
}

// verdict is the last word of a follower.
type verdict struct {
	word   string // "gone", "lost", "orphaned", or the exit status
	hunted int
	size   int64 // of the log
}

func parseVerdict(line string) (verdict, error) {
	fields := strings.Fields(line)
	if len(fields) == 1 && fields[0] == "gone" {
		return verdict{word: "gone"}, nil
	}
	if len(fields) != 3 {
		return verdict{}, fmt.Errorf("%.100q, expected an exit status, a number of processes and a size", line)
	}
	v := verdict{word: fields[0]}
	var err error
	if v.hunted, err = strconv.Atoi(fields[1]); err != nil || v.hunted < 0 {
		return verdict{}, fmt.Errorf("%.100q, expected a number of processes as its second word", line)
	}
	if v.size, err = strconv.ParseInt(fields[2], 10, 64); err != nil || v.size < 0 {
		return verdict{}, fmt.Errorf("%.100q, expected a size as its third word", line)
	}
	if code, err := strconv.Atoi(v.word); v.word != "lost" && v.word != "orphaned" && (err != nil || code < 0 || code > 255) {
		return verdict{}, fmt.Errorf("%.100q, expected an exit status as its first word", line)
	}
	return v, nil
}

// attach follows the log over one connection. It returns true when the command has ended and all its output was read.
func (p *process) attach() (bool, error) {
	ctx, cancel := context.WithTimeout(p.life, callTime)
	session, release, err := p.driver.host.session(ctx)
	cancel()
	if err != nil {
		return false, err
	}
	defer release()
	signs, _ := session.StdinPipe()
	out, _ := session.StdoutPipe()
	talk, _ := session.StderrPipe()
	if err := session.Start(shell(followScript, p.at.dir, strconv.FormatInt(p.offset+1, 10))); err != nil {
		return false, fault.New(fault.Transient, "cannot follow %s: %w", p.ID(), err)
	}
	p.heard = time.Now()
	stop := make(chan struct{})
	defer close(stop)
	go p.sign(signs, stop)
	reader := &reader{process: p, in: out, progress: make(chan struct{}, 1), done: make(chan struct{})}
	reader.offset.Store(p.offset)
	go reader.read()
	last := make(chan *verdict, 1)
	go func() { last <- readVerdict(talk) }()
	ended, err := p.conclude(reader, last)
	release()
	<-reader.done
	p.offset, p.heard = reader.offset.Load(), latest(p.heard, reader.heard)
	return ended, err
}

// sign tells the host now and again that somebody is there.
func (p *process) sign(w io.Writer, stop <-chan struct{}) {
	ticker := time.NewTicker(min(p.driver.options.KeepAlive, p.driver.options.Orphan/4))
	defer ticker.Stop()
	for {
		if _, err := fmt.Fprintln(w, time.Now().UnixNano()); err != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}

// conclude waits for the verdict, and then for the rest of the log.
func (p *process) conclude(r *reader, last <-chan *verdict) (bool, error) {
	v := <-last
	if v == nil {
		return false, fault.New(fault.Transient, "the connection to host %s ended", p.driver.options.Address)
	}
	if v.word != "gone" {
		whole, err := r.await(v.size)
		if err != nil {
			return false, err
		}
		p.exit.Truncated = !whole
	}
	p.judge(*v)
	return true, nil
}

func (p *process) judge(v verdict) {
	p.exit.Leftovers = v.hunted
	code, err := strconv.Atoi(v.word)
	if err == nil {
		p.exit.Code = code
		return
	}
	p.exit.Code = -1
	address := p.driver.options.Address
	switch v.word {
	case "orphaned":
		p.ending.Blame(fault.New(fault.Transient, "host %s heard nothing for %s and ended the command", address, p.driver.options.Orphan))
	case "gone":
		p.ending.Blame(fault.New(fault.Transient, "cannot say how the command ended: host %s has nothing of it any more; was it cleaned?", address))
	default:
		p.ending.Blame(fault.New(fault.Transient, "cannot say how the command ended: its supervisor on host %s is gone; was it restarted?", address))
	}
}

// reader passes the log on.
type reader struct {
	process  *process
	in       io.Reader
	offset   atomic.Int64
	heard    time.Time
	passing  atomic.Bool // what was read on to somebody who may be slow
	progress chan struct{}
	done     chan struct{}
}

// bufferSize is what is read at once.
const bufferSize = 64 << 10

func (r *reader) read() {
	defer close(r.done)
	p, buffer := r.process, make([]byte, bufferSize)
	for {
		n, err := r.in.Read(buffer)
		if n > 0 {
			r.heard = time.Now()
			r.passing.Store(true)
			if p.failed == nil && p.spec.Output != nil {
				_, p.failed = p.spec.Output.Write(buffer[:n])
			}
			r.passing.Store(false)
			r.offset.Add(int64(n))
			select {
			case r.progress <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// idle is how long a host may take to send what it says it has.
const idle = 30 * time.Second

// await waits until the log is read up to a size, and reports whether it was. An error means that the connection ended
// before.
func (r *reader) await(size int64) (bool, error) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for r.offset.Load() < size {
		select {
		case <-r.progress:
			timer.Reset(idle)
		case <-r.done:
			if r.offset.Load() < size {
				return false, fault.New(fault.Transient, "the connection ended %d bytes before the end of the log", size-r.offset.Load())
			}
		case <-timer.C:
			if !r.passing.Load() {
				return false, nil
			}
			timer.Reset(idle)
		}
	}
	return true, nil
}

// readVerdict reads up to the first line that is a verdict; a shell may complain before. Nil when there is none.
func readVerdict(r io.Reader) *verdict {
	const longest, most = 1 << 10, 1 << 20
	lines := bufio.NewReaderSize(io.LimitReader(r, most), longest)
	for {
		line, err := lines.ReadSlice('\n')
		if v, bad := parseVerdict(string(line)); err == nil && bad == nil {
			return &v
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
