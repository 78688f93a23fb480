package container_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/driver/container"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// TestContainerHoldsBack: a command that asks for nothing has no privilege, gains none, and cannot take the machine down.
func TestContainerHoldsBack(t *testing.T) {
	var out bytes.Buffer
	d := open(t, container.Options{ReadOnly: true})
	spec := drivertest.Shell(t, `grep -E '^(Uid|CapPrm|CapEff|CapBnd|NoNewPrivs)' /proc/self/status | tr -s '\t ' ' '
(echo x > /etc/made) 2>/dev/null && echo 'the image is writable'; echo x > /tmp/made; echo x > mine
for f in /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; do test -r $f && echo "pids $(cat $f)"; done; :`, &out)
	exit := drivertest.Exit(t, t.Context(), d, spec)
	said := out.String()
	for _, want := range []string{"CapPrm: 0000000000000000", "CapEff: 0000000000000000", "CapBnd: 0000000000000000", "NoNewPrivs: 1", "pids 4"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	if !exit.OK() || strings.Contains(said, "writable") || strings.Contains(said, "Uid: 0") {
		t.Errorf("%v: %s", exit, said)
	}
}
