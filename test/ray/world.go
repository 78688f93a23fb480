package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

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
	dir      string
	checkout string
	forge    *outside.Forge
	pypi     *outside.PyPI
	urls     map[string]string // by what is served there
	servers  []*http.Server
	hooks    string // where the forge sends its webhooks
}

func newWorld(ctx context.Context, dir string) (*world, error) {
	w := &world{dir: dir, checkout: filepath.Join(dir, "checkout"), urls: map[string]string{}, pypi: outside.NewPyPI(uploadToken)}
	hooks, hooksURL, err := listen()
	if err != nil {
		return nil, err
	}
	w.hooks = hooksURL
	if err := hooks.Close(); err != nil { // Sluice takes this address
		return nil, err
	}
	forge, url, err := listen()
	if err != nil {
		return nil, err
	}
	w.forge = outside.NewForge(filepath.Join(dir, "forge"), url, hooksURL+"/hooks/gitea", hookSecret)
	w.serve("forge", url, forge, w.forge.Handler())
	for name, handler := range map[string]http.Handler{
		"pypi": w.pypi.Handler(), "registry": outside.Registry(), "files": http.FileServer(http.Dir(w.path("published"))),
	} {
		l, url, err := listen()
		if err != nil {
			return nil, err
		}
		w.serve(name, url, l, handler)
	}
	for _, folder := range []string{"published/index", "published/maven", "cloud"} {
		if err := os.MkdirAll(w.path(folder), 0o755); err != nil {
			return nil, err
		}
	}
	if err := w.forge.Create(ctx, repo); err != nil {
		return nil, err
	}
	return w, w.seed(ctx)
}

func listen() (net.Listener, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen on loopback: %w", err)
	}
	return l, "http://" + l.Addr().String(), nil
}

func (w *world) serve(name, url string, l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h}
	w.urls[name], w.servers = url, append(w.servers, server)
	go func() { _ = server.Serve(l) }() // ends with close
}

func (w *world) close() {
	for _, s := range w.servers {
		_ = s.Close()
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

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
	for _, args := range [][]string{{"init", "-q", "--initial-branch=master"}, {"remote", "add", "origin", w.forge.CloneURL(repo)}} {
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
	return os.WriteFile(w.path("cast.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
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
