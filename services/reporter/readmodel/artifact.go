package readmodel

import (
	"context"

	"github.com/sluiceci/sluice/pkg/release"
)

// Artifact is an output of a task.
type Artifact struct {
	Task      release.TaskID    `json:"task"`
	Name      string            `json:"name"`
	Type      string            `json:"type,omitempty"`
	Attempt   int32             `json:"attempt,omitempty"`
	Job       string            `json:"job,omitempty"`
	Digest    release.Digest    `json:"digest,omitempty"`
	Size      int64             `json:"size"` // bytes
	MediaType string            `json:"media_type,omitempty"`
	Directory bool              `json:"directory,omitempty"`
	Stamped   bool              `json:"stamped,omitempty"`
	Matrix    map[string]string `json:"matrix,omitempty"`
}

const artifactColumns = "task, name, type, attempt, job, digest, size, media_type, directory, stamped, matrix"

func scanArtifact(a *Artifact) []any {
	return []any{
		&a.Task, &a.Name, &a.Type, opt(&a.Attempt), opt(&a.Job), opt(&a.Digest), opt(&a.Size), opt(&a.MediaType),
		opt(&a.Directory), opt(&a.Stamped), decoded(&a.Matrix),
	}
}

// ArtifactsQuery says which artifacts to list: those of a run, by task and name, after one of them.
type ArtifactsQuery struct {
	Run   release.RunID
	Task  release.TaskID // one task only, when set
	After ArtifactKey
	Limit int
}

// ArtifactKey is the place of an artifact in the list.
type ArtifactKey struct{ Task, Name, Type string }

// Artifacts lists artifacts; more reports whether there are others after the last.
func (m *Model) Artifacts(ctx context.Context, q ArtifactsQuery) (list []Artifact, more bool, err error) {
	where, args := "run = ? AND (task, name, type) > (?, ?, ?)", []any{string(q.Run), q.After.Task, q.After.Name, q.After.Type}
	if q.Task != "" {
		where, args = where+" AND task = ?", append(args, string(q.Task))
	}
	list, err = collect(ctx, m, "SELECT "+artifactColumns+" FROM artifacts WHERE "+where+
		" ORDER BY task, name, type LIMIT ?", append(args, q.Limit+1), scanArtifact)
	if len(list) > q.Limit {
		return list[:q.Limit], true, err
	}
	return list, false, err
}

// Artifact returns one artifact by its task and name.
func (m *Model) Artifact(ctx context.Context, run release.RunID, task release.TaskID, name string) (a Artifact, found bool, err error) {
	list, err := collect(ctx, m, "SELECT "+artifactColumns+" FROM artifacts WHERE run = ? AND task = ? AND name = ? ORDER BY type LIMIT 1",
		[]any{string(run), string(task), name}, scanArtifact)
	if err != nil || len(list) == 0 {
		return Artifact{}, false, err
	}
	return list[0], true, nil
}

// ArtifactTotals sums up the artifacts of a run by type.
type ArtifactTotals struct {
	Type  string `json:"type"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

// CountArtifacts sums up the artifacts of a run by type.
func (m *Model) CountArtifacts(ctx context.Context, run release.RunID) ([]ArtifactTotals, error) {
	return collect(ctx, m, "SELECT type, COUNT(*), CAST(SUM(COALESCE(size, 0)) AS BIGINT) FROM artifacts WHERE run = ? GROUP BY type ORDER BY type",
		[]any{string(run)}, func(t *ArtifactTotals) []any { return []any{&t.Type, &t.Count, opt(&t.Bytes)} })
}
