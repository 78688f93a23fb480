package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/loopback"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	core "github.com/sluiceci/sluice/pkg/schedule"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

// settling bounds every wait in a yard. It is long for machines that have much else to do.
const settling = 2 * time.Minute

// yard is a NATS server, a scheduler and executors, each a process that may be killed; the test says what the others
// would. What ends is started again, as a supervisor does.
type yard struct {
	t      testing.TB
	dir    string
	ground string // the places, and the ledger
	config string // of the installation, but for executors
	nats   string // address
	bus    *bus.Bus
	blobs  blob.Store
	facts  *bus.Follower
	seen   []event.Event
	next   int    // of seen, to look at
	last   uint64 // fact

	executors func(name, config string) // starts one

	mu    sync.Mutex
	parts map[string]*part
}

// part is a process that is started whenever it has ended.
type part struct {
	home sync.Mutex // held while it is to stay away
	mu   sync.Mutex
	pid  int // 0 while it does not run
}

// newYard starts a server and a scheduler with what its configuration says beside that.
func newYard(t testing.TB, config string) *yard {
	t.Helper()
	y := &yard{t: t, dir: t.TempDir(), nats: loopback.ReserveFor(t), parts: map[string]*part{}}
	y.blobs = blob.Dir(filepath.Join(y.dir, "blobs"))
	y.config = fmt.Sprintf("nats: {url: \"nats://%s\"}\nblobs: file://%s/blobs\n%s\n", y.nats, y.dir, config)
	for _, dir := range []string{"nats", "state"} {
		if err := os.Mkdir(filepath.Join(y.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	y.keep(ctx, &group, "nats", func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), serverEnv+"="+y.nats+" "+filepath.Join(y.dir, "nats"))
		return cmd
	})
	y.answers()
	y.connect()
	y.serve(ctx, &group, "test-scheduler", "test-scheduler", "")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(y.logs())
		}
	})
	y.executors = func(name, config string) { y.serve(ctx, &group, name, "executor", "executors: ["+config+"]\n") }
	return y
}

// serverEnv makes this program a NATS server, at an address with a directory.
const serverEnv = "SLUICE_FAULTS_SERVER"

// serveNATS is such a server, until it is killed.
func serveNATS(at string) error {
	address, dir, _ := strings.Cut(at, " ")
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	s, err := bus.Embed(bus.ServerOptions{Dir: dir, Port: tcp.Port})
	if err != nil {
		return err
	}
	defer s.Close()
	select {}
}

// serve keeps a service with a directory of its own.
func (y *yard) serve(ctx context.Context, group *sync.WaitGroup, name, service, config string) {
	y.t.Helper()
	file := filepath.Join(y.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(y.config+config), 0o600); err != nil {
		y.t.Fatal(err)
	}
	program := binary(y.t)
	y.keep(ctx, group, name, func() *exec.Cmd {
		return exec.Command(program, "serve", service, "--config", file, "--dir", filepath.Join(y.dir, name), "--log", "info")
	})
}

// keep starts a process whenever it has ended, until ctx ends.
func (y *yard) keep(ctx context.Context, group *sync.WaitGroup, name string, command func() *exec.Cmd) {
	p := &part{}
	y.mu.Lock()
	y.parts[name] = p
	y.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(y.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		y.t.Fatal(err)
	}
	group.Go(func() {
		defer func() { _ = log.Close() }()
		for ctx.Err() == nil {
			p.home.Lock()
			cmd := command()
			cmd.Stdout, cmd.Stderr = log, log
			err := cmd.Start()
			p.home.Unlock()
			if err != nil {
				y.t.Errorf("cannot start %s: %v", name, err)
				return
			}
			p.set(cmd.Process.Pid)
			p.attend(ctx, cmd)
			p.set(0)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

// attend waits until a process has ended; it is told to when ctx is over.
func (p *part) attend(ctx context.Context, cmd *exec.Cmd) {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a killed process ends with an error
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		<-ended
	}
}

func (p *part) set(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = pid
}

// signal signals a part, if it runs. The number is not yet another process's: nobody has waited for this one.
func (y *yard) signal(name string, s syscall.Signal) int {
	y.mu.Lock()
	p := y.parts[name]
	y.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = syscall.Kill(p.pid, s)
	}
	return p.pid
}

// away keeps a part from being started again, until the function that it returns is called.
func (y *yard) away(name string) (back func()) {
	y.mu.Lock()
	p := y.parts[name]
	y.mu.Unlock()
	if !p.home.TryLock() { // it is away, or just about to be here again
		return func() {}
	}
	back = sync.OnceFunc(p.home.Unlock)
	y.t.Cleanup(back)
	return back
}

// answers waits until the server takes connections.
func (y *yard) answers() {
	y.t.Helper()
	for end := time.Now().Add(settling); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", y.nats)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			y.t.Fatalf("no NATS server within %s: %v", settling, err)
		}
	}
}

// connected connects as soon as the server has time for it: everything starts at once here.
func connected(t testing.TB, url string, o bus.Options) *bus.Bus {
	t.Helper()
	for end := time.Now().Add(settling); ; time.Sleep(50 * time.Millisecond) {
		b, err := bus.Connect(t.Context(), url, o)
		if err == nil {
			return b
		}
		if time.Now().After(end) {
			t.Fatalf("no connection within %s: %v", settling, err)
		}
	}
}

func (y *yard) connect() {
	y.t.Helper()
	y.bus = connected(y.t, "nats://"+y.nats, bus.Options{Name: "faults"})
	y.t.Cleanup(y.bus.Close)
}

