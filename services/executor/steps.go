package executor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/pack"
)

// stepScript is what $SLUICE_STEP names: it gives each step of a script a directory of its own in the order of their
// starts, and runs it. The number of a step is taken with mkdir, so that two steps at once never have the same.
const stepScript = `#!/bin/sh
# "$SLUICE_STEP" GROUP NAME [-- COMMAND [ARGUMENT]...]
# makes $SLUICE_ARTIFACTS/NNN__GROUP__NAME and runs the command with that in $SLUICE_STEP_DIR; its output is kept there in
# log.txt and its status in exit_code. Without a command it prints the directory.
set -eu
if [ $# -lt 2 ]; then
	echo 'usage: "$SLUICE_STEP" GROUP NAME [-- COMMAND [ARGUMENT]...]' >&2
	exit 64
fi
group=$(printf %s "$1" | tr -c 'A-Za-z0-9._-' '[_*]')
name=$(printf %s "$2" | tr -c 'A-Za-z0-9._-' '[_*]')
shift 2
if [ "${1-}" = -- ]; then shift; fi
numbers=$SLUICE_ARTIFACTS/.numbers
mkdir -p "$numbers"
n=$(ls "$numbers" | wc -l)
while number=$(printf %03d "$n"); ! mkdir "$numbers/$number" 2>/dev/null; do
	if [ ! -d "$numbers/$number" ]; then
		echo "cannot make a directory in $SLUICE_ARTIFACTS" >&2
		exit 1
	fi
	n=$((n + 1))
done
SLUICE_STEP_DIR=$SLUICE_ARTIFACTS/${number}__${group}__$name
export SLUICE_STEP_DIR
mkdir "$SLUICE_STEP_DIR"
if [ $# -eq 0 ]; then
	printf '%s\n' "$SLUICE_STEP_DIR"
	exit 0
fi
{
	status=0
	"$@" 2>&1 || status=$?
	echo "$status" >"$SLUICE_STEP_DIR/exit_code"
} | tee "$SLUICE_STEP_DIR/log.txt"
exit "$(cat "$SLUICE_STEP_DIR/exit_code")"
`

const (
	stepName    = "step"
	numbersName = ".numbers"
	maxFiles    = 8 << 30 // bytes of the files of an attempt
)

// stepper is where a room finds the script for steps: the executor's own, or where that cannot be seen a copy in the room.
func (e *executor) stepper(r *room) string {
	if r.far {
		return filepath.Join(r.dir, stepName)
	}
	return e.place.step
}

// giveStepper puts the script into a directory.
func giveStepper(dir string) error {
	return os.WriteFile(filepath.Join(dir, stepName), []byte(stepScript), 0o755) //nolint:gosec // it is a program
}

// storeFiles packs what the attempt left in its directory of artifacts, whatever its outcome, those of nodes below
// nodes/<i>. What holds a secret, and what is no file, is left out.
func (a *attempt) storeFiles(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if a.task == nil {
		return
	}
	err := a.guarded(func() error { return a.packFiles(ctx) })
	if err != nil {
		a.e.log.Error("cannot store the files of an attempt", "run", a.ref.Run, "task", a.ref.Task, "err", err)
		a.log.note("cannot store what is in $SLUICE_ARTIFACTS: " + err.Error())
	}
}

func (a *attempt) packFiles(ctx context.Context) error {
	dir := filepath.Join(a.dir, artifactsName)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	for _, n := range a.nodes {
		if err := gather(filepath.Join(n.dir, artifactsName), filepath.Join(dir, nodesName, strconv.Itoa(n.index))); err != nil {
			return err
		}
	}
	if empty(dir) {
		return nil
	}
	if err := a.weed(ctx, dir); err != nil {
		return err
	}
	size, err := treeSize(ctx, dir, sizing)
	if err != nil {
		return fault.New(fault.Invalid, "cannot keep them: %w", err)
	}
	if size > maxFiles {
		return fault.New(fault.Invalid, "they have %d bytes, expected at most %d", size, int64(maxFiles))
	}
	from := pack.Stream(ctx, dir)
	defer func() { _ = from.Close() }()
	digest, _, err := a.e.deps.Blobs.Put(ctx, from)
	if err == nil {
		a.result.Files = digest
	}
	return err
}

// gather moves the artifacts of a node beside those of the others.
func gather(from, to string) error {
	if empty(from) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), dirMode); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// empty reports whether a directory has nothing in it, or is none.
func empty(dir string) bool {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(1)
	return len(names) == 0
}

// weed removes what is not to be packed.
func (a *attempt) weed(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var remove []string
	err = files.Walk(ctx, root, ".", files.Limits{}, func(name string, entry fs.DirEntry) error {
		switch {
		case entry.IsDir() && entry.Name() == numbersName:
			remove = append(remove, name)
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		if why := a.unfit(root, name, entry); why != "" {
			a.log.note("left out of the artifacts: " + name + " " + why)
			remove = append(remove, name)
		}
		return nil
	})
	for _, name := range remove {
		err = errors.Join(err, root.RemoveAll(name))
	}
	return err
}

// unfit says why a file is not packed, or "".
func (a *attempt) unfit(root *os.Root, name string, entry fs.DirEntry) string {
	mode := entry.Type()
	if mode&fs.ModeSymlink != 0 {
		if _, err := root.Stat(name); err != nil {
			return "is a link that leaves the directory or leads nowhere"
		}
		return ""
	}
	if !mode.IsRegular() {
		return "is a " + kindOf(mode)
	}
	if a.searched == nil {
		return ""
	}
	file, _, err := files.Open(root, name)
	if err != nil {
		return "cannot be read"
	}
	defer func() { _ = file.Close() }()
	if found, err := a.searched.Finds(file); err != nil || found {
		return "holds a secret of the task"
	}
	return ""
}
