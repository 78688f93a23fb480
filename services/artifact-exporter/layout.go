package exporter

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Names below the home of a run.
const (
	runFile       = "run.json"
	planFile      = "plan.json"
	candidateFile = "candidate.json"
	manifestFile  = "manifest.json" // written last: what it lists is there
)

// keptArtifact is an artifact and its path below "artifacts" or the results of an attempt.
type keptArtifact struct {
	path string
	release.Artifact
}

// layout gives every artifact its path, <type>/<name>; where two artifacts would have the same path and differ, <type>@<task>/<name>.
// It depends on the artifacts alone and not on their order.
func layout(artifacts []release.Artifact) ([]keptArtifact, error) {
	digests := map[string]map[release.Digest]bool{}
	for _, a := range artifacts {
		p := artifactPath(a, "")
		if digests[p] == nil {
			digests[p] = map[release.Digest]bool{}
		}
		digests[p][a.Digest] = true
	}
	kept := map[string]keptArtifact{}
	for _, a := range artifacts {
		if !a.Digest.Valid() || a.Size < 0 {
			return nil, fault.New(fault.Invalid, "cannot keep artifact %q: its digest is %q and its size %d", a.Name, a.Digest, a.Size)
		}
		p := artifactPath(a, "")
		if len(digests[p]) > 1 {
			p = artifactPath(a, "@"+segment(string(a.Task)))
		}
		if other, taken := kept[p]; taken && other.Digest != a.Digest {
			return nil, fault.New(fault.Invalid, "cannot keep artifact %q of task %s: the task has two of that name and type %q, with different bytes",
				a.Name, a.Task, a.Type)
		}
		kept[p] = keptArtifact{p, a}
	}
	return inOrder(kept), nil
}

func inOrder(kept map[string]keptArtifact) []keptArtifact {
	out := make([]keptArtifact, 0, len(kept))
	for _, k := range kept {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b keptArtifact) int { return strings.Compare(a.path, b.path) })
	return out
}

// artifactPath is <type>/<name>. A directory is kept as the tar that it is.
func artifactPath(a release.Artifact, task string) string {
	kind, name := a.Type, a.Name
	if kind == "" {
		kind = "other"
	}
	if a.Directory && !strings.HasSuffix(name, ".tar") {
		name += ".tar"
	}
	return path.Join(shortened(kind, longestKind)+task, shortened(name, longestFile))
}

// attemptPath is where the results, or logs, of an attempt are.
func attemptPath(kind string, task release.TaskID, attempt int32) string {
	return fmt.Sprintf("%s/%s/%d", kind, release.Slug(string(task)), attempt)
}

// manifest lists what a candidate left: it is the whole truth about a folder, and about latest/.
type manifest struct {
	Project   string         `json:"project,omitempty"`
	Repo      string         `json:"repo"`
	Branch    string         `json:"branch,omitempty"`
	Run       release.RunID  `json:"run"`
	Commit    release.Commit `json:"commit"`
	Candidate release.Digest `json:"candidate"`
	Planned   time.Time      `json:"planned"` // when the run was planned
	Pushed    uint64         `json:"pushed"`  // where its change stands in the stream: of two the later is the latest
	Home      string         `json:"home"`    // the folder, below the destination
	Files     []listed       `json:"files"`
}

// listed is a file of a manifest.
type listed struct {
	Path      string         `json:"path"` // below Home
	Digest    release.Digest `json:"digest"`
	Size      int64          `json:"size"`
	MediaType string         `json:"media_type,omitempty"`
}

func (m *manifest) list(f file) {
	m.Files = append(m.Files, listed{Path: f.path, Digest: f.digest, Size: f.size, MediaType: f.mediaType})
}

func (m manifest) bytes() (sum int64) {
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// document is the text of a small file: JSON for people and programs alike, the same for the same value.
func document(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot encode %T: %w", v, err)
	}
	return append(text, '\n'), nil
}
