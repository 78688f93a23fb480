package container

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// process is one container.
type process struct {
	driver  *Driver
	spec    driver.Spec
	user    string // that the command runs as: "uid:gid"
	name    string
	stream  client.HijackedResponse
	news    *news
	copied  chan copied
	ended   client.ContainerWaitResult
	unwait  context.CancelFunc
	unwatch func() bool
	done    chan struct{}
	exit    driver.Exit // written before done is closed
	ending  driver.Ending
}

// copied is how the copy of the output ended.
type copied struct{ failed, broken error }

// ID implements driver.Process.
func (p *process) ID() string { return "container:" + p.name }

// Wait implements driver.Process.
func (p *process) Wait() driver.Exit {
	<-p.done
	return p.exit
}

// start makes the container, listens to it and sets it off. The engine may finish what it was asked to do after nobody
// waits for its answer; so it is asked without the caller's ctx, which is looked at in between.
func (p *process) start(ctx context.Context, from image) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	engine := p.driver.engine
	if _, err := engine.ContainerCreate(call, p.create(ctx, from)); err != nil {
		return engineError("make a container of "+from.digest, err)
	}
	if err := context.Cause(ctx); err != nil {
		return fault.New(fault.Transient, "cannot start a container: %w", err)
	}
	if err := p.listen(call); err != nil {
		return err
	}
	wait, unwait := context.WithCancel(context.WithoutCancel(ctx))
	p.unwait = unwait
	p.ended = engine.ContainerWait(wait, p.name, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	p.exit.Started = time.Now()
	if _, err := engine.ContainerStart(call, p.name, client.ContainerStartOptions{}); err != nil {
		p.unlisten()
		return startError(p.spec, from, err)
	}
	if err := p.ready(ctx, from); err != nil {
		p.unlisten()
		return err
	}
	return nil
}

// listen attaches to the container before it starts, so that nothing it says is missed.
func (p *process) listen(ctx context.Context) error {
	attached, err := p.driver.engine.ContainerAttach(ctx, p.name, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return engineError("attach to container "+p.name, err)
	}
	p.stream = attached.HijackedResponse
	r, w := io.Pipe()
	go p.news.read(r)
	go p.copyOutput(w)
	return nil
}

func (p *process) copyOutput(talk *io.PipeWriter) {
	output := p.spec.Output
	if output == nil {
		output = io.Discard
	}
	failed, broken := split(&patient{process: p}, output, talk)
	_ = talk.Close()
	p.copied <- copied{failed, broken}
}

// idle is how long the engine may be silent about output that it still has.
const idle = 30 * time.Second

// patient reads the container's stream; once the container has ended, not for longer than the engine is idle.
type patient struct{ process *process }

func (r *patient) Read(b []byte) (int, error) {
	if r.process.ending.Over() {
		_ = r.process.stream.Conn.SetReadDeadline(time.Now().Add(idle))
	}
	return r.process.stream.Reader.Read(b)
}

// unlisten ends what listen began, for a container that did not start.
func (p *process) unlisten() {
	p.unwait()
	p.stream.Close()
	<-p.copied
}

// ready waits for the script's first word.
func (p *process) ready(ctx context.Context, from image) error {
	timer := time.NewTimer(callTime)
	defer timer.Stop()
	select {
	case word := <-p.news.first:
		return p.understand(word, from)
	case <-ctx.Done():
		return fault.New(fault.Transient, "cannot start a container: %w", context.Cause(ctx))
	case <-timer.C:
		return fault.New(fault.Transient, "cannot start a container: it said nothing for %s", callTime)
	}
}

func (p *process) understand(word string, from image) error {
	switch first, rest, _ := strings.Cut(word, " "); first {
	case "ready":
		return p.begin()
	case "missing":
		return fault.New(fault.Invalid, "cannot start %q: no such program in image %s", p.spec.Args[0], from.digest)
	case "refused":
		return fault.New(fault.Invalid, "cannot hold the limit %s in image %s", rest, from.digest)
	default:
		return fault.New(fault.Transient, "cannot start a container of %s: it ended at once: %s", from.digest, p.news.complaint())
	}
}

// begin lets the command begin: somebody hears it now.
func (p *process) begin() error {
	_ = p.stream.Conn.SetWriteDeadline(time.Now().Add(openTime))
	if _, err := io.WriteString(p.stream.Conn, goLine); err != nil {
		return fault.New(fault.Transient, "cannot let the command of container %s begin: %w", p.name, err)
	}
	return nil
}

