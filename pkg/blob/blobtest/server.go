package blobtest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/loopback"
)

// The root user of the servers.
const (
	AccessKey = "sluice"
	SecretKey = "sluice-secret"
)

// Tool finds versitygw: what SLUICE_VERSITYGW names, else on the path. If there is none the test is skipped on a laptop
// and fails in CI.
func Tool(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("SLUICE_VERSITYGW"); path != "" {
		return path
	}
	path, err := exec.LookPath("versitygw")
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		tb.Fatal("cannot test against S3: versitygw is not installed; run scripts/install-versitygw and set SLUICE_VERSITYGW to the path that it prints")
	default:
		tb.Skip("no S3 server: run scripts/install-versitygw and set SLUICE_VERSITYGW to the path that it prints")
	}
	return ""
}

// Server is a running S3 server.
type Server struct {
	Endpoint string // "http://127.0.0.1:7070"
	Dir      string // its buckets are the directories here
}

// Serve starts an S3 server on loopback that ends with the test.
func Serve(tb testing.TB) *Server {
	tb.Helper()
	tool := Tool(tb)
	s := &Server{Endpoint: "http://" + loopback.ReserveFor(tb), Dir: tb.TempDir()}
	s.start(tb, tool)
	return s
}

func (s *Server) start(tb testing.TB, tool string) {
	tb.Helper()
	var log bytes.Buffer
	// All paths are absolute: the server changes its working directory.
	cmd := exec.Command(tool, "--port", s.Endpoint[len("http://"):], "--access", AccessKey, "--secret", SecretKey, //nolint:noctx // ends with the test
		"--quiet", "--health", "/health", "posix", filepath.Clean(s.Dir))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir}
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("cannot start %s: %v", tool, err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop := func() { _ = cmd.Process.Kill(); <-ended }
	tb.Cleanup(stop)
	if !s.healthy(ended) {
		stop()
		tb.Fatalf("versitygw at %s did not start: %s", s.Endpoint, log.Bytes())
	}
}

// healthy waits until the server answers, it ends, or a minute has passed.
func (s *Server) healthy(ended <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/health", nil); err == nil {
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
				return res.StatusCode == http.StatusOK
			}
		}
		select {
		case <-ended:
			return false
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// Config is the configuration of a bucket of the server.
func (s *Server) Config(name, prefix string) bucket.Config {
	return bucket.Config{
		Bucket: name, Prefix: prefix, Endpoint: s.Endpoint, Region: "us-east-1", PathStyle: true,
		AccessKey: AccessKey, SecretKey: SecretKey,
	}
}

// URL is what blob.Open and the exporter take for a bucket of the server; they need the credentials too.
func (s *Server) URL(name, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=%s&region=us-east-1&path_style=true", name, prefix, s.Endpoint)
}

// Bucket makes a bucket and returns it.
func (s *Server) Bucket(tb testing.TB, name, prefix string) *bucket.Bucket {
	tb.Helper()
	b, err := bucket.Open(tb.Context(), s.Config(name, prefix))
	if err != nil {
		tb.Fatal(err)
	}
	if err := b.Create(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return b
}
