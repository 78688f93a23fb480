package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// customer is somebody who knows one address of an installation whose services are processes of their own.
type customer struct {
	t  *testing.T
	c  *cluster
	at string // URL
}

func (u *customer) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), u.c.binary, args...)
	cmd.Env = append(os.Environ(), "SLUICE_SERVER="+u.at, "SLUICE_TOKEN="+operator)
	cmd.Dir = u.c.dir
	return cmd
}

// does runs a command and wants an exit code, and words in what it prints.
func (u *customer) does(line string, exit int, want string) {
	u.t.Helper()
	out, code := u.run(line)
	if code != exit || !strings.Contains(out, want) {
		u.t.Errorf("at %s: sluice %s: exit %d, expected %d and %q in\n%s", u.at, line, code, exit, want, out)
	}
}

func (u *customer) run(line string) (out string, code int) {
	u.t.Helper()
	text, err := u.command(strings.Fields(line)...).CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return string(text), failed.ExitCode()
	}
	if err != nil {
		u.t.Fatalf("sluice %s: %v", line, err)
	}
	return string(text), 0
}

// until runs a command until it prints something.
func (u *customer) until(line, want string) {
	u.t.Helper()
	out := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if out, _ = u.run(line); strings.Contains(out, want) {
			return
		}
	}
	w := strings.Fields(line)
	facts, _ := u.run("events show " + w[len(w)-1])
	u.t.Fatalf("at %s: sluice %s does not say %q:\n%s\n%s\n%s", u.at, line, want, out, facts, u.c.logs())
}

