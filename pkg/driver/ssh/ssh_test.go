package ssh_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/driver/ssh"
)

func (s *server) options() ssh.Options {
	return ssh.Options{
		Address: s.address, User: s.user, KeyFile: s.key, KnownHosts: s.known, Dir: filepath.Join(s.dir, "attempts"), Place: s.dir,
	}
}

func open(t *testing.T, o ssh.Options) *ssh.Driver {
	t.Helper()
	d, err := ssh.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestMain(m *testing.M) { os.Exit(drivertest.Overlap(m)) }

func TestSharedHostConforms(t *testing.T) {
	o := newServer(t).options()
	o.Shared = true
	d := open(t, o)
	drivertest.Run(t, func(t *testing.T) driver.Driver { return d })
}

func TestHostConforms(t *testing.T) {
	d := open(t, newServer(t).options())
	drivertest.Run(t, func(t *testing.T) driver.Driver { return d })
}
