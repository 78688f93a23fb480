package cell

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// view is the view of a cell as it was made.
type view struct {
	user    int
	ids     int            // user namespace that maps trees' ids; -1 for none
	before  map[string]int // directories that are covered now, as they were: by their path
	covers  map[string]int // what covers them, writable for the cell alone
	hide    []string       // what is hidden, outer directories first
	scratch []string
	shown   []Tree         // as far as they are there
	bare    map[string]int // how many entries a scratch directory has for what is shown in it
	below   string         // where trees of commands are put, mostly
	queues  int            // POSIX message queues; -1 where the kernel has none
	home    string
}

// noFlags are what no file that a command sees may do.
const noFlags = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// private is the cell's own directory: its list of users, and the command's home.
const private = "/run/sluice"

// openView makes the view.
func openView(of View, user int) (*view, error) {
	v := &view{user: user, ids: -1, before: map[string]int{}, covers: map[string]int{}, bare: map[string]int{}}
	if user >= 0 {
		v.ids = idsFD
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return nil, fmt.Errorf("cannot make mounts of its own: %w", err)
	}
	v.hide, v.below = of.Hide, of.Below
	for _, dir := range slices.Concat(v.hide, of.Scratch) {
		v.remember(dir)
	}
	shown, err := v.copies(of.Show)
	if err != nil {
		return nil, err
	}
	if err := readOnly(); err != nil {
		return nil, err
	}
	if v.queues, err = openQueues(); err != nil {
		return nil, fmt.Errorf("cannot watch message queues: %w", err)
	}
	for _, step := range []func() error{
		func() error { return v.makeScratch(of.Scratch) }, func() error { return v.hideAll(v.hide) }, makeDevices, makeProc,
		func() error { return v.showAll(of.Show, shown) }, v.makeUsers, v.makeBelow, v.look,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// below lists what lies below a directory.
func below(list []string, dir string) []string {
	var found []string
	for _, name := range list {
		if strings.HasPrefix(name, dir+"/") {
			found = append(found, name)
		}
	}
	return found
}

// remember keeps a way into a directory that will be covered.
func (v *view) remember(dir string) {
	if fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		v.before[dir] = fd
	}
}

// readOnly makes all there is read-only and its setuid programs ordinary ones.
func readOnly() error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("cannot make the machine read-only: %w", err)
	}
	return nil
}

// hideAll covers directories by empty ones and files by the null device.
func (v *view) hideAll(list []string) error {
	for _, name := range list {
		info, err := os.Lstat(name)
		if err != nil {
			continue // It is not there, or what it lies in is covered already.
		}
		if info.IsDir() {
			err = v.cover(name)
		} else {
			err = unix.Mount(os.DevNull, name, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("cannot hide %s: %w", name, err)
		}
	}
	return nil
}

// cover mounts an empty directory over another. It is mounted twice: commands see the upper mount, which is read-only, and
// the cell makes places for trees in it through the lower one.
func (v *view) cover(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m,nr_inodes=4096"); err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	v.covers[dir] = fd
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
}

// makeScratch gives the cell directories of its own that anybody may write to.
func (v *view) makeScratch(dirs []string) error {
	for _, dir := range dirs {
		if err := mountScratch(dir); err != nil {
			return err
		}
		v.scratch = append(v.scratch, dir)
	}
	return nil
}

// mountScratch mounts an empty directory in memory. All that one cell has together are no more than what a container may use.
func mountScratch(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=25%"); err != nil {
		return fmt.Errorf("cannot mount a %s of its own: %w", dir, err)
	}
	return nil
}

// makeDevices hides the terminals and message queues of others.
func makeDevices() error {
	if _, err := os.Stat("/dev/pts"); err == nil {
		if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
			return fmt.Errorf("cannot mount terminals of its own: %w", err)
		}
		if info, err := os.Lstat("/dev/ptmx"); err == nil && info.Mode()&os.ModeSymlink == 0 {
			if err := unix.Mount("/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("cannot mount terminals of its own: %w", err)
			}
		}
	}
	if _, err := os.Stat("/dev/mqueue"); err == nil {
		return os.NewSyscallError("mount mqueue", unix.Mount("mqueue", "/dev/mqueue", "mqueue", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
	}
	return nil
}

// makeProc mounts the processes of the cell, with what belongs to the machine read-only.
func makeProc() error {
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("cannot mount a /proc of its own: %w", err)
	}
	for _, name := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"} {
		if _, err := os.Lstat(name); err != nil {
			continue
		}
		if err := unix.Mount(name, name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("cannot protect %s: %w", name, err)
		}
		if err := unix.Mount("", name, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
			return fmt.Errorf("cannot protect %s: %w", name, err)
		}
	}
	return nil
}

