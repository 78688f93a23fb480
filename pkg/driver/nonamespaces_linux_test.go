package driver_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

const noNamespacesVariable = "SLUICE_HELPER_NO_NAMESPACES"

// TestHelperWithoutNamespaces is no test: it is an executor of an ordinary user where user namespaces are forbidden.
func TestHelperWithoutNamespaces(t *testing.T) {
	if os.Getenv(noNamespacesVariable) == "" {
		return
	}
	if os.Geteuid() == 0 {
		t.Fatal("this is root")
	}
	local, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir(), Cells: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	i := driver.IsolationOf(local)
	if len(i.Held) > 0 || !strings.Contains(strings.Join(i.Missing, "\n"), "users and namespaces: ") || i.Untrusted() == nil {
		t.Errorf("it says %+v, %v", i, i.Untrusted())
	}
	var out bytes.Buffer
	if exit := drivertest.Exit(t, t.Context(), local, drivertest.Shell(t, "echo it runs", &out)); !exit.OK() || out.String() != "it runs\n" {
		t.Errorf("%v: %s", exit, out.String())
	}
	if _, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir(), Cells: true, Isolation: driver.IsolationRequired}); err == nil {
		t.Error("isolation that is required and cannot be had is no error")
	}
}

// TestWithoutNamespaces: where an ordinary user may make no user namespaces, commands run, the driver says what is missing,
// and takes no untrusted change.
func TestWithoutNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		drivertest.Lacks(t, "only root can forbid user namespaces, within one")
	}
	drivertest.Needs(t, "setpriv")
	const user = 65500
	dir, err := os.MkdirTemp("/var/tmp", "sluice-none-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "driver.test")
	copyProgram(t, program)
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", `echo 0 > /proc/sys/user/max_user_namespaces
exec setpriv --reuid 65500 --regid 65500 --clear-groups "$1" -test.v -test.run='^TestHelperWithoutNamespaces$'`, "sh", program)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, noNamespacesVariable + "=1"}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: user, HostID: user, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
	}
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: TestHelperWithoutNamespaces") {
		t.Errorf("%v\n%s", err, said)
	}
}