// request asks as a script does that tries to look as if it came from elsewhere.
func (u *customer) request(method, path, body string) (int, string) {
	u.t.Helper()
	r, err := http.NewRequestWithContext(u.t.Context(), method, u.at+path, strings.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + operator}, "X-Forwarded-For": {"203.0.113.9"}, "Sluice-Peer": {"203.0.113.9"}, "Sluice-Sibling": {"a-guess-of-the-key-of-the-siblings"},
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// TestSeparateServicesAreOneProduct drives an installation whose seven services are seven processes, once by the gateway's address
// and once by the reporter's: every command, every page, logs as they come, acts with the right address in the audit.
func TestSeparateServicesAreOneProduct(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.rewrite("sluice.yaml", "branch: master,", "branch: master, approvals: 1,")
	c.world.write("check.sh", fmt.Sprintf("echo salt\nwhile [ ! -e %s/go ]; do sleep 0.1; done\necho pepper\n"+
		"echo '<testsuite tests=\"1\"><testcase name=\"taste\"/></testsuite>' >report.xml\n", c.world.ground()))
	gateway, reporter := &customer{t, c, "http://" + c.world.gateway}, &customer{t, c, "http://" + c.world.reporter}
	run := release.Change{Repo: repo, Ref: "refs/heads/master", Commit: c.world.push(1, false)}.RunID()
	gateway.until("status "+string(run), "running")
	followed := reporter.follow(string(run)+"/check", "salt")
	gateway.does("hold "+string(run)+" --reason later", 0, "")
	if code, text := reporter.request(http.MethodPost, "/api/v1/runs/"+string(run)+"/approve", `{"note": "it tastes"}`); code != http.StatusAccepted {
		t.Fatalf("an approval at the reporter is answered %d %s", code, text)
	}
	if err := os.WriteFile(filepath.Join(c.world.ground(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	followed("pepper")
	reporter.until("why "+string(run), "hold")
	reporter.does("hold "+string(run)+" --resume", 0, "")
	gateway.does("watch "+string(run), 0, "success")
	c.bySpoofer(t, run)
	for _, u := range []*customer{gateway, reporter} {
		u.looks(run)
		u.acts()
	}
}

// rewrite changes a file of the checkout.
func (c *cluster) rewrite(name, old, text string) {
	c.t.Helper()
	before, err := os.ReadFile(filepath.Join(c.world.checkout, name))
	if err != nil || !strings.Contains(string(before), old) {
		c.t.Fatalf("%s does not hold %q (%v)", name, old, err)
	}
	c.world.write(name, strings.Replace(string(before), old, text, 1))
}

// follow follows a log and waits for a line; the rest of it is awaited by what it returns.
func (u *customer) follow(task, first string) (rest func(last string)) {
	u.t.Helper()
	var cmd *exec.Cmd
	var lines *bufio.Scanner
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		cmd = u.command("logs", task, "-f")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			u.t.Fatal(err)
		}
		lines = bufio.NewScanner(out)
		if lines.Scan() {
			break
		}
		_ = cmd.Wait() // the task is not there yet
		if time.Now().After(end) {
			u.t.Fatalf("at %s: logs %s prints nothing\n%s", u.at, task, u.c.logs())
		}
	}
	if lines.Text() != first {
		u.t.Errorf("at %s: the first line is %q, expected %q", u.at, lines.Text(), first)
	}
	return func(last string) {
		u.t.Helper()
		got := ""
		for lines.Scan() {
			got = lines.Text()
		}
		if err := cmd.Wait(); err != nil || got != last {
			u.t.Errorf("at %s: the log ended with %q (%v), expected %q", u.at, got, err, last)
		}
	}
}

// bySpoofer holds the facts of the acts to where they really came from.
func (c *cluster) bySpoofer(t *testing.T, run release.RunID) {
	t.Helper()
	acts := 0
	for _, e := range c.facts(t, run) {
		switch e.Type {
		case event.TypeGateApproved, event.TypeGateHeld, event.TypeGateResumed:
			acts++
			if e.Actor.Subject != "token:olga" || e.Actor.Remote != "127.0.0.1" {
				t.Errorf("%s was done by %+v, expected token:olga from 127.0.0.1", e.Type, e.Actor)
			}
		}
	}
	if acts != 3 {
		t.Errorf("there are %d acts, expected 3", acts)
	}
}

// facts are those of a run that are stored now.
func (c *cluster) facts(t *testing.T, run release.RunID) (out []event.Event) {
	t.Helper()
	f, err := c.bus.Follow(t.Context(), bus.Following{Name: "faults", Run: string(run)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		batch, err := f.Next(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, batch.Events...); batch.Live {
			return out
		}
	}
}

// looks uses everything that only looks.
func (u *customer) looks(run release.RunID) {
	u.t.Helper()
	for line, want := range map[string]string{
		"runs": "success", "status RUN": "success", "watch RUN": "success", "logs RUN": "pepper", "why RUN": "published",
		"artifacts RUN --download got": "wheel", "events show RUN": "gate opened", "events tail --run RUN": "release published",
		"events replay RUN": "given to pool", "pools": "default", "places": "", "tests": "has passed", "bisect": "", "limits": "",
		"deadletters list": "There are no dead letters", "tokens list": "", "audit": "olga", "top": "FACTS",
	} {
		u.does(strings.ReplaceAll(line, "RUN", string(run)), 0, want)
	}
	for path, want := range map[string]string{
		"/": "RUN", "/runs/RUN": "check", "/runs/RUN/events": "gate.opened", "/runs/RUN/artifacts": "whl", "/runs/RUN/tasks/check": "check",
		"/tests": "</html>", "/pools": "default", "/streams": "FACTS", "/audit": "olga", "/login": "token", "/static/sluice.css": "body",
		"/healthz": `"problems":{}`, "/readyz": `"ok":true`, "/metrics": "sluice_",
	} {
		if code, text := u.request(http.MethodGet, strings.ReplaceAll(path, "RUN", string(run)), ""); code != http.StatusOK || !strings.Contains(text, strings.ReplaceAll(want, "RUN", string(run))) {
			u.t.Errorf("at %s: %s is answered %d, expected 200 and %q in\n%.300s", u.at, path, code, want, text)
		}
	}
}

// acts uses everything that changes something.
func (u *customer) acts() {
	u.t.Helper()
	u.does("drain default --reason disks", 0, "")
	u.until("pools", "drained")
	out, code := u.run("trigger tiny --branch master")
	if code != 0 {
		u.t.Fatalf("at %s: trigger: exit %d: %s", u.at, code, out)
	}
	run := strings.TrimSpace(out)
	u.until("status "+run, "running")
	u.does("cancel "+run+" --reason enough", 0, "")
	u.does("watch "+run, 3, "cancelled")
	u.does("retry "+run, 0, "")
	u.until("why "+run, "round 1")
	u.does("cancel "+run, 0, "")
	u.does("drain default --resume", 0, "")
	u.does("watch "+run, 3, "cancelled")
	u.does("limits set group gpu 3", 0, "")
	u.until("limits", "gpu")
	u.does("limits unset group gpu", 0, "")
	u.does("tokens create bot --role viewer", 0, "")
	u.does("permit "+run, 2, "it does not wait for that")
}
