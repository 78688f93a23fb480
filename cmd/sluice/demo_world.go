package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	outside "github.com/sluiceci/sluice/pkg/world"
	exporter "github.com/sluiceci/sluice/services/artifact-exporter"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
)

const (
	demoRepo   = "acme/rillkit"
	demoSecret = "demo-webhook-secret"
	demoToken  = "demo-upload-token"
)

// demoWorld is everything around the demo's Sluice, on loopback: a forge, a Python index that takes uploads, folders that
// a web server serves as indexes, an image registry.
type demoWorld struct {
	*outside.Servers
	dir      string
	checkout string
	python   string
	java     bool
}

// newDemoWorld starts the servers and tells the installation about them.
func newDemoWorld(ctx context.Context, dir string, in *installation) (*demoWorld, error) {
	if err := in.defaults(); err != nil {
		return nil, err
	}
	w := &demoWorld{dir: dir, checkout: filepath.Join(dir, "checkout")}
	var err error
	if w.Servers, err = outside.Serve(dir, outside.Hooks{URL: "http://" + in.Listen + "/hooks/gitea", Secret: demoSecret}, demoToken); err != nil {
		return nil, err
	}
	if err := w.Folders("published/index", "published/maven", "exports"); err != nil {
		return nil, err
	}
	if err := w.Forge.Create(ctx, demoRepo); err != nil {
		return nil, err
	}
	return w, w.configure(in)
}

func (w *demoWorld) describe() string {
	return fmt.Sprintf("around it: a forge at %s, a Python index at %s/simple/,\na registry at %s, static indexes at %s",
		w.URL("forge"), w.URL("pypi"), strings.TrimPrefix(w.URL("registry"), "http://"), w.URL("files"))
}

// seed makes the repository's first checkout: the project, fitted to this machine, with the targets of this world. It
// returns what fitting said.
func (w *demoWorld) seed(ctx context.Context, project string) (string, error) {
	if _, err := os.Stat(filepath.Join(project, "sluice.yaml")); err != nil {
		return "", fmt.Errorf("cannot find the demo's project: %w; run it in Sluice's checkout, or name the project with --project", err)
	}
	if err := os.CopyFS(w.checkout, os.DirFS(project)); err != nil {
		return "", fmt.Errorf("cannot copy the demo's project: %w", err)
	}
	fitted, err := w.sh(ctx, "sh", "scripts/fit")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"git", "init", "-q", "--initial-branch=master"},
		{"git", "remote", "add", "origin", w.Forge.CloneURL(demoRepo)},
	} {
		if _, err := w.sh(ctx, args...); err != nil {
			return "", err
		}
	}
	return fitted, w.fit(ctx)
}

// fit writes this world's addresses into the definition, and finds the clients that prove a release.
func (w *demoWorld) fit(ctx context.Context) error {
	file := filepath.Join(w.checkout, "sluice.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fitted := strings.NewReplacer(
		"$SLUICE_DEMO_INDEX", w.Path("published/index"), "$SLUICE_DEMO_MAVEN", w.Path("published/maven"),
		"$SLUICE_DEMO_PYPI/", w.URL("pypi")+"/", "$SLUICE_DEMO_REGISTRY", strings.TrimPrefix(w.URL("registry"), "http://"),
	).Replace(string(text))
	pythons, err := w.sh(ctx, "sh", "scripts/pythons")
	if err != nil {
		return err
	}
	versions := strings.Fields(pythons)
	if len(versions) == 0 {
		return errors.New("cannot run the demo: no CPython from 3.10 to 3.13 with headers and pip was found; on Debian: apt-get install python3-dev python3-pip")
	}
	if w.python, err = w.sh(ctx, "sh", "tools/python-for", versions[len(versions)-1]); err != nil {
		return err
	}
	w.java = strings.Contains(string(text), "kind: maven")
	return os.WriteFile(file, []byte(fitted), 0o644)
}

// commit commits everything and returns the commit.
func (w *demoWorld) commit(ctx context.Context, message string) (release.Commit, error) {
	if _, err := w.sh(ctx, "git", "add", "-A"); err != nil {
		return "", err
	}
	if _, err := w.sh(ctx, "git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", message); err != nil {
		return "", err
	}
	out, err := w.sh(ctx, "git", "rev-parse", "HEAD")
	return release.Commit(out), err
}

func (w *demoWorld) pushMaster(ctx context.Context) (release.Commit, error) {
	commit, err := w.commit(ctx, "rillkit: running summaries of streams")
	if err != nil {
		return "", err
	}
	_, err = w.sh(ctx, "git", "push", "-q", "origin", "master")
	return commit, err
}

func (w *demoWorld) openPullRequest(ctx context.Context) (release.Commit, error) {
	if _, err := w.sh(ctx, "git", "checkout", "-q", "-b", "quicker"); err != nil {
		return "", err
	}
	if err := appendTo(filepath.Join(w.checkout, "README.md"), "\nIt is quick.\n"); err != nil {
		return "", err
	}
	commit, err := w.commit(ctx, "readme: say that it is quick")
	if err != nil {
		return "", err
	}
	if _, err := w.sh(ctx, "git", "push", "-q", "origin", "quicker"); err != nil {
		return "", err
	}
	return commit, w.Forge.OpenPullRequest(ctx, demoRepo, 1, "quicker", "Say that it is quick")
}

