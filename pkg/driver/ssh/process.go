package ssh

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// process is one command on a host.
type process struct {
	driver  *Driver
	spec    driver.Spec
	at      place
	name    string
	leash   string
	unwatch func() bool
	done    chan struct{}
	exit    driver.Exit // written before done is closed
	ending  driver.Ending

	life context.Context // of all that is done for it
	stop context.CancelFunc

	sent   map[string]names // of each tree
	offset int64            // bytes of the log that were read
	failed error            // of the writer of the output
	heard  time.Time
}

// ID implements driver.Process.
func (p *process) ID() string { return "ssh:" + p.driver.options.Address + ":" + p.name }

// Wait implements driver.Process.
func (p *process) Wait() driver.Exit {
	<-p.done
	return p.exit
}

// lifetime is how long an attempt without a deadline keeps its directory, and margin what one with a deadline gets beyond
// it, before anybody may sweep it.
const (
	lifetime = 7 * 24 * time.Hour
	margin   = time.Hour
)

// launchTime is how long a launch is waited for when nobody wants it any more.
const launchTime = 10 * time.Second

func (p *process) expires(ctx context.Context) string {
	at := time.Now().Add(lifetime)
	if deadline, ok := ctx.Deadline(); ok {
		at = deadline.Add(p.spec.Patience() + margin)
	}
	return strconv.FormatInt(at.Unix(), 10)
}

// start sends the trees and launches the command.
func (p *process) start(ctx context.Context) error {
	if !p.driver.options.Shared {
		for _, t := range p.at.trees {
			if err := p.upload(ctx, t); err != nil {
				return err
			}
		}
	}
	// A launch that is called off half-way may still come to pass, after its remains were removed. It is quick: it is
	// waited for.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(launchTime, cancel) })()
	pause := max(1, int(p.driver.options.Orphan.Seconds()/10))
	rounds := max(1, int(p.driver.options.Orphan.Seconds())/pause)
	p.exit.Started = time.Now()
	word, err := p.driver.call(call, shell(launchScript, p.at.dir, p.leash, strconv.Itoa(rounds), strconv.Itoa(pause), superviseScript, p.expires(ctx)),
		strings.NewReader(job(p.spec, p.at, p.driver.options.Path, p.leash)))
	if err != nil {
		return err
	}
	return p.understand(strings.TrimSpace(word))
}

func (p *process) understand(word string) error {
	address := p.driver.options.Address
	switch first, rest, _ := strings.Cut(word, " "); first {
	case "ready":
		return nil
	case "missing":
		return fault.New(fault.Invalid, "cannot start %q: host %s has no such program", p.spec.Args[0], address)
	case "refused":
		return fault.New(fault.Invalid, "cannot hold the limit %s on host %s", rest, address)
	case "directory":
		return fault.New(fault.Transient, "cannot start in %s: host %s has no such directory", p.at.there(p.spec.Dir), address)
	default:
		return fault.New(fault.Transient, "cannot start %q on host %s: the job says %.200q", p.spec.Args[0], address, word)
	}
}

func (p *process) upload(ctx context.Context, t tree) error {
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		all, err := send(ctx, w, t.here)
		_ = w.CloseWithError(err)
		p.sent[t.here] = all
		sent <- err
	}()
	_, err := p.driver.call(ctx, shell(uploadScript, p.at.dir, t.there, p.expires(ctx)), r)
	_ = r.CloseWithError(io.ErrClosedPipe)
	if failed := <-sent; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

// abandon gives up a command that did not start, and what it may have left on the host.
func (p *process) abandon() {
	p.ending.Finish()
	if err := p.remove(); err != nil {
		p.driver.log.Warn("cannot remove a command that did not start; the next sweep will", "process", p.ID(), "err", err)
	}
	p.stop()
	p.driver.forget(p)
	close(p.done)
}

// run sees the command through to its end.
func (p *process) run() {
	defer close(p.done)
	defer p.driver.forget(p)
	defer p.stop()
	reached := p.follow()
	p.exit.Ended = time.Now()
	p.unwatch()
	p.exit.Cause = p.ending.Finish()
	p.exit.Err = p.failed
	if reached && !p.driver.options.Shared {
		if err := p.download(); err != nil && p.exit.Cause == nil {
			p.exit.Cause = err
		}
	}
	if err := p.remove(); err != nil {
		p.exit.Err = errors.Join(p.exit.Err, err)
	}
}

// download brings the trees back, within the patience for a host that went away meanwhile.
func (p *process) download() error {
	for _, t := range p.at.trees {
		err := p.retry(func() error { return p.fetch(t) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *process) fetch(t tree) error {
	r, w := io.Pipe()
	received := make(chan error, 1)
	go func() {
		err := receive(p.life, r, t.here, p.sent[t.here])
		_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		received <- err
	}()
	err := p.driver.stream(p.life, shell(downloadScript, t.there), nil, w)
	_ = w.CloseWithError(err) // nil is the end of the stream
	if failed := <-received; failed != nil && err == nil {
		return failed
	}
	return err
}

// retryTime is between two tries to reach a host, at first.
const retryTime = 50 * time.Millisecond

// retry does something until it succeeds, can never succeed, or the patience is over.
func (p *process) retry(do func() error) error {
	began, wait := time.Now(), retryTime
	for {
		err := do()
		if err == nil || !fault.Is(err, fault.Transient) || time.Since(began) > p.driver.options.Patience {
			return err
		}
		time.Sleep(wait)
		wait = min(2*wait, 2*time.Second)
	}
}

// insist signals the command until the host has heard it or the command is over.
func (p *process) insist(signal string) {
	for wait := retryTime; !p.ending.Over(); wait = min(2*wait, 2*time.Second) {
		ctx, cancel := context.WithTimeout(p.life, callTime)
		_, err := p.driver.call(ctx, shell(signalScript, p.at.dir, p.leash, signal), nil)
		cancel()
		if err == nil || p.life.Err() != nil || p.ending.Over() {
			return
		}
		p.driver.log.Warn("cannot signal a command yet", "process", p.ID(), "signal", signal, "err", err)
		time.Sleep(wait)
	}
}

// remove ends what is left and removes the attempt's directory.
func (p *process) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	_, err := p.driver.call(ctx, shell(removeScript, p.at.dir, p.leash), nil)
	return err
}
