package idtoken

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestRotation follows keys through a year: every token can be checked with what was published two hours before it was
// signed, and with what is published until it ends.
func TestRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	keys, err := OpenKeys(dir, 30*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	issuer := Issuer{URL: "https://sluice.test", Keys: keys}
	type signed struct {
		id  string
		end time.Time
	}
	var live []signed
	used, most := map[string]bool{}, 0
	known := map[string]time.Time{} // since when a key is published
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for now := start; now.Before(start.AddDate(1, 0, 0)); now = now.Add(time.Hour) {
		token, err := issuer.Sign(Claims{}, []string{"a"}, "id", now, MaxLife)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
		if err != nil {
			t.Fatal(err)
		}
		set, err := keys.Set(now)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(set.Keys))
		for _, one := range set.Keys {
			if _, old := known[one.KeyID]; !old {
				known[one.KeyID] = now
			}
		}
		id := parsed.Headers[0].KeyID
		if now.Sub(known[id]) < settling && known[id] != start {
			t.Fatalf("%s: key %s signs %s after it was published", now, id, now.Sub(known[id]))
		}
		used[id] = true
		live = append(live, signed{id, now.Add(MaxLife)})
		for len(live) > 0 && live[0].end.Before(now) {
			live = live[1:]
		}
		for _, one := range live {
			if len(set.Key(one.id)) != 1 {
				t.Fatalf("%s: key %s is not published, and tokens of it live until %s", now, one.id, one.end)
			}
		}
	}
	files, _ := os.ReadDir(dir)
	if len(used) < 12 || most != 2 || len(files) > 2 {
		t.Errorf("%d keys were used, at most %d published at once, %d files are left", len(used), most, len(files))
	}
}

func TestKeysArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	keys, err := OpenKeys(dir, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Set(time.Now()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 1 {
		t.Fatalf("keys %v", names)
	}
	if info, err = os.Stat(names[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(names[0], 0o644); err != nil {
		t.Fatal(err)
	}
	again, _ := OpenKeys(dir, 48*time.Hour)
	if _, err := again.Set(time.Now()); err == nil || !strings.Contains(err.Error(), "its mode is 0644") {
		t.Errorf("a key that others could read signs: %v", err)
	}
}

// TestProcessesShareKeys has two processes begin at once.
func TestProcessesShareKeys(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	var ids []string
	for range 2 {
		keys, err := OpenKeys(dir, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		keys.read = now // as if each had looked before the other wrote
		set, err := keys.Set(now)
		if err != nil || len(set.Keys) != 1 {
			t.Fatal(set, err)
		}
		ids = append(ids, set.Keys[0].KeyID)
	}
	if ids[0] != ids[1] {
		t.Errorf("two keys %v", ids)
	}
}

func TestSubject(t *testing.T) {
	for _, one := range []struct {
		change release.Change
		want   string
	}{
		{release.Change{Kind: release.Push, Project: "one", Ref: "refs/heads/master"}, "project:one:ref_type:branch:ref:master"},
		{release.Change{Kind: release.Tag, Project: "one", Ref: "refs/tags/v1"}, "project:one:ref_type:tag:ref:v1"},
		{release.Change{Kind: release.PullRequest, Project: "one", Ref: "refs/pull/7/head", Number: 7}, "project:one:ref_type:pull_request:ref:refs/pull/7/head"},
		{release.Change{Kind: release.PullRequest, Project: "one", Ref: "refs/heads/master", Number: 7}, "project:one:ref_type:pull_request:ref:refs/heads/master"},
		{release.Change{Kind: release.Manual, Project: "one", Ref: "refs/other/x"}, "project:one:ref_type:other:ref:refs/other/x"},
	} {
		c := ClaimsOf(&plan.Plan{Change: one.change}, &plan.Task{}, event.AttemptRef{}, "linux", "")
		if got := c.Subject(); got != one.want {
			t.Errorf("subject %s, expected %s", got, one.want)
		}
		if c.Trust != release.TrustUntrusted {
			t.Errorf("a plan without trust is %s", c.Trust)
		}
	}
}

func TestLife(t *testing.T) {
	for _, one := range []struct {
		task plan.Task
		want time.Duration
	}{
		{plan.Task{TimeoutS: 600}, 15 * time.Minute},
		{plan.Task{}, 65 * time.Minute},
		{plan.Task{Timeouts: release.Timeouts{Prepare: release.Duration(time.Minute), Command: release.Duration(time.Hour), Cleanup: release.Duration(time.Minute)}}, 67 * time.Minute},
		{plan.Task{TimeoutS: 1e6}, 24 * time.Hour},
	} {
		if got := Life(&one.task); got != one.want {
			t.Errorf("%+v lives %s, expected %s", one.task.Timeouts, got, one.want)
		}
	}
}
