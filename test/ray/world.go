package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluiceci/sluice/pkg/loopback"
	outside "github.com/sluiceci/sluice/pkg/world"
)

const (
	repo        = "ray-project/rayish"
	hookSecret  = "rayish-hook"
	uploadToken = "rayish-upload"
	slots       = 12
)

// world is everything around Sluice, on loopback.
type world struct {
	*outside.Servers
	dir      string
	checkout string
	hooks    string // where the forge sends its webhooks
}

func newWorld(ctx context.Context, dir string) (*world, error) {
	w := &world{dir: dir, checkout: filepath.Join(dir, "checkout")}
	address, _, err := loopback.Reserve() // until the program ends
	if err != nil {
		return nil, err
	}
	w.hooks = "http://" + address
	if w.Servers, err = outside.Serve(dir, outside.Hooks{URL: w.hooks + "/hooks/gitea", Secret: hookSecret}, uploadToken); err != nil {
		return nil, err
	}
	if err := w.Folders("published/index", "published/maven", "cloud", "exports"); err != nil {
		return nil, err
	}
	if err := w.Forge.Create(ctx, repo); err != nil {
		return nil, err
	}
	return w, w.seed(ctx)
}

// seed makes the repository: Ray's own files, unchanged, and beside them the definition and its stand-ins.
func (w *world) seed(ctx context.Context) error {
	for _, from := range []string{"test/data/ray/2024-11", "examples/ray"} {
		if _, err := os.Stat(from); err != nil {
			return fmt.Errorf("cannot find %s: %w; run this at the root of Sluice's checkout", from, err)
		}
		if _, err := sh(ctx, ".", "cp", "-R", from+"/.", w.checkout+"/"); err != nil {
			return err
		}
	}
	if err := w.workingDirectories(); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q", "--initial-branch=master"}, {"remote", "add", "origin", w.Forge.CloneURL(repo)}} {
		if _, err := w.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// workingDirectories makes those of the suite that hold nothing but workloads, which are played.
func (w *world) workingDirectories() error {
	text, err := os.ReadFile(filepath.Join(w.checkout, "release", "release_tests.yaml"))
	if err != nil {
		return err
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*working_dir: *"?([^\s"#]+)`).FindAllSubmatch(text, -1) {
		dir := filepath.Join(w.checkout, "release", filepath.FromSlash(string(m[1])))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".played"), nil, 0o600); err != nil { // git keeps no empty directory
			return err
		}
		for _, program := range programs(text) {
			if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexec python \"$0\" \"$@\"\n"), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// programs are what scripts of the suite start in their working directories.
func programs(suite []byte) []string {
	var out []string
	for _, m := range regexp.MustCompile(`&& \./([\w.-]+)`).FindAllSubmatch(suite, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

func (w *world) git(ctx context.Context, args ...string) (string, error) {
	return sh(ctx, w.checkout, append([]string{"git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
}

// push commits everything and pushes a branch.
func (w *world) push(ctx context.Context, branch, message string) (commit string, err error) {
	for _, args := range [][]string{{"checkout", "-q", "-B", branch}, {"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", message}, {"push", "-q", "origin", branch}} {
		if _, err := w.git(ctx, args...); err != nil {
			return "", err
		}
	}
	return w.git(ctx, "rev-parse", "HEAD")
}

// cast says what some tests do from now on; all others pass.
func (w *world) cast(lines ...string) error {
	return os.WriteFile(w.Path("cast.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func sh(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}
