package builder

import (
	"context"
	"sync"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const plansKept = 8

// plans remembers the last plans that were read: who waits is looked up again and again.
type plans struct {
	blobs blob.Store

	mu   sync.Mutex
	kept []keptPlan // the last one that was used last
}

type keptPlan struct {
	digest release.Digest
	plan   *plan.Plan
}

func newPlans(blobs blob.Store) *plans { return &plans{blobs: blobs} }

// task is a task of a plan that fetches.
func (p *plans) task(ctx context.Context, digest release.Digest, id release.TaskID) (*plan.Plan, *plan.Task, error) {
	of, err := p.plan(ctx, digest)
	if err != nil {
		return nil, nil, err
	}
	task, ok := of.Task(id)
	if !ok || !task.Fetch.Wanted() || len(task.Outputs) != 1 {
		return nil, nil, fault.New(fault.Invalid, "cannot fetch anything for task %s: plan %s has no such task that does", id, digest)
	}
	return of, task, nil
}

func (p *plans) plan(ctx context.Context, digest release.Digest) (*plan.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, k := range p.kept {
		if k.digest == digest {
			p.kept = append(append(p.kept[:i:i], p.kept[i+1:]...), k)
			return k.plan, nil
		}
	}
	text, err := blob.ReadAll(ctx, p.blobs, digest, planLimit)
	if err != nil {
		return nil, err
	}
	of, err := plan.Decode(text)
	if err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	p.kept = append(p.kept, keptPlan{digest, of})
	p.kept = p.kept[max(0, len(p.kept)-plansKept):]
	return of, nil
}
