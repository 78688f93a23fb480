package client_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

const wheel = "PK\x03\x04 the bytes of a wheel"

func artifact(task, name string) client.Artifact {
	return client.Artifact{Task: release.TaskID(task), Name: name, Digest: release.DigestOf([]byte(wheel)), Size: int64(len(wheel))}
}

func store(t *testing.T, body string) *client.Client {
	t.Helper()
	return serve(t, map[string]http.HandlerFunc{"GET /api/v1/runs/r/artifacts/{task}/{name...}": func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.PathValue("name"), "/") {
			t.Errorf("the server was asked for %q", r.PathValue("name"))
		}
		_, _ = w.Write([]byte(body))
	}})
}

func folder(t *testing.T) (string, *client.Folder) {
	t.Helper()
	dir := t.TempDir()
	f, err := client.OpenFolder(filepath.Join(dir, "inner", "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return dir, f
}

// files lists every file below a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestDownload(t *testing.T) {
	t.Parallel()
	dir, to := folder(t)
	c := store(t, wheel)
	a := artifact("wheel-3_12", "demo 1.0+local%2F.whl")
	for _, present := range []bool{false, true} {
		path, was, err := c.Download(t.Context(), "r", a, to)
		if err != nil || was != present || path != filepath.Join("wheel-3_12", a.Name) {
			t.Fatalf("%s, %v, %v", path, was, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "inner/out/wheel-3_12", a.Name)); err != nil || string(got) != wheel {
		t.Fatalf("%q, %v", got, err)
	}
	tree := artifact("docs", "site")
	tree.Directory = true
	if path, _, err := c.Download(t.Context(), "r", tree, to); err != nil || path != filepath.Join("docs", "site.tar") {
		t.Fatalf("%s, %v", path, err)
	}
}

func TestDownloadKeepsNothingThatDiffers(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"other": "PK\x03\x04 the bytes of a devil", "short": wheel[:5], "long": wheel + wheel, "empty": ""} {
		dir, to := folder(t)
		_, _, err := store(t, body).Download(t.Context(), "r", artifact("t", "x.whl"), to)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "nothing was kept") || files(t, dir) != "" {
			t.Errorf("%s: %v; there is %q", name, err, files(t, dir))
		}
	}
}

func TestDownloadReplacesNothing(t *testing.T) {
	t.Parallel()
	dir, to := folder(t)
	mine := filepath.Join(dir, "inner/out/t/x.whl")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := store(t, wheel).Download(t.Context(), "r", artifact("t", "x.whl"), to)
	if got, _ := os.ReadFile(mine); !fault.Is(err, fault.Conflict) || string(got) != "mine" {
		t.Errorf("%v; the file is %q", err, got)
	}
}

func TestDownloadStaysInItsFolder(t *testing.T) {
	t.Parallel()
	dir, to := folder(t)
	c := store(t, wheel)
	for _, a := range []client.Artifact{
		artifact("t", "../x"), artifact("t", ".."), artifact("t", "."), artifact("t", ""), artifact("t", "a/b"), artifact("t", `a\b`),
		artifact("t", "/etc/passwd"), artifact("t", "x\x00y"), artifact("t", "C:x"), artifact("t", "line\nbreak"),
		artifact("t", strings.Repeat("x", 300)), artifact("..", "x"), artifact("", "x"), artifact("../..", "x"), artifact("a/b", "x"),
	} {
		if path, _, err := c.Download(t.Context(), "r", a, to); !fault.Is(err, fault.Denied) {
			t.Errorf("task %q, name %q: stored as %q, %v; want denied", a.Task, a.Name, path, err)
		}
	}
	noDigest := artifact("t", "x")
	noDigest.Digest = "md5:abc"
	if _, _, err := c.Download(t.Context(), "r", noDigest, to); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v, want invalid", err)
	}
	if got := files(t, dir); got != "" {
		t.Errorf("these files were written: %s", got)
	}
}

func TestDownloadFollowsNoLinkOut(t *testing.T) {
	t.Parallel()
	dir, to := folder(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "inner/out/t")); err != nil {
		t.Fatal(err)
	}
	_, _, err := store(t, wheel).Download(t.Context(), "r", artifact("t", "x.whl"), to)
	if err == nil || files(t, outside) != "" {
		t.Errorf("%v; outside there is %q", err, files(t, outside))
	}
}

func FuzzArtifactPath(f *testing.F) {
	for _, s := range []string{"x.whl", "../x", "/x", "a\\b", "", ".", "x\x00", "ü", "con", "a:b"} {
		f.Add("task", s, true)
		f.Add(s, "name", false)
	}
	base := filepath.FromSlash("/base/dir")
	f.Fuzz(func(t *testing.T, task, name string, directory bool) {
		a := artifact(task, name)
		a.Directory = directory
		path, err := a.Path()
		if err != nil {
			return
		}
		joined := filepath.Join(base, path)
		if !strings.HasPrefix(joined, base+string(filepath.Separator)) || strings.Count(path, string(filepath.Separator)) != 1 {
			t.Fatalf("task %q, name %q: path %q", task, name, path)
		}
	})
}
