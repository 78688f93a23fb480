package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// testDaemons starts what leaves the session, is deaf, holds the output and forks on.
func testDaemons(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	exit := Exit(t, t.Context(), d, Shell(t, `setsid sh -c 'trap "" TERM HUP; echo up > daemon; while :; do sleep 1 & wait; done' &
while ! test -s daemon; do sleep 0.01; done
echo said; exit 3`, &out))
	if exit.Code != 3 || exit.Cause != nil || out.String() != "said\n" {
		t.Errorf("%+v with output %q", exit, out.String())
	}
}

func testClosedOutput(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	spec := Shell(t, "echo said; exec >&- 2>&-; sleep 0.5; echo done > report; exit 4", &out)
	exit := Exit(t, t.Context(), d, spec)
	report, err := os.ReadFile(filepath.Join(spec.Dir, "report"))
	if exit.Code != 4 || out.String() != "said\n" || err != nil || string(report) != "done\n" {
		t.Errorf("%+v with output %q and report %q, %v", exit, out.String(), report, err)
	}
}

func testBytes(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	exit := Exit(t, t.Context(), d, Shell(t, `printf 'a\000\001\002\033[1m\377\376\r\n\200'`, &out))
	if !exit.OK() || out.String() != "a\x00\x01\x02\x1b[1m\xff\xfe\r\n\x80" {
		t.Errorf("%v with output %q", exit, out.String())
	}
}

// slowWriter takes its time for the first write.
type slowWriter struct {
	countingWriter
	once sync.Once
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { time.Sleep(500 * time.Millisecond) })
	return w.countingWriter.Write(b)
}

func testSlowReader(t *testing.T, d driver.Driver) {
	var out slowWriter
	exit := Exit(t, t.Context(), d, Shell(t, "head -c 5000000 /dev/zero", &out))
	if !exit.OK() || out.n != 5_000_000 {
		t.Errorf("%v: %d bytes arrived", exit, out.n)
	}
}

func testWords(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	spec := Shell(t, "", &out)
	spec.Args = []string{
		"sh", "-c", `printf '<%s>' "$@"`, "sh",
		"a\nb", `'"$HOME` + "`id`", "ü ∑ \u202e", "", "-n", `\`, " * ", strings.Repeat("x", 90<<10), "\n",
	}
	exit := Exit(t, t.Context(), d, spec)
	want := "<" + strings.Join(spec.Args[4:], "><") + ">"
	if !exit.OK() || out.String() != want {
		t.Errorf("%v with output %.200q… (%d bytes), expected %d bytes", exit, out.String(), out.Len(), len(want))
	}
}

func testBigEnvironment(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	spec := Shell(t, `echo ${#BIG} ${#V_499}; printf %s "$LINES_"; env | grep -c ^V_`, &out)
	spec.Env["BIG"], spec.Env["LINES_"] = strings.Repeat("ü", 50<<10), "'a'\n\"b\"\n$c\n"
	for i := range 500 {
		spec.Env[fmt.Sprintf("V_%d", i)] = strings.Repeat("v", 1000)
	}
	exit := Exit(t, t.Context(), d, spec)
	lengths, rest, _ := strings.Cut(out.String(), "\n")
	// Some shells count bytes, some letters.
	if !exit.OK() || (lengths != "102400 1000" && lengths != "51200 1000") || rest != spec.Env["LINES_"]+"500\n" {
		t.Errorf("%v with output %.300q", exit, out.String())
	}
}

func testStopped(t *testing.T, d driver.Driver) {
	ctx, cancel := context.WithCancel(t.Context())
	var out Output
	spec := Shell(t, "echo up; kill -STOP $$; sleep 60", &out)
	p, err := d.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "up\n")
	cancel()
	if exit := Wait(t, p); exit.OK() || exit.Cause == nil {
		t.Errorf("a stopped process gives %+v", exit)
	}
}

func testDeadline(t *testing.T, d driver.Driver) {
	why := errors.New("it took too long")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, why)
	defer cancel()
	p, err := d.Start(ctx, Shell(t, "sleep 60", nil))
	if err != nil {
		if !fault.Is(err, fault.Transient) { // a busy machine
			t.Error(err)
		}
		return
	}
	if exit := Wait(t, p); exit.OK() || !errors.Is(exit.Cause, why) {
		t.Errorf("a deadline gives %+v", exit)
	}
}

// testCancelledStart cancels at many points of the start: what is left is an error or a process that ended.
func testCancelledStart(t *testing.T, d driver.Driver) {
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 150 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(after, cancel)
		p, err := d.Start(ctx, Shell(t, "sleep 60", nil))
		switch {
		case err != nil && !fault.Is(err, fault.Transient):
			t.Errorf("cancelled after %s: %v", after, err)
		case err == nil:
			if exit := Wait(t, p); exit.OK() || !errors.Is(exit.Cause, context.Canceled) {
				t.Errorf("cancelled after %s: %+v", after, exit)
			}
		}
		timer.Stop()
		cancel()
	}
}

func testManyWaiters(t *testing.T, d driver.Driver) {
	p, err := d.Start(t.Context(), Shell(t, "exit 7", nil))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if exit := p.Wait(); exit.Code != 7 {
				t.Errorf("got %+v", exit)
			}
		})
	}
	Wait(t, p)
	all.Wait()
	if p.ID() == "" {
		t.Error("a process without a name")
	}
}
