package git_test

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// serve is git's own HTTP server for the repositories below dir; password, when set, is asked for.
func serve(t testing.TB, dir, password string, env ...string) *httptest.Server {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  append([]string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}, env...),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, got, _ := r.BasicAuth(); got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestCredentialsReachTheRemoteAndNothingElse(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("a", "1")
	server := serve(t, filepath.Dir(r.dir), "s3cr3t")
	url, ctx := server.URL+"/"+filepath.Base(r.dir), deadline(t)

	cases := []struct {
		name, url, password string
		kind                fault.Kind
	}{
		{"right", url, "s3cr3t", ""},
		{"right within the URL", strings.Replace(url, "://", "://dev:s3cr3t@", 1), "", ""},
		{"wrong", url, "wr0ng", fault.Denied},
		{"none", url, "", fault.Denied},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			dir, args := t.TempDir(), filepath.Join(t.TempDir(), "args")
			c, err := git.New(dir, git.Options{Command: noting(t, args), Credentials: func(_ context.Context, asked string) (git.Credential, error) {
				if asked != url {
					t.Errorf("asked for the credential of %s", asked)
				}
				return git.Credential{Password: k.password}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			err = c.Fetch(ctx, k.url, commit)
			if fault.Of(err) != k.kind {
				t.Fatalf("%v is %s, expected %q", err, fault.Of(err), k.kind)
			}
			if err == nil {
				err = c.Checkout(ctx, k.url, commit, filepath.Join(dir, "work"))
			}
			said := ""
			if err != nil {
				said = err.Error()
			}
			absent(t, "s3cr3t", said, args, dir)
			absent(t, "wr0ng", said, args, dir)
		})
	}
}

// absent looks for a secret, plain and as a header's value, in an error, a file and everything below a directory.
func absent(t *testing.T, secret, said, file, dir string) {
	t.Helper()
	for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte("x-token:" + secret))} {
		if strings.Contains(said, form) {
			t.Errorf("the error tells the secret: %s", said)
		}
		if out, err := exec.Command("grep", "-rl", "--", form, dir, file).Output(); err == nil {
			t.Errorf("the secret stands in %s", out)
		}
	}
}

