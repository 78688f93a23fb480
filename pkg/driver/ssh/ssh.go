package ssh

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Options configure the driver.
type Options struct {
	Address    string // "node7" or "node7:2222"
	User       string
	KeyFile    string // private, without a passphrase
	KnownHosts string // file of keys that hosts are known by
	Dir        string // on the host, for what belongs to attempts; ".sluice" in the account's home when empty
	Shared     bool   // the host sees the executor's files at the same paths; else trees are sent there and back
	Path       string // PATH of commands that state none; the host's own when empty
	Place      string // the executor's directory: what earlier instances of the same place left is swept
	Log        *slog.Logger

	KeepAlive time.Duration // between signs of life; 10s when 0
	Patience  time.Duration // with a host that cannot be reached while a command runs there; 5m when 0
	Orphan    time.Duration // after which a host that hears nothing ends the command; 10m when 0, and more than Patience
}

func (o Options) orDefault() Options {
	if _, _, err := net.SplitHostPort(o.Address); err != nil && o.Address != "" {
		o.Address = net.JoinHostPort(strings.Trim(o.Address, "[]"), "22")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Dir = cmp.Or(o.Dir, ".sluice")
	o.KeepAlive = cmp.Or(o.KeepAlive, 10*time.Second)
	o.Patience = cmp.Or(o.Patience, 5*time.Minute)
	o.Orphan = cmp.Or(o.Orphan, max(10*time.Minute, 2*o.Patience))
	return o
}

// Driver runs commands on one host.
type Driver struct {
	options  Options
	host     *host
	place    string
	instance string
	log      *slog.Logger
	count    atomic.Int64

	mu      sync.Mutex
	closed  bool
	base    string // of all attempts on the host; found out at the first need
	running map[*process]struct{}
}

// callTime bounds a call to the host that moves no trees.
const callTime = time.Minute

// Open makes a driver. It reads keys but does not talk to the host, which may be away just now. It must be closed.
func Open(o Options) (*Driver, error) {
	o = o.orDefault()
	if o.Address == "" || o.User == "" || o.Orphan <= o.Patience {
		return nil, fault.New(fault.Invalid, "cannot use host %q as %q, orphans after %s: expected an address, a user, and more than the patience of %s",
			o.Address, o.User, o.Orphan, o.Patience)
	}
	config, err := clientConfig(o)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Place)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot name the place %q: %w", o.Place, err)
	}
	return &Driver{
		options: o, place: release.Derive("place", dir)[:12], instance: rand.Text()[:12], log: o.Log,
		host:    &host{address: o.Address, config: config, keepAlive: o.KeepAlive, dialing: make(chan struct{}, 1)},
		running: map[*process]struct{}{},
	}, nil
}

// Start implements driver.Driver.
func (d *Driver) Start(ctx context.Context, spec driver.Spec) (driver.Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fault.New(fault.Transient, "cannot start a command on %s: %w", d.options.Address, err)
	}
	if err := check(spec); err != nil {
		return nil, err
	}
	base, err := d.home(ctx)
	if err != nil {
		return nil, err
	}
	p := d.process(base, spec)
	if !d.add(p) {
		return nil, errClosed
	}
	if err := p.start(ctx); err != nil {
		p.abandon()
		if cause := context.Cause(ctx); cause != nil {
			err = fault.New(fault.Transient, "cannot start a command on %s: %w", d.options.Address, cause)
		}
		return nil, err
	}
	p.unwatch = context.AfterFunc(ctx, func() { p.ending.End(context.Cause(ctx), spec.Patience()) })
	go p.run()
	return p, nil
}

func (d *Driver) process(base string, spec driver.Spec) *process {
	name := d.instance + "-" + strconv.FormatInt(d.count.Add(1), 10)
	p := &process{
		driver: d, spec: spec, name: name, sent: map[string]names{}, leash: d.place + "-" + name + ",", done: make(chan struct{}),
		at: newPlace(remote(base, d.place, name), spec, d.options.Shared),
	}
	p.life, p.stop = context.WithCancel(context.Background())
	p.ending.Ask, p.ending.Kill = func() { p.insist("TERM") }, func() { p.insist("KILL") }
	return p
}

