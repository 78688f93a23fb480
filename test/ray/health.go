package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	bisectedTest = "tune_scalability_bookkeeping_overhead.aws"
	jailedTest   = "long_running_actor_deaths.aws"
)

// bisected pushes commits to master, one of which breaks a test, and lets Sluice look for it.
func bisected(ctx context.Context, w *world, s *sluice) error {
	if err := w.cast("# what the commits say"); err != nil {
		return err
	}
	good, err := w.push(ctx, "master", "tune: before")
	if err != nil {
		return err
	}
	var guilty, bad string
	for i := range 10 {
		if i == 2 {
			line := bisectedTest + " 0.05 1\n"
			file := w.Path("checkout/standin/cast.txt")
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file, append([]byte(line), text...), 0o600); err != nil {
				return err
			}
		}
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", fmt.Sprintf("tune: change %d", i+1)}} {
			if _, err := w.git(ctx, args...); err != nil {
				return err
			}
		}
		if bad, err = w.git(ctx, "rev-parse", "HEAD"); err != nil {
			return err
		}
		if i == 2 {
			guilty = bad
		}
	}
	if _, err := w.git(ctx, "push", "-q", "origin", "master"); err != nil {
		return err
	}
	for _, commit := range []string{good, bad} { // the pushes start runs of everything, which this scene is not about
		if err := s.cancel(ctx, commit); err != nil {
			return err
		}
	}
	if out, code, err := s.do(ctx, "bisect", bisectedTest, "--good", good, "--bad", bad, "--param", "frequency=any"); err != nil || code != 0 {
		return fmt.Errorf("bisect answered %s (exit code %d): %w", out, code, err)
	}
	blamed, reason, err := s.blamed(ctx)
	if err != nil {
		return err
	}
	if blamed != guilty {
		return fmt.Errorf("commit %q is blamed (%s), want %s", blamed, reason, guilty)
	}
	say("   %s is blamed: %s", blamed[:8], reason)
	return nil
}

// cancel ends the run of a push; the webhook may not have arrived yet.
func (s *sluice) cancel(ctx context.Context, commit string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, code, err := s.do(ctx, "cancel", runOf("master", commit), "--reason", "something else is wanted")
		if err == nil && code == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot cancel the run of %s: %w", commit, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// blamed waits until the only bisection has ended.
func (s *sluice) blamed(ctx context.Context) (commit, reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	for {
		out, _, err := s.do(ctx, "bisect", "--json")
		if err != nil {
			return "", "", err
		}
		var answer struct {
			Bisects []struct {
				State  string `json:"state"`
				Blamed string `json:"blamed"`
				Reason string `json:"reason"`
			} `json:"bisects"`
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			return "", "", fmt.Errorf("cannot read the bisections: %w: %s", err, out)
		}
		if len(answer.Bisects) > 0 && answer.Bisects[0].State != "running" {
			return answer.Bisects[0].Blamed, answer.Bisects[0].Reason, nil
		}
		select {
		case <-ctx.Done():
			return "", "", fmt.Errorf("the bisection has not ended: %s", out)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// jailed jails a test and runs the weekly.
func jailed(ctx context.Context, _ *world, s *sluice) error {
	if out, code, err := s.do(ctx, "tests", "jail", jailedTest, "--owner", "rllib", "--until", "72h", "--reason", "waits for a GPU driver"); err != nil || code != 0 {
		return fmt.Errorf("the jail answered %s (exit code %d): %w", out, code, err)
	}
	run, err := s.trigger(ctx, "master", "frequency=weekly")
	if err != nil {
		return err
	}
	d, err := s.expect(ctx, run, 0)
	if err != nil {
		return err
	}
	for _, left := range d.LeftOut {
		if left.Name == jailedTest && strings.Contains(left.Why, "jailed") {
			say("   %s is left out: %s", jailedTest, left.Why)
			return nil
		}
	}
	return fmt.Errorf("the weekly does not say that %s is jailed", jailedTest)
}