// noting is a git command that writes its arguments to a file.
func noting(t *testing.T, file string) string {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\necho \"$*\" >>'" + file + "'\nexec '" + real + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestErrorsHaveKinds(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("a", "1")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	status := func(code int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(s.Close)
		return s.URL + "/acme/widget.git"
	}
	cases := []struct {
		url  string
		kind fault.Kind
		says string
	}{
		{closed.URL + "/x.git", fault.Transient, "Failed to connect"},
		{status(http.StatusServiceUnavailable), fault.Transient, "503"},
		{status(http.StatusForbidden), fault.Denied, "403"},
		{status(http.StatusNotFound), fault.Invalid, "not found"},
		{"file:///nowhere/at/all", fault.Invalid, "does not appear to be a git repository"},
		{"", fault.Invalid, "it is empty"},
		{"--upload-pack=touch /tmp/x", fault.Invalid, "begins with a dash"},
		{"ext::sh -c touch% /tmp/x", fault.Invalid, "remote helper"},
		{"ftp://host/x", fault.Invalid, "its scheme"},
		{"ssh://-oProxyCommand=x/y", fault.Invalid, "dash"},
		{"ssh://-u@host/y", fault.Invalid, "user begins with a dash"},
		{"-x@host:path", fault.Invalid, "dash"},
		{"host:-path", fault.Invalid, "cannot use git URL"},
		{"https://host/a\nb", fault.Invalid, "control characters"},
		{"relative/path", fault.Invalid, "its scheme"},
		{"file://host/x", fault.Invalid, "absolute path"},
	}
	c, ctx := newCache(t, git.Options{}), deadline(t)
	for _, k := range cases {
		err := c.Fetch(ctx, k.url, commit)
		if !fault.Is(err, k.kind) || !strings.HasPrefix(err.Error(), "cannot ") || !strings.Contains(err.Error(), k.says) {
			t.Errorf("%q: %q is %s, expected %s with %q", k.url, err, fault.Of(err), k.kind, k.says)
		}
	}
	if err := c.Fetch(ctx, r.url(), "--help"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a commit that is an option: %v", err)
	}
	if err := c.Fetch(ctx, r.url(), commit, "--upload-pack=x"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a ref that is an option: %v", err)
	}
}

func TestMissingCommitMayStillComeForAWhile(t *testing.T) {
	r := newRepo(t)
	r.commit("a", "1")
	missing := release.Commit(strings.Repeat("ab", 20))
	c, ctx := newCache(t, git.Options{MissingFor: 50 * time.Millisecond}), deadline(t)
	if err := c.Fetch(ctx, r.url(), missing); !fault.Is(err, fault.Transient) || fault.RetryAfter(err) == 0 {
		t.Errorf("at first: %v is %s, expected Transient with a wait", err, fault.Of(err))
	}
	for ctx.Err() == nil {
		if err := c.Fetch(ctx, r.url(), missing); fault.Is(err, fault.Invalid) {
			return
		}
	}
	t.Error("the missing commit never became Invalid")
}

// An old server hands out what its refs lead to and nothing else.
func TestServerThatGivesOutNoSingleCommits(t *testing.T) {
	r := newRepo(t)
	first := r.commit("a", "1")
	r.commit("b", "2")
	r.git("update-ref", "refs/pull/7/head", "HEAD")
	r.git("reset", "-q", "--hard", string(first))
	pull := release.Commit(r.git("rev-parse", "refs/pull/7/head"))
	server := serve(t, filepath.Dir(r.dir), "", "GIT_PROTOCOL=version=0")
	url, ctx := server.URL+"/"+filepath.Base(r.dir), deadline(t)
	for name, refs := range map[string][]string{"named": {"refs/pull/7/head"}, "searched": nil, "wrongly named": {"refs/heads/none"}} {
		c := newCache(t, git.Options{})
		if err := c.Fetch(ctx, url, pull, refs...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Fetch(ctx, url, first); err != nil {
			t.Errorf("%s, an ancestor: %v", name, err)
		}
	}
}

func TestHangingRemoteEndsWithTheDeadline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts by its backlog and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r := newRepo(t)
	commit := r.commit("a", "1")
	c := newCache(t, git.Options{FetchTimeout: 200 * time.Millisecond, LsTimeout: 200 * time.Millisecond})
	url, ctx := "http://"+listener.Addr().String()+"/x.git", deadline(t)
	for name, err := range map[string]error{
		"fetch": c.Fetch(ctx, url, commit),
		"list":  func() error { _, err := c.LsRemote(ctx, url); return err }(),
	} {
		if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("%s: %v is %s", name, err, fault.Of(err))
		}
	}
	if ctx.Err() != nil {
		t.Error("the hanging remote outlived its deadline")
	}
}

// A fetch that was killed leaves objects, packs and locks, but no ref: the next one starts from there.
func TestFetchAfterAKilledOne(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("a", "1")
	dir, ctx := t.TempDir(), deadline(t)
	c, err := git.New(dir, git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fetch(ctx, r.url(), commit); err != nil {
		t.Fatal(err)
	}
	mirrors, _ := filepath.Glob(filepath.Join(dir, "*.git"))
	ref := filepath.Join(mirrors[0], "refs/sluice", string(commit))
	tree, note := r.git("rev-parse", "HEAD^{tree}"), filepath.Join(mirrors[0], "sluice", string(commit[:2]), string(commit[2:]))
	for _, path := range []string{ref, note, filepath.Join(mirrors[0], "objects", tree[:2], tree[2:])} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(ref+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Checkout(ctx, r.url(), commit, filepath.Join(dir, "work")); err != nil {
		t.Errorf("after a killed fetch: %v", err)
	}
}

func TestHooksAndHelpersOfARepositoryDoNotRun(t *testing.T) {
	r := newRepo(t)
	r.write(".gitattributes", "* filter=evil\n")
	commit := r.commit("a", "1")
	c, ctx, dir := newCache(t, git.Options{}), deadline(t), t.TempDir()
	home, mark := t.TempDir(), filepath.Join(dir, "mark")
	config := "[filter \"evil\"]\n\tsmudge = touch " + mark + "\n[core]\n\thooksPath = " + home + "\n"
	for name, text := range map[string]string{".gitconfig": config, "post-checkout": "#!/bin/sh\ntouch " + mark + "\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", home)
	if err := c.Checkout(ctx, r.url(), commit, filepath.Join(dir, "work")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the person's filter or hook ran")
	}
}