// home finds the directory of all attempts on the host.
func (d *Driver) home(ctx context.Context) (string, error) {
	d.mu.Lock()
	base := d.base
	d.mu.Unlock()
	if base != "" {
		return base, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	said, err := d.call(ctx, shell(baseScript, d.options.Dir), nil)
	if err != nil {
		return "", err
	}
	base = strings.TrimSuffix(said, "\n")
	if !strings.HasPrefix(base, "/") || strings.Contains(base, "\n") {
		return "", fault.New(fault.Transient, "cannot use %q on host %s: the host says it is %.200q, expected a path; does the account's shell print something at login?",
			d.options.Dir, d.options.Address, said)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base = base
	return base, nil
}

// call runs a command line on the host and returns what it says.
func (d *Driver) call(ctx context.Context, line string, in io.Reader) (string, error) {
	var said bytes.Buffer
	if err := d.stream(ctx, line, in, &said); err != nil {
		return "", err
	}
	return said.String(), nil
}

// stream runs a command line on the host with both its streams. A status other than 0 is an error that tells what it
// complained about. When ctx is done it returns, though the host may still be busy and the streams in use.
func (d *Driver) stream(ctx context.Context, line string, in io.Reader, out io.Writer) error {
	session, release, err := d.host.session(ctx)
	if err != nil {
		return err
	}
	defer release()
	complaint := &tail{}
	session.Stdin, session.Stdout, session.Stderr = in, out, complaint
	ended := make(chan error, 1)
	go func() { ended <- session.Run(line) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		return fault.New(fault.Transient, "cannot run a command on host %s: %w", d.options.Address, context.Cause(ctx))
	}
	if err != nil {
		return fault.New(fault.Transient, "cannot run a command on host %s: %w: %s", d.options.Address, err, complaint)
	}
	return nil
}

// tail keeps the last words of a stream.
type tail struct{ said []byte }

const tailSize = 500

func (t *tail) Write(b []byte) (int, error) {
	t.said = append(t.said, b...)
	t.said = t.said[max(0, len(t.said)-tailSize):]
	return len(b), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(strings.TrimSpace(string(t.said)), "?") }

// Sweep ends and removes what earlier instances of this place left on the host, and what has expired there.
func (d *Driver) Sweep(ctx context.Context) (int, error) {
	base, err := d.home(ctx)
	if err != nil {
		return 0, err
	}
	list, err := d.call(ctx, shell(sweepScript, base, d.place, d.instance), nil)
	if err != nil {
		return 0, err
	}
	removed := 0
	for dir := range strings.FieldsSeq(list) {
		place, name, ok := strings.Cut(dir, "/")
		if !ok || strings.HasPrefix(dir, ".") {
			continue
		}
		leash := place + "-" + name + ","
		if _, err := d.call(ctx, shell(removeScript, remote(base, dir), leash), nil); err != nil {
			return removed, fmt.Errorf("cannot sweep %s: %w", dir, err)
		}
		removed++
		d.log.WarnContext(ctx, "removed what an earlier executor left on a host", "host", d.options.Address, "attempt", dir)
	}
	return removed, nil
}

// Close ends the driver. Commands that still run are killed.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	var all []*process
	for p := range d.running {
		all = append(all, p)
	}
	d.mu.Unlock()
	for _, p := range all {
		p.ending.End(errClosed, 0)
	}
	for _, p := range all {
		p.Wait()
	}
	d.host.close()
	return nil
}

func (d *Driver) add(p *process) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.running[p] = struct{}{}
	}
	return !d.closed
}

func (d *Driver) forget(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, p)
}

// noMethodLeft: the client package has no type for the end of all methods.
func noMethodLeft(err error) bool { return strings.Contains(err.Error(), "unable to authenticate") }
