package cell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// laid is what was put into the view for one command.
type laid struct {
	trees []string    // mount points
	dirs  []madeEntry // made for them, outer ones first
}

// madeEntry is a directory or file that was made to be mounted on.
type madeEntry struct {
	at   int
	name string
	dir  bool
}

// lay puts the trees of a command where it sees them. What was put is returned also beside an error.
func (v *view) lay(trees []Tree, home string) (*laid, error) {
	l := &laid{}
	for _, t := range trees {
		fd, err := v.take(t)
		if err == nil {
			var made []madeEntry
			made, err = v.put(fd, t.Target, nil)
			l.dirs = append(l.dirs, made...)
			_ = unix.Close(fd)
		}
		if err != nil {
			return l, fmt.Errorf("cannot show %s: %w", t.Source, err)
		}
		l.trees = append(l.trees, t.Target)
	}
	return l, v.setHome(home)
}

// take makes a detached mount of a tree as it was before anything covered it, with the ids of the command.
func (v *view) take(t Tree) (int, error) {
	from, name := v.under(v.before, t.Source)
	if from < 0 {
		from, name = unix.AT_FDCWD, t.Source
	}
	at, err := unix.Openat2(from, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		return -1, os.NewSyscallError("open", err)
	}
	defer func() { _ = unix.Close(at) }()
	fd, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, os.NewSyscallError("open_tree", err)
	}
	attr := unix.MountAttr{Attr_set: noFlags}
	if t.Writable {
		attr.Attr_clr = unix.MOUNT_ATTR_RDONLY // which all mounts of the cell are by now
	} else {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := v.dress(fd, attr, t); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// dress sets what the mount of a tree may do. Where the file system maps no ids, the tree is given to the user instead.
func (v *view) dress(fd int, attr unix.MountAttr, t Tree) error {
	if v.ids >= 0 && !t.Foreign {
		mapped := attr
		mapped.Attr_set |= unix.MOUNT_ATTR_IDMAP
		mapped.Userns_fd = uint64(v.ids)
		err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &mapped)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINVAL) {
			return os.NewSyscallError("mount_setattr idmap", err)
		}
		if t.Writable {
			if err := v.give(fd); err != nil {
				return err
			}
		}
	}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr))
}

// give makes the user the owner of a tree.
func (v *view) give(tree int) error {
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", tree))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, v.user, v.user)
	})
}

// under finds the innermost of some directories that a path lies in, and the path within it; -1 when it lies in none.
func (v *view) under(dirs map[string]int, path string) (int, string) {
	for dir := path; ; dir = parent(dir) {
		if fd, ok := dirs[dir]; ok {
			rest := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
			if rest == "" {
				rest = "."
			}
			return fd, rest
		}
		if dir == "/" || dir == "." {
			return -1, ""
		}
	}
}

// parent is the directory that an absolute path lies in.
func parent(path string) string { return path[:max(1, strings.LastIndexByte(path, '/'))] }

// put mounts a tree at a path, which is made where the cell may make it.
func (v *view) put(tree int, target string, made []madeEntry) ([]madeEntry, error) {
	var info unix.Stat_t
	if err := unix.Fstat(tree, &info); err != nil {
		return made, os.NewSyscallError("stat", err)
	}
	made, err := v.makePlace(target, info.Mode&unix.S_IFMT == unix.S_IFDIR, made)
	if err != nil {
		return made, err
	}
	err = unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	return made, os.NewSyscallError("move_mount", err)
}

// makePlace makes what a tree is mounted on, unless it is there. It can do so only below what is covered or scratch.
func (v *view) makePlace(target string, dir bool, made []madeEntry) ([]madeEntry, error) {
	at, rest := v.under(v.covers, target)
	if at < 0 {
		at, rest = unix.AT_FDCWD, target
	}
	err := madeEntry{at, rest, dir}.make()
	if err == nil {
		return append(made, madeEntry{at, rest, dir}), nil
	}
	if errors.Is(err, unix.EEXIST) {
		return made, nil
	}
	steps := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	name := strings.TrimSuffix(rest, strings.Join(steps, "/"))
	for i, step := range steps {
		name += step
		entry := madeEntry{at, name, dir || i < len(steps)-1}
		err := entry.make()
		if err == nil {
			made = append(made, entry)
		} else if !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EROFS) {
			return made, os.NewSyscallError("mkdir", err)
		}
		name += "/"
	}
	return made, nil
}

