package publisher

import (
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
		{"1.4.0-4f2a9c1d", "1.4.0-f943778b", 0},
		{"1.4.0-12345678", "1.4.0-f943778b", 0},
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
