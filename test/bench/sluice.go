package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	repo   = "acme/bench"
	secret = "bench-secret"
	slots  = 8
)

// sluice is `sluice up` in a process of its own, with one project.
type sluice struct {
	binary string
	dir    string
	config string
	cmd    *exec.Cmd
	url    string
	nats   string // of its bus, for services in other processes
	bus    *bus.Bus
	origin string // work tree that is pushed from
	bare   string // what Sluice fetches from
	number int

	executors string // as the installation's file lists them
}

// withSlots is one executor, which runs so many tasks at once.
func withSlots(n int) string { return fmt.Sprintf("{pool: default, slots: %d}", n) }

// start starts Sluice in a directory of its own.
func start(ctx context.Context, binary, dir, executors string) (*sluice, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &sluice{
		binary: binary, dir: dir, origin: filepath.Join(dir, "project"), bare: filepath.Join(dir, "project.git"), executors: executors,
	}
	for _, args := range [][]string{{"init", "-q", "--bare", "--initial-branch=master", p.bare}, {"init", "-q", "--initial-branch=master", p.origin}} {
		if err := git(ctx, dir, args...); err != nil {
			return nil, err
		}
	}
	if err := git(ctx, p.origin, "remote", "add", "origin", "file://"+p.bare); err != nil {
		return nil, err
	}
	var err error
	if p.config, err = p.configure(); err != nil {
		return nil, err
	}
	return p, p.up(ctx)
}

// up starts the process, and waits until it says where it is.
func (p *sluice) up(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(p.dir, "sluice.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if err := os.Remove(filepath.Join(p.dir, "sluice", "connection.json")); err != nil && !os.IsNotExist(err) {
		return err
	}
	p.cmd = exec.Command(p.binary, "up", "--dir", filepath.Join(p.dir, "sluice"), "--listen", p.url[len("http://"):], "--config", p.config, "--log", "warn")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w; build it with make build", p.binary, err)
	}
	if err := p.connect(ctx); err != nil {
		p.stop()
		return fmt.Errorf("%w\n%s", err, p.tail())
	}
	return nil
}

// connect waits until Sluice says where its bus is.
func (p *sluice) connect(ctx context.Context) error {
	var c struct {
		NATS string `json:"nats"`
		Seed string `json:"nats_seed"`
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		text, err := os.ReadFile(filepath.Join(p.dir, "sluice", "connection.json"))
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("sluice did not say within 30s where it runs: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.nats = c.NATS
	key, err := bus.ReadKey([]byte(c.Seed))
	if err != nil {
		return err
	}
	p.bus, err = bus.Connect(ctx, c.NATS, bus.Options{Name: "bench", Identity: "onlooker", Key: &key, Onlooker: true})
	return err
}

func (p *sluice) stop() {
	if p.bus != nil {
		p.bus.Close()
		p.bus = nil
	}
	end(p.cmd, syscall.SIGTERM)
}

// end ends a process with a signal, and kills it when that has not helped after half a minute.
func end(cmd *exec.Cmd, signal syscall.Signal) {
	_ = cmd.Process.Signal(signal)
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		<-done
	}
}

// tail is the end of Sluice's log.
func (p *sluice) tail() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "sluice.log"))
	return string(text[max(0, len(text)-4000):])
}

// commit makes a commit whose definition is the text, and makes it fetchable. It is not announced.
func (p *sluice) commit(ctx context.Context, definition string) (release.Commit, error) {
	p.number++
	for name, text := range map[string]string{"sluice.yaml": definition, "number": strconv.Itoa(p.number)} {
		if err := os.WriteFile(filepath.Join(p.origin, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "bench"}, {"push", "-q", "origin", "master"}} {
		if err := git(ctx, p.origin, args...); err != nil {
			return "", err
		}
	}
	out, err := exec.CommandContext(ctx, "git", "-C", p.origin, "rev-parse", "HEAD").Output()
	return release.Commit(strings.TrimSpace(string(out))), err
}

// announce sends the webhook of a push to master, as a forge would, and returns the run.
func (p *sluice) announce(ctx context.Context, commit release.Commit) (release.RunID, error) {
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/master", "before": strings.Repeat("0", 40), "after": commit, "commits": []any{},
		"head_commit": map[string]any{"id": commit, "message": "bench"},
		"repository":  map[string]any{"id": 1, "name": "bench", "full_name": repo, "clone_url": "file://" + p.bare, "default_branch": "master"},
		"pusher":      map[string]any{"login": "ada", "username": "ada"}, "sender": map[string]any{"login": "ada", "username": "ada"},
	})
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/hooks/gitea", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Gitea-Event", "push")
	request.Header.Set("X-Gitea-Delivery", "bench-"+string(commit))
	request.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection is kept
		_ = response.Body.Close()
	}()
	var answer struct {
		Run release.RunID `json:"run"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode/100 != 2 || answer.Run == "" {
		return "", fmt.Errorf("the webhook was answered %s, run %q: %w", response.Status, answer.Run, err)
	}
	return answer.Run, nil
}

// finish follows a run to its end and returns its facts; a run that does not succeed is an error.
func (p *sluice) finish(ctx context.Context, run release.RunID) ([]event.Event, error) {
	facts, err := p.bus.Follow(ctx, bus.Following{Name: "bench", Run: string(run)})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	var seen []event.Event
	for {
		batch, err := facts.Next(ctx, time.Minute)
		if err != nil {
			return seen, err
		}
		for _, e := range batch.Events {
			seen = append(seen, e)
			if end, ok := e.Data.(event.RunFinished); ok {
				return seen, verdict(run, end)
			}
		}
		if len(batch.Events) == 0 {
			return seen, fmt.Errorf("run %s stands still: nothing happened for a minute after %d facts", run, len(seen))
		}
	}
}

// ignored waits until the builder has said that no trigger wants a run.
func (p *sluice) ignored(ctx context.Context, run release.RunID) error {
	facts, err := p.bus.Follow(ctx, bus.Following{Name: "bench", Run: string(run), Types: []event.Type{event.TypeChangeIgnored, event.TypeRunRejected}})
	if err != nil {
		return err
	}
	defer facts.Close()
	batch, err := facts.Next(ctx, time.Minute)
	if err != nil {
		return err
	}
	for _, e := range batch.Events {
		if e.Type == event.TypeChangeIgnored {
			return nil
		}
	}
	return fmt.Errorf("run %s was not ignored: %+v", run, batch.Events)
}

func verdict(run release.RunID, end event.RunFinished) error {
	if end.Outcome == release.Success {
		return nil
	}
	return fmt.Errorf("run %s ended with %s: %s", run, end.Outcome, end.Reason)
}