func (w *demoWorld) pushBug(ctx context.Context) (release.Commit, error) {
	for _, args := range [][]string{{"git", "checkout", "-q", "master"}, {"sh", "scripts/break"}} {
		if _, err := w.sh(ctx, args...); err != nil {
			return "", err
		}
	}
	commit, err := w.commit(ctx, "native: simplify the variance")
	if err != nil {
		return "", err
	}
	_, err = w.sh(ctx, "git", "push", "-q", "origin", "master")
	return commit, err
}

func appendTo(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(old, text...), 0o644)
}

// sh runs a command in the checkout.
func (w *demoWorld) sh(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = w.checkout
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// prove installs the release as its users would, from every target, and compares the commit in what is installed.
func (w *demoWorld) prove(ctx context.Context, commit release.Commit, say func(string, ...any)) error {
	version, err := w.version(ctx, "python", commit)
	if err != nil {
		return err
	}
	statement := "import rillkit, rillkit_speed; from rillkit._commit import COMMIT; print(COMMIT)"
	for _, index := range []string{w.URL("files") + "/index/simple/", w.URL("pypi") + "/simple/"} {
		dir, err := os.MkdirTemp(w.dir, "user-")
		if err != nil {
			return err
		}
		got, err := outside.PipInstall(ctx, w.python, index, dir, statement, "rillkit[speed]=="+version)
		if err != nil || got != string(commit) {
			return fmt.Errorf("pip installed commit %q from %s, want %s: %w", got, index, commit, err)
		}
		say("   ✓ pip install 'rillkit[speed]==%s' from %s: commit %s", version, index, commit.Short())
	}
	if err := w.proveJAR(ctx, commit, say); err != nil {
		return err
	}
	image := strings.TrimPrefix(w.URL("registry"), "http://") + "/rillkit:latest"
	digest, got, err := outside.PullImage(ctx, image)
	if err != nil || got != string(commit) {
		return fmt.Errorf("pulled commit %q as %s, want %s: %w", got, image, commit, err)
	}
	say("   ✓ pull %s (%s): commit %s", image, digest[:19], commit.Short())
	return w.proveOnce()
}

func (w *demoWorld) proveJAR(ctx context.Context, commit release.Commit, say func(string, ...any)) error {
	if !w.java {
		say("   – no JDK here: the JAR was left out of this demo")
		return nil
	}
	version, err := w.version(ctx, "maven", commit)
	if err != nil {
		return err
	}
	printed, err := outside.ResolveJAR(ctx, w.URL("files")+"/maven", "io.rillkit", "rillkit", version, w.dir, "--version")
	if err != nil || !strings.Contains(printed, string(commit)) {
		return fmt.Errorf("the JAR says %q, want commit %s: %w", printed, commit, err)
	}
	say("   ✓ resolve io.rillkit:rillkit:%s and run it: commit %s", version, commit.Short())
	return nil
}

// proveOnce looks up that the index was given each file once.
func (w *demoWorld) proveOnce() error {
	for file, n := range w.PyPI.Uploads() {
		if n != 1 {
			return fmt.Errorf("%s was published %d times, want once", file, n)
		}
	}
	return nil
}

// proveAbsent looks that nothing of a commit can be had anywhere.
func (w *demoWorld) proveAbsent(ctx context.Context, commit release.Commit, say func(string, ...any)) error {
	version, err := w.version(ctx, "python", commit)
	if err != nil {
		return err
	}
	for file := range w.PyPI.Uploads() {
		if strings.Contains(file, version) {
			return fmt.Errorf("%s is in the index, but commit %s must not be published", file, commit.Short())
		}
	}
	image := strings.TrimPrefix(w.URL("registry"), "http://") + "/rillkit:" + commit.Short()
	if _, _, err := outside.PullImage(ctx, image); err == nil {
		return fmt.Errorf("%s is in the registry, but commit %s must not be published", image, commit.Short())
	}
	say("   ✓ nothing of commit %s is in any index", commit.Short())
	return nil
}

// version is the version that the project gives to a commit.
func (w *demoWorld) version(ctx context.Context, kind string, commit release.Commit) (string, error) {
	return w.sh(ctx, "env", "SLUICE_COMMIT="+string(commit), w.python, "tools/stamp.py", kind)
}

// configure tells the installation about this world.
func (w *demoWorld) configure(in *installation) error {
	file := w.Path("secrets")
	text := "SLUICE_DEMO_PYPI_TOKEN=" + demoToken + "\nDEMO_WEBHOOK=" + demoSecret + "\nDEMO_FORGE=demo-forge-token\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	in.Secrets.Files = append(in.Secrets.Files, file)
	in.Secrets.Grants = append(in.Secrets.Grants, secret.Grant{
		Names: []string{"SLUICE_DEMO_PYPI_TOKEN"}, Projects: []string{"rillkit"}, Refs: []string{"refs/heads/master"}, Targets: []string{"*"},
	})
	in.NATS.Listen = "127.0.0.1:0"
	in.Publisher.Root = w.Path("published")
	in.Exporter.Destinations = []exporter.DestinationConfig{{Name: "exports", URL: "file://" + w.Path("exports")}}
	if len(in.Executors) == 0 {
		in.Executors = []executor.Config{{Slots: max(2, runtime.NumCPU())}}
	}
	in.Projects = []project{{
		Project: gateway.Project{
			Name: "rillkit", Forge: "gitea", Repo: demoRepo, CloneURL: w.Forge.CloneURL(demoRepo), Branches: []string{"master"},
			Secrets: []string{"DEMO_WEBHOOK"},
		},
		BaseURL: w.URL("forge"), Token: "DEMO_FORGE",
	}}
	return nil
}