// copies takes trees as they are now, before anything covers them; -1 for one that is not there.
func (v *view) copies(trees []Tree) ([]int, error) {
	fds := make([]int, len(trees))
	for i, t := range trees {
		fd, err := v.take(t)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			fds[i] = -1
		case err != nil:
			return nil, fmt.Errorf("cannot show %s: %w", t.Source, err)
		default:
			fds[i] = fd
		}
	}
	return fds, nil
}

// showAll shows trees. What is hidden below one of them is hidden there too.
func (v *view) showAll(trees []Tree, fds []int) error {
	for i, fd := range fds {
		if fd < 0 {
			continue
		}
		_, err := v.put(fd, trees[i].Target, nil)
		_ = unix.Close(fd)
		if err != nil {
			return fmt.Errorf("cannot show %s: %w", trees[i].Target, err)
		}
		v.shown = append(v.shown, trees[i])
		if err := v.hideAll(below(v.hide, trees[i].Target)); err != nil {
			return err
		}
	}
	return nil
}

// makeBelow makes the directory that trees of commands are put into: what is there is made and removed once.
func (v *view) makeBelow() error {
	if at, _ := v.under(v.covers, v.below); at < 0 && !slices.ContainsFunc(v.scratch, func(dir string) bool { return strings.HasPrefix(v.below, dir+"/") }) {
		return nil // It is there, and nothing can be made in it.
	}
	_, err := v.makePlace(v.below, true, nil)
	return err
}

// look remembers how scratch directories are before any command.
func (v *view) look() error {
	for _, dir := range v.scratch {
		n, err := entries(dir, math.MaxInt)
		if err != nil {
			return err
		}
		v.bare[dir] = n
	}
	return nil
}

// account is the name of the user that commands run as.
const account = "sluice"

// makeUsers shows a list of users in which the one that commands run as has a name and a home.
func (v *view) makeUsers() error {
	cover, ok := v.covers["/run"]
	if !ok {
		return nil // A machine without /run: commands have no name.
	}
	if err := unix.Mkdirat(cover, "sluice", 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return os.NewSyscallError("mkdir", err)
	}
	id, group := v.user, v.user
	if id < 0 {
		id, group = os.Geteuid(), os.Getegid()
	}
	users := fmt.Sprintf("%s:x:%d:%d:%s:%s/home:/bin/sh\n", account, id, group, account, private)
	groups := fmt.Sprintf("%s:x:%d:\n", account, group)
	for name, own := range map[string]string{"passwd": users, "group": groups} {
		if err := v.extend(cover, name, own); err != nil {
			return fmt.Errorf("cannot show a list of users: %w", err)
		}
	}
	return nil
}

// extend shows a file of /etc with a line of the cell's own before all others: the first that has an id names it.
func (v *view) extend(cover int, name, own string) error {
	at := "/etc/" + name
	rest, err := os.ReadFile(at)
	if err != nil {
		return nil //nolint:nilerr // a machine without such a list
	}
	fd, err := unix.Openat(cover, "sluice/"+name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.WriteString(own + string(rest))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return unix.Mount(private+"/"+name, at, "", unix.MS_BIND, "")
}

// setHome makes the home that the list of users names the command's.
func (v *view) setHome(home string) error {
	cover, ok := v.covers["/run"]
	if !ok || home == "" || home == v.home {
		return nil
	}
	const link = "sluice/home"
	if err := unix.Unlinkat(cover, link, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return os.NewSyscallError("unlink", err)
	}
	v.home = home
	return os.NewSyscallError("symlink", unix.Symlinkat(home, cover, link))
}
