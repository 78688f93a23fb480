package driver_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// attackVariable tells this test's program, started by a command in a cell, what to try there.
const attackVariable = "SLUICE_ATTACK"

// TestHelperAttack is no test: it is what a command of an untrusted change does with the kernel.
func TestHelperAttack(t *testing.T) {
	attacks := map[string]func(t *testing.T){
		"leave-keys": leaveKeys, "find-keys": findKeys, "leave-queue": leaveQueue, "find-queue": findQueue,
		"change-warden": changeWarden, "steal-files": stealFiles,
	}
	if attack := attacks[os.Getenv(attackVariable)]; attack != nil {
		attack(t)
	}
}

const (
	keyName   = "sluice-attack"
	queueName = "sluice-attack"
)

func leaveKeys(*testing.T) {
	for _, ring := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		_, _ = unix.AddKey("user", keyName, []byte("poison"), ring)
	}
}

func findKeys(t *testing.T) {
	for _, ring := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		if _, err := unix.KeyctlSearch(ring, "user", keyName, 0); err == nil {
			t.Errorf("finds a key in ring %d", ring)
		}
	}
}

// openQueue opens a POSIX message queue, which needs no file system.
func openQueue(flags int) error {
	name, err := unix.BytePtrFromString(queueName)
	if err != nil {
		return err
	}
	_, _, number := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), uintptr(flags), 0o600, 0, 0, 0)
	if number != 0 {
		return number
	}
	return nil
}

func leaveQueue(t *testing.T) {
	if err := openQueue(unix.O_CREAT | unix.O_RDWR); err != nil {
		t.Log(err)
	}
}

func findQueue(t *testing.T) {
	if err := openQueue(unix.O_RDWR); err == nil {
		t.Error("finds a queue")
	}
}

// changeWarden changes what the first process of the cell, and each of its threads, hands down to what it starts.
func changeWarden(*testing.T) {
	for id := 1; id < 64; id++ {
		if id == os.Getpid() {
			break
		}
		for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_FSIZE, unix.RLIMIT_CORE} {
			_ = unix.Prlimit(id, resource, &unix.Rlimit{Cur: 64, Max: 64}, nil)
		}
		_ = unix.Setpriority(unix.PRIO_PROCESS, id, 19)
		var one unix.CPUSet
		one.Set(0)
		_ = unix.SchedSetaffinity(id, &one)
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, 1, uintptr(id), 3<<13)
	}
}

// stealFiles takes what the first process of the cell has open.
func stealFiles(t *testing.T) {
	pid, err := unix.PidfdOpen(1, 0)
	if err != nil {
		return
	}
	for fd := range 64 {
		if _, err := unix.PidfdGetfd(pid, fd, 0); err == nil {
			t.Errorf("takes file %d of its cell", fd)
		}
	}
	if err := unix.PtraceSeize(1); err == nil {
		t.Error("traces its cell")
	}
}

// prisoner runs commands in one cell, one after the other.
type prisoner struct {
	local *driver.Local
	world world
}

func newPrisoner(t *testing.T) prisoner {
	t.Helper()
	w := newWorld(t)
	copyProgram(t, filepath.Join(w.place, "mine/attack"))
	return prisoner{newIsolated(t, w.options()), w}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, from); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// says is what a script says that ends well.
func (p prisoner) says(t *testing.T, script string) string {
	t.Helper()
	var out bytes.Buffer
	if exit := drivertest.Exit(t, t.Context(), p.local, p.world.spec(t, script, &out)); !exit.OK() {
		t.Errorf("%s: %v: %s", script, exit, out.String())
	}
	return out.String()
}

func (p prisoner) attack(t *testing.T, what string) {
	t.Helper()
	p.says(t, attackVariable+"="+what+" ./attack -test.run='^TestHelperAttack$'")
}

