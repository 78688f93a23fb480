package publisher

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestMavenOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.9.1", "2.0.0", -1},
		{"1.10", "1.9", 1},
		{"1.0", "1", 0},
		{"1.0-rc2", "1.0", -1},
		{"1.0-rc10", "1.0-rc2", 1},
		{"1.0-alpha1", "1.0-beta1", -1},
		{"1.0-sp1", "1.0", 1},
		{"1.0.ga", "1.0", 0},
		{"20260101.1", "20251231.9", 1},
		{"2.40.0rc1", "2.40.0", -1},
		{"2.0.0.M1", "2.0.0.RELEASE", -1},
		{"1.0-cr1", "1.0-rc1", 0},
		{"1.0-abc", "1.0", 1},
		{"1.4.0-4f2a9c1d", "1.5.0-0a2a9c1d", -1},
		{"1.0", "", 1},
	} {
		if got := mavenOrder(c.a, c.b); got != c.want {
			t.Errorf("%s is compared with %s as %d, expected %d", c.a, c.b, got, c.want)
		}
		if got := mavenOrder(c.b, c.a); got != -c.want {
			t.Errorf("%s is compared with %s as %d, expected %d", c.b, c.a, got, -c.want)
		}
	}
}

// TestACorrectionOfAnOlderVersionIsNotTheNewest is 1.9.1, released after 2.0.0.
func TestACorrectionOfAnOlderVersionIsNotTheNewest(t *testing.T) {
	t.Parallel()
	var m mavenMetadata
	for _, version := range []string{"1.9.0", "2.0.0", "1.9.1"} {
		text, err := m.add(coordinates{Group: "org.acme", Artifact: "demo", Version: version}, time.Now())
		check(t, err)
		m, err = parseMavenMetadata(text)
		check(t, err)
	}
	if m.Versioning.Release != "2.0.0" || m.Versioning.Latest != "2.0.0" || len(m.Versioning.Versions) != 3 {
		t.Errorf("the newest is %+v, expected 2.0.0 of three versions", m.Versioning)
	}
}

// TestMavenOrderIsMavens asks Maven itself.
func TestMavenOrderIsMavens(t *testing.T) {
	t.Parallel()
	const jars = "/usr/share/java/maven-artifact-3.x.jar:/usr/share/java/commons-lang3.jar"
	d := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed seed
	parts := []string{"0", "1", "2", "10", "00", "007", "a", "b", "m", "alpha", "beta", "milestone", "rc", "cr", "snapshot", "ga", "final", "release", "sp", "x", "4f2a9c1d", "123456789012345"}
	versions := []string{"-cp", jars, "org.apache.maven.artifact.versioning.ComparableVersion"}
	for range 3000 {
		var v strings.Builder
		v.WriteString([]string{"1", "1.0", "2.40.0"}[d.IntN(3)])
		for range d.IntN(4) {
			v.WriteString([]string{"", ".", "-", "."}[d.IntN(4)] + parts[d.IntN(len(parts))])
		}
		versions = append(versions, v.String())
	}
	out, err := exec.CommandContext(t.Context(), "java", versions...).CombinedOutput() //nolint:gosec // fixed words
	if err != nil {
		t.Skipf("Maven is not here: %v: %.300s", err, out)
	}
	compared := 0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.Contains("< == >", f[1]) {
			continue
		}
		compared++
		if got, want := mavenOrder(f[0], f[2]), map[string]int{"<": -1, "==": 0, ">": 1}[f[1]]; got != want {
			t.Errorf("%s is compared with %s as %d, Maven says %d", f[0], f[2], got, want)
		}
	}
	if compared < 2900 {
		t.Errorf("%d of 2999 comparisons were made: %s", compared, fmt.Sprintf("%.300s", out))
	}
}

// TestWithoutAnOrderThePushDecides between the versions of two commits, which Maven compares by the alphabet.
func TestWithoutAnOrderThePushDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, than string
		late, want    bool
	}{
		{"1.4.0-4f2a9c1d", "1.4.0-f943778b", false, true},
		{"1.4.0-f943778b", "1.4.0-4f2a9c1d", true, false},
		{"1.4.0-12345678", "1.4.0-f943778b", false, true},
		{"1.4.0-f943778b", "1.5.0-0a2a9c1d", false, false},
		{"1.4.1", "1.4.0", true, true},
		{"1.9.1", "2.0.0", false, false},
	} {
		if got := newer(c.version, c.than, c.late); got != c.want {
			t.Errorf("%s after %s, pushed earlier: %t, is the newest: %t", c.version, c.than, c.late, got)
		}
	}
}