// startError tells an image that cannot run a shell from an engine in trouble. Runtimes pass it on as text.
func startError(spec driver.Spec, from image, err error) error {
	text := err.Error()
	for _, sign := range []string{"executable file not found", "no such file or directory", "exec format error", "permission denied"} {
		if strings.Contains(text, sign) && strings.Contains(text, "sh") {
			return fault.New(fault.Invalid, "cannot start %q in image %s: %w; expected an image for this machine with /bin/sh", spec.Args[0], from.digest, err)
		}
	}
	return engineError("start a container of "+from.digest, err)
}

// run sees the container through to its end.
func (p *process) run() {
	defer close(p.done)
	defer p.driver.forget(p)
	p.await()
	p.exit.Ended = time.Now()
	p.unwatch()
	p.exit.Cause = p.ending.Finish()
	p.drain()
	p.exit.Memory = p.exit.Memory || p.news.outOfMemory()
	p.remove()
}

// await waits for the end of the container. An engine that went away is asked until it is back.
func (p *process) await() {
	defer p.unwait()
	select {
	case result := <-p.ended.Result:
		p.exit.Code = int(result.StatusCode)
		if result.Error != nil && result.Error.Message != "" {
			p.exit.Err = fault.New(fault.Transient, "the engine says: %s", result.Error.Message)
		}
	case err := <-p.ended.Error:
		p.ask(err)
	}
	p.look()
}

// retryTime is between two calls to an engine that does not answer.
const retryTime = 200 * time.Millisecond

// ask finds out how a container ended, or that it runs on, when the connection that would have told broke.
func (p *process) ask(cause error) {
	for end := time.Now().Add(p.driver.options.Patience); time.Now().Before(end); time.Sleep(retryTime) {
		ctx, cancel := context.WithTimeout(context.Background(), openTime)
		about, err := p.driver.engine.ContainerInspect(ctx, p.name, client.ContainerInspectOptions{})
		cancel()
		if errdefs.IsNotFound(err) {
			break
		}
		if err == nil && about.Container.State != nil && !about.Container.State.Running {
			p.exit.Code = about.Container.State.ExitCode
			return
		}
		if err == nil { // Its output cannot be had any more: what it does is lost.
			p.ending.End(fault.New(fault.Transient, "cannot follow container %s: the engine's connection broke: %w", p.name, cause), p.spec.Patience())
		}
	}
	p.exit.Code = -1
	p.ending.Blame(fault.New(fault.Transient, "cannot say how container %s ended: %w", p.name, cause))
}

// look asks whether the kernel killed it for its memory. Docker knows; podman does not, there the script tells.
func (p *process) look() {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	about, err := p.driver.engine.ContainerInspect(ctx, p.name, client.ContainerInspectOptions{})
	if err == nil && about.Container.State != nil {
		p.exit.Memory = about.Container.State.OOMKilled
	}
}

// askToEnd asks all processes of the container to end.
func (p *process) askToEnd() {
	_ = p.stream.Conn.SetWriteDeadline(time.Now().Add(openTime))
	if _, err := io.WriteString(p.stream.Conn, endLine); err != nil && !p.ending.Over() {
		p.driver.log.Warn("cannot ask a container to end: it will be killed when its grace is over", "container", p.name, "err", err)
	}
}

// kill kills, and tries again while the engine cannot.
func (p *process) kill() {
	const unusual = 5
	began := time.Now()
	for try := 0; !p.ending.Over() && time.Since(began) < p.driver.options.Patience; time.Sleep(retryTime) {
		ctx, cancel := context.WithTimeout(context.Background(), openTime)
		_, err := p.driver.engine.ContainerKill(ctx, p.name, client.ContainerKillOptions{Signal: "SIGKILL"})
		cancel()
		if err == nil {
			return
		}
		if try++; try == unusual { // One that has just ended by itself cannot be killed either.
			p.driver.log.Warn("cannot kill a container yet", "container", p.name, "err", err)
		}
	}
}

// drain waits for the end of the output. All who could write are dead, so that it comes as soon as it was passed on; an
// engine that forgets to say so is not waited for.
func (p *process) drain() {
	defer p.stream.Close()
	_ = p.stream.Conn.SetReadDeadline(time.Now().Add(idle))
	result := <-p.copied
	p.exit.Err = errors.Join(p.exit.Err, result.failed)
	p.exit.Truncated = result.broken != nil
}

// abandon gives up a container that did not start.
func (p *process) abandon() {
	p.ending.Finish()
	p.remove()
	p.driver.forget(p)
	close(p.done)
}

// remove removes the container, whatever became of it.
func (p *process) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if err := p.driver.removeContainer(ctx, p.name); err != nil {
		p.exit.Err = errors.Join(p.exit.Err, err)
	}
}
