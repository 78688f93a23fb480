package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

// runOptions are the flags of `sluice run`.
type runOptions struct {
	builder builder.Config
	level   string
	config  string
	keep    string
	shell   bool

	secrets, secretFiles []string
}

// laptopPool is the pool of every task: a laptop stands for all of them.
const laptopPool = "default"

// The value of --keep when it names no directory, and how long what failed is left in it.
const (
	keepSomewhere = "a new directory"
	keepFor       = 30 * 24 * time.Hour
)

func runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Plan and run the checkout on this machine; publish nothing",
		Args:  arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), append(args, ".")[0], c.OutOrStdout(), c.ErrOrStderr(), asJSON(c))
		},
	}
	c.Long = c.Short + ".\n" +
		"A terminal shows what runs as bars; elsewhere each event is a line, with --json an object on a line.\n" +
		"Every task runs on this machine, whatever its pool: as a process, or, when it names an image, in a container of the\n" +
		"docker or podman that listens here (DOCKER_HOST, or the usual sockets), or as the driver in --config says. Places of an installation come from there as well.\n" +
		"A task gets the secrets that --secret and --secret-file name, and no others.\n" +
		"--keep leaves the workspaces of what failed, with events, blobs and logs; what the tasks would clean up after\n" +
		"themselves is then not cleaned. --shell opens a shell in each workspace that failed, before it is cleaned.\n" +
		"Exits with the outcome: 0 success, 1 failure, 2 error, 3 cancelled."
	f := c.Flags()
	f.StringArrayVar(&o.builder.Presets, "preset", nil, "apply a preset of the definition")
	f.StringArrayVar(&o.builder.Set, "set", nil, "override a setting: PATH=VALUE")
	f.StringVar(&o.builder.Environment, "env", "", "environment")
	f.StringArrayVar(&o.builder.Select, "select", nil, "run only tasks whose id or name matches the glob, and their dependencies")
	o.builder.Fetch.Private, o.builder.Fetch.Files = true, []string{"/"}
	o.builder.Includes = []string{"**"} // who runs this may read what git lets them
	f.StringVar(&o.config, "config", "", "file of an installation: its first executor's driver, its providers, limits and stores of secrets are used here")
	f.StringArrayVar(&o.secrets, "secret", nil, "give tasks that ask for it the secret NAME, of the environment or of --config (repeatable)")
	f.StringArrayVar(&o.secretFiles, "secret-file", nil, "give tasks that ask for them the secrets in a file of NAME=value lines (repeatable)")
	f.StringVar(&o.keep, "keep", "", "keep the workspaces of failed tasks, events, blobs and logs in a new directory, or in --keep=DIR")
	f.Lookup("keep").NoOptDefVal = keepSomewhere
	f.BoolVar(&o.shell, "shell", false, "open a shell in the workspace of each failed task (terminals only)")
	f.StringVar(&o.level, "log", "error", "debug, info, warn or error")
	return c
}

// run snapshots the directory, announces the snapshot as a change and follows its run to the end.
func (o runOptions) run(ctx context.Context, dir string, out, talk io.Writer, jsonOut bool) error {
	bars := newBars(out, jsonOut)
	guest, err := o.guest(bars)
	if err != nil {
		return err
	}
	log, err := logger(o.level)
	if err != nil {
		return err
	}
	given, err := readInstallation(o.config)
	if err != nil {
		return exitWith(2, err)
	}
	scratch, cleanup, err := o.scratch(talk)
	if err != nil {
		return exitWith(2, err)
	}
	defer cleanup()
	change, err := localChange(ctx, dir, filepath.Join(scratch, "git"))
	if err != nil {
		return exitWith(2, err)
	}
	in := o.installation(scratch, given, guest)
	if in.Secrets, err = o.openSecrets(given.Secrets); err != nil {
		return exitWith(2, err)
	}
	p, err := newPlatform(ctx, in, log, builder.Name, scheduler.Name, executor.Name)
	if err != nil {
		return exitWith(2, err)
	}
	defer p.close()
	show := &progress{out: out, json: jsonOut, now: time.Now}
	if bars != nil {
		defer bars.close()
		show.out, show.seen = bars, bars.see
	}
	return p.follow(ctx, change, show)
}