// say stores facts of a run, as often as it takes.
func (y *yard) say(run release.RunID, payloads ...event.Payload) {
	y.t.Helper()
	var events []event.Event
	for _, p := range payloads {
		events = append(events, event.Root(run, "/faults/1", time.Now(), p))
	}
	for end := time.Now().Add(settling); ; time.Sleep(50 * time.Millisecond) {
		err := y.bus.Publish(y.t.Context(), events...)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			y.t.Fatal(err)
		}
	}
}

// begin announces a run whose tasks are all requested at once.
func (y *yard) begin(run release.RunID, change release.Change, tasks []plan.Task) {
	y.t.Helper()
	p := plan.Plan{Project: "yard", Trust: release.TrustTrusted, Change: change, Tasks: tasks}
	text, digest, err := p.Encode()
	if err == nil {
		_, err = blob.PutBytes(y.t.Context(), y.blobs, text)
	}
	if err != nil {
		y.t.Fatal(err)
	}
	facts := []event.Payload{
		event.ChangeReceived{Change: change},
		event.RunPlanned{Change: change, Trust: p.Trust, Plan: digest, Tests: int32(len(tasks)), Untested: true, KeepGoing: true, Supersede: true},
		event.CandidateAssembled{Candidate: release.DigestOf([]byte("c")), Blob: digest, Plan: digest},
	}
	for _, t := range tasks {
		facts = append(facts, t.Request(digest, p.Trust))
	}
	y.say(run, facts...)
}

// until goes through the facts, from where it stopped the last time, until done says that it has seen enough.
func (y *yard) until(done func(event.Event) bool) {
	y.t.Helper()
	ctx, cancel := context.WithTimeout(y.t.Context(), settling)
	defer cancel()
	for ctx.Err() == nil {
		for y.next < len(y.seen) {
			y.next++
			if done(y.seen[y.next-1]) {
				return
			}
		}
		y.read(ctx)
	}
	y.t.Fatalf("it did not happen within %s; the last facts:\n%s%s", settling, story(y.seen[max(0, len(y.seen)-60):]), y.unfinished())
}

// unfinished says of every run without an end what was read of it, and why it waits.
func (y *yard) unfinished() string {
	counts := map[release.RunID]map[event.Type]int{}
	over := map[release.RunID]bool{}
	for _, e := range y.seen {
		if counts[e.Run] == nil {
			counts[e.Run] = map[event.Type]int{}
		}
		counts[e.Run][e.Type]++
		over[e.Run] = over[e.Run] || e.Type == event.TypeRunFinished
	}
	var b strings.Builder
	status, err := y.bus.StreamStatus(y.t.Context(), bus.Facts)
	fmt.Fprintf(&b, "read to fact %d; the stream: %+v %v\n", y.last, status, err)
	for run, types := range counts {
		if over[run] || !strings.HasPrefix(string(run), "storm") {
			continue
		}
		why, err := bus.Ask[scheduler.Question, core.Why](y.t.Context(), y.bus, scheduler.TopicWhy, scheduler.Question{Run: run})
		fmt.Fprintf(&b, "%s: %v\n  %+v %v\n", run, types, why, err)
	}
	return b.String()
}

// read reads what has come. A follower that was cut off is followed by another.
func (y *yard) read(ctx context.Context) {
	if y.facts == nil {
		f, err := y.bus.Follow(y.t.Context(), bus.Following{Name: "faults", From: y.last + 1})
		if err != nil {
			time.Sleep(50 * time.Millisecond) // the server is away
			return
		}
		y.facts = f
	}
	batch, err := y.facts.Next(ctx, time.Second)
	if err != nil {
		y.facts.Close()
		y.facts = nil
		return
	}
	y.seen = append(y.seen, batch.Events...)
	y.last = max(y.last, batch.Last)
}

// eventually waits until something is so; problem says how far it is from that, or "".
func (y *yard) eventually(what string, problem func() string) {
	y.t.Helper()
	for end := time.Now().Add(settling); ; time.Sleep(50 * time.Millisecond) {
		found := problem()
		if found == "" {
			return
		}
		if time.Now().After(end) {
			y.t.Errorf("%s: after %s still %s", what, settling, found)
			return
		}
	}
}

// places asks the scheduler for them.
func (y *yard) places() ([]lease.Place, error) {
	return bus.Ask[lease.Everything, []lease.Place](y.t.Context(), y.bus, lease.Topic, lease.Everything{})
}

// processes lists those whose environment says that they belong to one of some runs.
func processes(runs ...release.RunID) []string {
	return matching(func(env string) bool {
		return slices.ContainsFunc(runs, func(run release.RunID) bool { return strings.Contains(env, "\x00SLUICE_RUN="+string(run)+"\x00") })
	})
}

// attempts lists the processes of attempts of a run with a number.
func attempts(n int, run release.RunID) []string {
	return matching(func(env string) bool {
		return strings.Contains(env, "\x00SLUICE_RUN="+string(run)+"\x00") && strings.Contains(env, fmt.Sprintf("\x00SLUICE_ATTEMPT=%d\x00", n))
	})
}

// matching lists the processes with an environment that will do.
func matching(will func(env string) bool) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && will("\x00"+string(text)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			out = append(out, filepath.Base(filepath.Dir(file))+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return out
}

// logs are the last lines of every part.
func (y *yard) logs() string {
	files, _ := filepath.Glob(filepath.Join(y.dir, "*.log"))
	var b strings.Builder
	for _, file := range files {
		text, _ := os.ReadFile(file)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(file), strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
	return b.String()
}
