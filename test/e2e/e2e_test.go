// Package e2e holds Sluice to clients and servers that nobody here wrote: git, pip, skopeo, curl, Chromium on the demo; a
// Gitea that sends webhooks and takes comments; what runs pipelines of GitLab. It needs bin/sluice (make build); make e2e
// brings what else it needs.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demo is a Sluice after its three changes, with the world around it.
type demo struct {
	url, pypi, registry, files string
}

func startDemo(t *testing.T) demo {
	t.Helper()
	cmd := exec.Command(sluice(t), "up", "--demo", "--listen", "127.0.0.1:8037")
	cmd.Dir = top(t)
	var all bytes.Buffer
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &all
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start the demo: %v; run make build", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // the demo is ended here
	})
	up := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
			if strings.HasPrefix(lines.Text(), "It stays up") {
				up <- true
			}
		}
		up <- false
	}()
	select {
	case ok := <-up:
		if !ok {
			t.Fatalf("the demo did not go well:\n%s", all.String())
		}
	case <-time.After(5 * time.Minute):
		t.Fatalf("the demo took more than 5 minutes:\n%s", all.String())
	}
	find := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(all.String())
		if m == nil {
			t.Fatalf("the demo does not tell %s:\n%s", pattern, all.String())
		}
		return m[1]
	}
	return demo{
		url: find(`Sluice is up: (\S+)`), pypi: find(`a Python index at ([^,\s]+)`), registry: find(`a registry at ([^,\s]+)`),
		files: find(`static indexes at (\S+)`),
	}
}

// run runs a client and returns what it printed.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PIP_CONFIG_FILE="+os.DevNull, "PIP_FIND_LINKS=", "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestOrdinaryClients(t *testing.T) {
	d := startDemo(t)
	t.Run("pip takes the wheel from both indexes", func(t *testing.T) {
		for _, index := range []string{d.pypi, d.files + "/index/simple/"} {
			dir := t.TempDir()
			run(t, dir, "python3", "-m", "pip", "download", "--no-deps", "--pre", "--index-url", index, "-d", dir, "rillkit")
			if found, _ := filepath.Glob(filepath.Join(dir, "rillkit-*.whl")); len(found) != 1 {
				t.Errorf("pip took %v from %s, want one wheel", found, index)
			}
		}
	})
	t.Run("skopeo takes the image", func(t *testing.T) {
		var image struct {
			Digest string
			Labels map[string]string
		}
		text := run(t, t.TempDir(), "skopeo", "inspect", "--tls-verify=false", "docker://"+d.registry+"/rillkit:latest")
		if err := json.Unmarshal([]byte(text), &image); err != nil || len(image.Labels["org.opencontainers.image.revision"]) != 40 {
			t.Errorf("skopeo says %s (%v), want an image with its commit", text, err)
		}
		dir := t.TempDir()
		run(t, dir, "skopeo", "copy", "--src-tls-verify=false", "docker://"+d.registry+"/rillkit:latest", "oci:"+filepath.Join(dir, "image"))
	})
	t.Run("curl reads the API", func(t *testing.T) {
		var page struct {
			Runs []struct{ Outcome string } `json:"runs"`
		}
		text := run(t, t.TempDir(), "curl", "-sfS", d.url+"/api/v1/runs")
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Runs) != 3 {
			t.Errorf("curl read %s (%v), want three runs", text, err)
		}
		if metrics := run(t, t.TempDir(), "curl", "-sfS", d.url+"/metrics"); !strings.Contains(metrics, "sluice_handled_seconds") {
			t.Error("there is no sluice_handled_seconds in the metrics")
		}
	})
	t.Run("a browser shows the shut gate", func(t *testing.T) {
		dir := t.TempDir()
		text := run(t, dir, "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
			"--disable-background-networking", "--user-data-dir="+dir, "--dump-dom", d.url+"/")
		if !strings.Contains(text, "gate shut") || !strings.Contains(text, "released") {
			t.Errorf("the page shows neither a shut gate nor a release:\n%s", text)
		}
	})
}
