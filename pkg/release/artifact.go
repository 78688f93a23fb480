package release

import "sort"

// Artifact is a named output with its digest. A directory is one artifact: a tar of its files, MediaType
// "application/x-tar", Directory true.
type Artifact struct {
	Name      string `json:"name,omitempty"` // the file's name: "demo-1.0-cp312-cp312-linux_x86_64.whl"
	Type      string `json:"type,omitempty"` // the output's name in the definition: "wheel", "jar", "image"
	Task      TaskID `json:"task,omitempty"` // who made it
	Job       string `json:"job,omitempty"`  // the definition's job that the task comes from: "wheel"
	Digest    Digest `json:"digest,omitempty"`
	Size      int64  `json:"size,omitempty,string"` // bytes
	MediaType string `json:"mediaType,omitempty"`
	Directory bool   `json:"directory,omitempty"`
	Stamped   bool   `json:"stamped,omitempty"` // the definition says that it carries the commit
	StampIn   string `json:"stampIn,omitempty"` // glob of the archive's entries that carry it; empty means any

	Matrix map[string]string `json:"matrix,omitempty"` // the values of the task's matrix: platform, python …
}

// Completion is one way in which a task succeeded. A task may have several: two attempts that ran although only one was wanted.
type Completion struct {
	Seq       uint64 // where the stream keeps the result; 0 for no success
	Attempt   int32
	Artifacts []Artifact
}

// Counting is the success of a task that counts: the first in the stream. It is the one rule of who freezes a candidate and
// who gives tests their inputs, so that what is tested is what is published.
func (s Completion) Counting(other Completion) Completion {
	if s.Seq == 0 || other.Seq != 0 && other.Seq < s.Seq {
		return other
	}
	return s
}

// Candidate is the frozen set of artifacts that is tested and, if the gate opens, published.
type Candidate struct {
	ID        Digest     `json:"id,omitempty"`
	Run       RunID      `json:"run,omitempty"`
	Commit    Commit     `json:"commit,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// NewCandidate freezes artifacts in a fixed order, so that the same artifacts are the same candidate.
func NewCandidate(run RunID, commit Commit, artifacts []Artifact) Candidate {
	sorted := append([]Artifact(nil), artifacts...)
	sort.Slice(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		if a.Task != b.Task {
			return a.Task < b.Task
		}
		if a.Type != b.Type {
			return a.Type < b.Type
		}
		return a.Name < b.Name
	})
	parts := []string{"candidate", string(run), string(commit)}
	for _, a := range sorted {
		parts = append(parts, string(a.Task), a.Type, a.Name, string(a.Digest))
	}
	var text []byte
	for _, p := range parts {
		text = append(append(text, p...), 0)
	}
	return Candidate{ID: DigestOf(text), Run: run, Commit: commit, Artifacts: sorted}
}

// Holds reports whether a digest is part of the candidate.
func (c Candidate) Holds(d Digest) bool {
	for _, a := range c.Artifacts {
		if a.Digest == d {
			return true
		}
	}
	return false
}
