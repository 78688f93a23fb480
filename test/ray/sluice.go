package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sluice is `sluice up` in a process of its own.
type sluice struct {
	binary, dir, url, log string
	cmd                   *exec.Cmd
}

const installation = `
nats: {listen: "127.0.0.1:0"}
secrets:
  files: [%[1]s/secrets]
  grants:
    - names: [RAYISH_PYPI_TOKEN, RAYISH_PYPI, RAYISH_REGISTRY, RAYISH_TEST_INDEX, RAYISH_MAVEN]
      projects: [rayish]
      targets: ["*"]
gateway: {poll: 1h}
projects:
  - name: rayish
    forge: gitea
    repo: %[2]s
    clone_url: %[3]s
    branches: [master, "releases/*"]
    release_refs: [refs/heads/master, "refs/heads/releases/*"]
    secrets: [HOOK]
    health: {owner: release}
executors:
  - pool: default
    slots: %[4]d
    driver: {local: {isolation: none}} # clusters are directories that several tasks make, use and destroy
    path: %[1]s/checkout/standin/bin:/usr/local/bin:/usr/bin:/bin
    environment: {RAYISH_CLOUD: %[1]s/cloud, RAYISH_CAST: %[1]s/cast.txt}
publisher: {root: %[1]s/published}
artifact_exporter: {destinations: [{name: archive, url: "file://%[1]s/exports"}]}
`

// up starts Sluice in the world.
func (w *world) up(ctx context.Context, binary string) (*sluice, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	secrets := strings.Join([]string{
		"HOOK=" + hookSecret, "RAYISH_PYPI_TOKEN=" + uploadToken, "RAYISH_PYPI=" + w.URL("pypi"),
		"RAYISH_REGISTRY=" + strings.TrimPrefix(w.URL("registry"), "http://"),
		"RAYISH_TEST_INDEX=" + w.Path("published/index"), "RAYISH_MAVEN=" + w.Path("published/maven"), "",
	}, "\n")
	config := fmt.Sprintf(installation, w.dir, repo, w.Forge.CloneURL(repo), slots)
	for name, text := range map[string]string{"secrets": secrets, "installation.yaml": config} {
		if err := os.WriteFile(w.Path(name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(w.Path("sluice.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	s := &sluice{binary: binary, dir: w.Path("sluice"), url: w.hooks, log: log.Name()}
	s.cmd = exec.Command(binary, "up", "--dir", s.dir, "--listen", strings.TrimPrefix(s.url, "http://"), "--config", w.Path("installation.yaml"), "--log", "warn")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w; build it with make build", binary, err)
	}
	if err := s.ready(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("%w\n%s", err, s.tail())
	}
	return s, nil
}

func (s *sluice) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil && response.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("sluice was not ready within 30s: %w", errors.Join(err, ctx.Err()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *sluice) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		_ = s.cmd.Process.Kill()
		<-done
	}
}

// tail is the end of Sluice's log.
func (s *sluice) tail() string {
	text, _ := os.ReadFile(s.log)
	return string(text[max(0, len(text)-3000):])
}

// do runs a command of the CLI and returns what it prints and how it exits.
func (s *sluice) do(ctx context.Context, args ...string) (out []byte, code int, err error) {
	cmd := exec.CommandContext(ctx, s.binary, append(args, "--dir", s.dir)...)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err = cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 && exit.ExitCode() < 4 && talk.Len() == 0 {
		return out, exit.ExitCode(), nil
	}
	if err != nil {
		return out, -1, fmt.Errorf("cannot run sluice %s: %w: %s", strings.Join(args, " "), err, talk.String())
	}
	return out, 0, nil
}

// watch follows a run to its end and returns its exit code.
func (s *sluice) watch(ctx context.Context, run string) (int, error) {
	_, code, err := s.do(ctx, "watch", run)
	return code, err
}

// get reads a page's data.
func (s *sluice) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1"+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s was answered %s: %s: %w", path, response.Status, text, err)
	}
	return json.Unmarshal(text, into)
}