// TestNothingStaysInACell: what a command does to its cell is undone before the next command, which may be another change's.
func TestNothingStaysInACell(t *testing.T) {
	p := newPrisoner(t)
	const look = `ulimit -n; ulimit -f; nice; grep Cpus_allowed_list /proc/self/status; for d in /tmp /var/tmp /dev/shm; do ls -a $d; stat -c '%a %h' $d; echo x > $d/x; done`
	before := p.says(t, look)
	for name, poison := range map[string]string{
		"closed directories":    "chmod 0 /tmp /var/tmp /dev/shm",
		"read-only directories": "chmod 555 /tmp /var/tmp /dev/shm",
		"hidden files":          "echo x > /tmp/.x; mkdir /var/tmp/.y; ln -s / /dev/shm/z",
		"many files":            "i=0; while test $i -lt 3000; do : > /tmp/$i; i=$((i+1)); done",
		"mounts":                "unshare -Urm sh -c 'mount -t tmpfs x /usr; mount --bind /etc /tmp; umount -l /tmp; mount -o remount,rw /; echo x > /usr/x'",
		"signals":               "trap '' TERM HUP QUIT INT; for s in TERM HUP QUIT INT ABRT SEGV USR1 PIPE STOP KILL; do kill -$s 1; done",
		"all of it":             "trap '' TERM; kill -TERM -1",
	} {
		t.Run(name, func(t *testing.T) {
			p.says(t, "{ "+poison+"; } >/dev/null 2>&1 || :")
			if after := p.says(t, look); after != before {
				t.Errorf("the next command sees\n%s\ninstead of\n%s", after, before)
			}
		})
	}
	t.Run("limits and priorities", func(t *testing.T) {
		p.attack(t, "change-warden")
		if after := p.says(t, look); after != before {
			t.Errorf("the next command sees\n%s\ninstead of\n%s", after, before)
		}
	})
	for _, one := range []string{"keys", "queue"} {
		t.Run(one, func(t *testing.T) {
			p.attack(t, "leave-"+one)
			p.attack(t, "find-"+one)
		})
	}
	t.Run("files", func(t *testing.T) { p.attack(t, "steal-files") })
}

// TestKeysOfTheExecutorAreNotInherited: a session's keys belong to whoever starts something in it.
func TestKeysOfTheExecutorAreNotInherited(t *testing.T) {
	runtime.LockOSThread() // whose keys these are; the thread ends with the test
	if _, _, number := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); number != 0 {
		drivertest.Lacks(t, "this machine has no keys: "+number.Error())
	}
	if _, err := unix.AddKey("user", keyName, []byte("a-secret-of-the-platform"), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
		t.Fatal(err)
	}
	newPrisoner(t).attack(t, "find-keys")
}

// TestReplacedSecretsStayHidden: an operator replaces a file of secrets while a command runs, as editors and tools do: by a
// rename. The directory above is shown, because everything that tests make lies where a cell has directories of its own.
func TestReplacedSecretsStayHidden(t *testing.T) {
	top := t.TempDir()
	secrets, workspace := filepath.Join(top, "secrets"), filepath.Join(top, "place/mine")
	file := filepath.Join(secrets, "file")
	for _, dir := range []string{secrets, workspace} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, []byte("a-secret-of-the-platform"), 0o644); err != nil { // Its mode is not what protects it.
			t.Fatal(err)
		}
	}
	write(file)
	write(filepath.Join(top, "shown"))
	local := newIsolated(t, driver.LocalOptions{Place: filepath.Dir(workspace), Hide: []string{file}, Show: []driver.Mount{{Source: top}}})
	var out drivertest.Output
	spec := drivertest.Shell(t, `test -s ../../shown; cat "$1" || :; echo up; while ! test -s go; do sleep 0.01; done; cat "$1" || :; ls ..`, &out)
	spec.Dir, spec.Args = workspace, append(spec.Args, "sh", file)
	process, err := local.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "up\n")
	write(file + ".next")
	if err := os.Rename(file+".next", file); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(workspace, "go"))
	if exit := drivertest.Wait(t, process); !exit.OK() || strings.Contains(out.String(), "a-secret") || !strings.HasSuffix(out.String(), "mine\n") {
		t.Errorf("%v: it reads the secrets: %s", exit, out.String())
	}
}

// TestMemoryIsNotTheirs: what a command fills in memory is bounded, and the kernel takes it before the platform.
func TestMemoryIsNotTheirs(t *testing.T) {
	said := newPrisoner(t).says(t, `cat /proc/self/oom_score_adj; for d in /tmp /var/tmp /dev/shm; do
	test $(($(stat -f -c '%b * %S / 1024' $d) * 100 / $(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo))) -le 25 || stat -f $d; done`)
	if score, err := strconv.Atoi(strings.TrimSpace(said)); err != nil || score < 500 {
		t.Errorf("expected 500 or more and nothing else: %s", said)
	}
}

// TestAttacksOnAnOrdinaryUser is the above for an executor that is not root, where its commands are the same user.
func TestAttacksOnAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		drivertest.Lacks(t, "only root can become an ordinary user")
	}
	const user = 65500
	dir, err := os.MkdirTemp("/var/tmp", "sluice-attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "driver.test")
	copyProgram(t, program)
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^("+strings.Join([]string{
		"TestNothingStaysInACell", "TestMemoryIsNotTheirs", "TestKeysOfTheExecutorAreNotInherited", "TestReplacedSecretsStayHidden", "TestIsolatedHoldsBack",
		"TestNothingOutlivesItsCommand", "TestSharedMemoryDoesNotStay",
	}, "|")+")$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