// installation is the platform of one run: of the file that --config names it has the driver of the first executor, the
// providers and the limits.
func (o runOptions) installation(scratch string, given *installation, guest *guest) *installation {
	member := executor.Config{}
	if len(given.Executors) > 0 {
		member.Driver, member.Environment, member.Slots = given.Executors[0].Driver, given.Executors[0].Environment, given.Executors[0].Slots
	}
	if member.Driver.Kind == "" {
		member.Driver.Kind = "auto" // what names an image runs in a container, where there is an engine
	}
	member.Pool, o.builder.Pool = laptopPool, laptopPool
	for i := range given.Providers {
		given.Providers[i].Pool = laptopPool
		o.builder.Providers = append(o.builder.Providers, given.Providers[i].Name)
	}
	if o.keep != "" {
		member.Keep = keepFor
	}
	in := &installation{
		Dir: scratch, Listen: "127.0.0.1:0", NATS: natsSide{Listen: "off"}, Builder: o.builder,
		Providers: given.Providers, Scheduler: given.Scheduler, Ray: given.Ray,
	}
	if guest != nil {
		member.Failed = guest.enter
		in.Scheduler.Phase = keepFor // a person may look around for long
	}
	in.Executors = []executor.Config{member}
	return in
}

// openSecrets is where a run finds secrets. Whoever runs it names those that tasks may have: a checkout is not to be trusted
// with every value that its reader has.
func (o runOptions) openSecrets(given secret.Config) (secret.Config, error) {
	given.Files = append(slices.Clone(o.secretFiles), given.Files...)
	names := slices.Clone(o.secrets)
	for _, file := range o.secretFiles {
		more, err := secret.FileNames(file)
		if err != nil {
			return given, err
		}
		names = append(names, more...)
	}
	if len(o.secrets) > 0 {
		given.Providers = append([]secret.ProviderConfig{{Kind: "env", Names: o.secrets}}, given.Providers...)
	}
	given.Grants = localGrants(names)
	return given, nil
}

// scratch is the directory of a run. The second result removes it, or says where it is.
func (o runOptions) scratch(talk io.Writer) (string, func(), error) {
	if o.keep != "" && o.keep != keepSomewhere {
		dir, err := filepath.Abs(o.keep)
		return dir, func() { fmt.Fprintln(talk, "sluice: kept in", dir) }, err
	}
	dir, err := os.MkdirTemp("", "sluice-run-")
	if o.keep != "" {
		return dir, func() { fmt.Fprintln(talk, "sluice: kept in", dir) }, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// localChange describes the directory as a change that can never publish.
func localChange(ctx context.Context, dir, cacheDir string) (release.Change, error) {
	cache, err := git.New(cacheDir, git.Options{})
	if err != nil {
		return release.Change{}, err
	}
	commit, err := cache.Snapshot(ctx, dir)
	if err != nil {
		return release.Change{}, err
	}
	top, err := cache.TopLevel(ctx, dir)
	if err != nil {
		return release.Change{}, err
	}
	branch := currentBranch(ctx, top)
	return release.Change{
		Kind: release.Manual, Project: filepath.Base(top), Repo: top, CloneURL: "file://" + top, Ref: "refs/heads/" + branch,
		Branch: branch, Commit: commit, Title: "the working directory " + dir, Verified: release.Local, Forge: "git",
		At: time.Now().UTC(), Nonce: fmt.Sprint(time.Now().UnixNano()),
	}, nil
}

// currentBranch is for conditions on the branch; a detached head has none, and runs as "HEAD".
func currentBranch(ctx context.Context, top string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", top, "symbolic-ref", "--short", "-q", "HEAD").Output()
	if err != nil {
		return "HEAD"
	}
	return strings.TrimSpace(string(out))
}

// follow announces a change and shows its run until it ends.
func (p *platform) follow(ctx context.Context, change release.Change, show *progress) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- p.run(ctx) }()
	announced := event.Root(change.RunID(), p.deps.Source("run"), time.Now(), event.ChangeReceived{Change: change})
	if err := p.deps.Bus.Publish(ctx, announced); err != nil {
		return exitWith(2, err)
	}
	finished, err := show.run(ctx, p.deps.Bus, change.RunID())
	cancel()
	if serveErr := <-served; err == nil && serveErr != nil {
		err = serveErr
	}
	if errors.Is(err, context.Canceled) {
		return exitWith(3, errors.New("interrupted; every process of the run was ended"))
	}
	if err != nil {
		return exitWith(2, err)
	}
	return exitWith(finished.Outcome.ExitCode(), nil)
}
