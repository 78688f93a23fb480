package plan_test

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func example() *plan.Plan {
	return &plan.Plan{
		Project: "tiny", Change: release.Change{Kind: release.Push, Repo: "acme/tiny", Ref: "refs/heads/master"},
		Tasks:   []plan.Task{{ID: "wheel-3_12", Name: "wheel (3.12)", Kind: release.Build, Pool: "default", Run: "make"}},
		Skipped: []plan.Skipped{{Name: "jar", Why: "unless holds"}}, Warnings: []string{},
		Targets: []plan.Target{{Name: "pypi", Kind: "pypi", Select: []string{"wheel"}, Options: map[string]string{"url": "x"}}},
	}
}

// TestTheSamePlanHasTheSameDigest is what freezing a plan relies on.
func TestTheSamePlanHasTheSameDigest(t *testing.T) {
	t.Parallel()
	text, digest, err := example().Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := back.Encode(); err != nil || again != digest {
		t.Fatalf("decoded and encoded again it is %s (%v), want %s", again, err, digest)
	}
	if _, ok := back.Task("wheel-3_12"); !ok {
		t.Fatal("the task is gone")
	}
}

// FuzzDecode: whatever is decoded can be encoded, and then has one form.
func FuzzDecode(f *testing.F) {
	text, _, err := example().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"tasks": [{}], "change": {"at": "x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Decode(text)
		if err != nil {
			return
		}
		once, digest, err := p.Encode()
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v", err)
		}
		again, err := plan.Decode(once)
		if err != nil {
			t.Fatalf("encoded what cannot be decoded: %v", err)
		}
		if _, same, err := again.Encode(); err != nil || same != digest {
			t.Fatalf("a plan has two digests, %s and %s (%v)", digest, same, err)
		}
	})
}
