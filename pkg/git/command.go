package git

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// maxOutput bounds what one command may print: the refs of the largest repositories are some 50 MiB.
const maxOutput = 128 << 20

// call is one run of the git command.
type call struct {
	args    []string
	dir     string // working directory; empty: the cache's
	env     []string
	stdin   io.Reader
	held    *os.File // the mirror's lock, held by git as well
	remote  *remote  // set when the command talks to it
	secrets []string // never to appear in an error
	own     bool     // a person's own repository, with that person's configuration
}

// run runs git and returns what it printed.
func (c *Cache) run(ctx context.Context, k call) ([]byte, error) {
	settings := baseSettings()
	if k.remote != nil {
		header, err := c.header(ctx, &k)
		if err != nil {
			return nil, err
		}
		settings = append(settings, header...)
	}
	cmd := exec.CommandContext(ctx, c.command, k.args...)
	cmd.Dir = orElse(k.dir, c.dir)
	cmd.Env = append(environment(k.own), append(settingsEnv(settings), k.env...)...)
	cmd.Stdin = k.stdin
	stdout, stderr := &bounded{limit: maxOutput}, &tail{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if k.held != nil {
		cmd.ExtraFiles = []*os.File{k.held}
	}
	ownGroup(cmd)
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), k.failure(ctx, err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// ownGroup makes a cancelled command die with all of its children: git-remote-https, index-pack, ssh.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
}

// setting is a key of git's configuration that is given through the environment, where no process list shows it.
type setting struct{ key, value string }

func baseSettings() []setting {
	return []setting{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"fetch.writeCommitGraph", "false"},
		// A mirror's note that a commit is whole must not outlive the objects when the power fails.
		{"core.fsync", "committed"},
		{"core.fsyncMethod", "batch"},
		{"advice.detachedHead", "false"},
		{"credential.helper", ""}, // an empty value forgets every helper named before
		{"http.lowSpeedLimit", "1"},
		{"http.lowSpeedTime", "60"},
	}
}

func settingsEnv(settings []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}

// environment is all that git sees of this process' own: where programs, proxies, certificates and ssh keys are.
func environment(own bool) []string {
	env := []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=" + strings.Join(protocols(), ":"),
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes -oConnectTimeout=15",
	}
	if !own {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	}
	keep := []string{
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO",
		"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	}
	for _, name := range keep {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// header asks for the credential of the call's remote and gives it as the header of that one host.
func (c *Cache) header(ctx context.Context, k *call) ([]setting, error) {
	credential, err := c.credential(ctx, k.remote)
	if err != nil || credential.Password == "" || k.remote.origin == "" {
		return nil, err
	}
	basic := base64.StdEncoding.EncodeToString([]byte(orElse(credential.Username, "x-token") + ":" + credential.Password))
	k.secrets = append(k.secrets, credential.Password, basic)
	return []setting{{"http." + k.remote.origin + ".extraHeader", "Authorization: Basic " + basic}}, nil
}

func (c *Cache) credential(ctx context.Context, r *remote) (Credential, error) {
	if password, set := r.user.Password(); set {
		return Credential{Username: r.user.Username(), Password: password}, nil
	}
	if r.user.Username() != "" { // "https://token@host/": the name is the token
		return Credential{Password: r.user.Username()}, nil
	}
	if c.options.Credentials == nil {
		return Credential{}, nil
	}
	credential, err := c.options.Credentials(ctx, r.url)
	if err != nil {
		return Credential{}, fault.As(fault.Denied, err)
	}
	return credential, nil
}

// bounded keeps the output and fails once there is too much of it.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fault.New(fault.Invalid, "git printed more than %d bytes", b.limit)
	}
	return b.Buffer.Write(p)
}

// tail keeps the last bytes that were written.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - 8<<10; over > 0 {
		t.kept = t.kept[over:]
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