func (e madeEntry) make() error {
	if e.dir {
		return unix.Mkdirat(e.at, e.name, 0o755)
	}
	fd, err := unix.Openat(e.at, e.name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func (e madeEntry) remove() {
	flags := 0
	if e.dir {
		flags = unix.AT_REMOVEDIR
	}
	_ = unix.Unlinkat(e.at, e.name, flags) // where a command left something in it, the scratch directory is replaced
}

// clear takes away what was put for a command, and what the command left outside of it.
func (v *view) clear(l *laid) error {
	for i := len(l.trees) - 1; i >= 0; i-- {
		if err := unix.Unmount(l.trees[i], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("cannot take away %s: %w", l.trees[i], err)
		}
	}
	for i := len(l.dirs) - 1; i >= 0; i-- {
		l.dirs[i].remove()
	}
	for _, dir := range v.scratch {
		if err := v.renew(dir); err != nil {
			return err
		}
	}
	return nil
}

// closed reports whether a command closed a directory of the cell, which only the program's own user can, so that what lies in
// it cannot be taken away.
func (v *view) closed() bool {
	for _, dir := range v.scratch {
		var info unix.Stat_t
		if err := unix.Stat(dir, &info); err != nil || info.Mode&0o7777 != 0o1777 {
			return true
		}
	}
	return false
}

// renew replaces a scratch directory that is not as it was, with what is shown in it.
func (v *view) renew(dir string) error {
	// A user of its own cannot change the directory itself, nor those that trees are mounted in. The program's can.
	if v.user >= 0 {
		if n, err := entries(dir, v.bare[dir]); err != nil || n == v.bare[dir] {
			return err
		}
	}
	if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("cannot take away %s: %w", dir, err)
	}
	if err := mountScratch(dir); err != nil {
		return err
	}
	if strings.HasPrefix(v.below, dir+"/") {
		if _, err := v.makePlace(v.below, true, nil); err != nil {
			return err
		}
	}
	for _, t := range v.shown {
		if !strings.HasPrefix(t.Target, dir+"/") {
			continue
		}
		fd, err := v.take(t)
		if err == nil {
			_, err = v.put(fd, t.Target, nil)
			_ = unix.Close(fd)
		}
		if err == nil {
			err = v.hideAll(below(v.hide, t.Target))
		}
		if err != nil {
			return fmt.Errorf("cannot show %s again: %w", t.Target, err)
		}
	}
	return nil
}

// entries counts what is in a directory. It stops soon beyond a number, so that a command cannot make it long.
func entries(dir string, most int) (int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("open", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return list(fd, most)
}

// list counts the entries of an open directory.
func list(dir, most int) (count int, err error) {
	var buffer [2048]byte
	for count <= most {
		n, err := unix.ReadDirent(dir, buffer[:])
		if err != nil {
			return 0, os.NewSyscallError("getdents", err)
		}
		if n == 0 {
			break
		}
		_, found, _ := unix.ParseDirent(buffer[:n], -1, nil)
		count += found
	}
	return count, nil
}

// leftIPC reports whether a command left System V memory, queues or semaphores, or a POSIX queue. They live as long as the
// cell.
func (v *view) leftIPC() bool {
	for _, one := range []struct{ call, command, word uintptr }{
		{unix.SYS_SHMCTL, shmInfo, 0}, {unix.SYS_MSGCTL, msgInfo, 0}, {unix.SYS_SEMCTL, semInfo, 7},
	} {
		var info [64]int32
		args := [3]uintptr{0, one.command, uintptr(unsafe.Pointer(&info))}
		if one.call == unix.SYS_SEMCTL {
			_, _, _ = unix.Syscall6(one.call, 0, 0, one.command, args[2], 0, 0)
		} else {
			_, _, _ = unix.Syscall(one.call, args[0], args[1], args[2])
		}
		if info[one.word] > 0 {
			return true
		}
	}
	return v.leftQueues()
}

// leftQueues looks where no command can change what may be looked at.
func (v *view) leftQueues() bool {
	if v.queues < 0 {
		return false // The kernel has none.
	}
	if _, err := unix.Seek(v.queues, 0, io.SeekStart); err != nil {
		return true
	}
	n, err := list(v.queues, 0)
	return n > 0 || err != nil
}

// openQueues opens the directory of POSIX message queues, which exist whether or not it is mounted anywhere; -1 where the kernel
// has none.
func openQueues() (int, error) {
	kind, err := unix.Fsopen("mqueue", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return -1, nil
	}
	if err != nil {
		return -1, os.NewSyscallError("fsopen mqueue", err)
	}
	defer func() { _ = unix.Close(kind) }()
	if err := unix.FsconfigCreate(kind); err != nil {
		return -1, os.NewSyscallError("fsconfig mqueue", err)
	}
	mount, err := unix.Fsmount(kind, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsmount mqueue", err)
	}
	defer func() { _ = unix.Close(mount) }()
	fd, err := unix.Openat(mount, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("open mqueue", err)
}

// What the kernel is asked of all that there is of a kind: linux/shm.h, linux/msg.h, linux/sem.h.
const (
	shmInfo = 14
	msgInfo = 12
	semInfo = 19
)
