package executor

import (
	"context"
	"sync"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	keptPlans   = 4
	maxPlanSize = 512 << 20
)

// plans keeps the last few plans: a run's attempts come close together.
type plans struct {
	store blob.Store
	mu    sync.Mutex
	kept  []*keptPlan // the most recently used last
}

type keptPlan struct {
	digest release.Digest
	read   sync.Once
	plan   *plan.Plan
	tasks  map[release.TaskID]*plan.Task
	err    error
}

func newPlans(store blob.Store) *plans { return &plans{store: store} }

// task returns a task and its plan. They are shared and must not be changed.
func (p *plans) task(ctx context.Context, digest release.Digest, id release.TaskID) (*plan.Plan, *plan.Task, error) {
	k := p.use(digest)
	k.read.Do(func() { k.load(ctx, p.store) })
	if k.err != nil {
		p.drop(k)
		return nil, nil, k.err
	}
	task := k.tasks[id]
	if task == nil {
		return nil, nil, fault.New(fault.Invalid, "cannot run task %q: it is not in plan %s", id, digest)
	}
	return k.plan, task, nil
}

func (p *plans) use(digest release.Digest) *keptPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, k := range p.kept {
		if k.digest == digest {
			p.kept = append(append(p.kept[:i:i], p.kept[i+1:]...), k)
			return k
		}
	}
	k := &keptPlan{digest: digest}
	p.kept = append(p.kept, k)
	if len(p.kept) > keptPlans {
		p.kept = p.kept[1:]
	}
	return k
}

// drop forgets a plan that could not be read, so that the next attempt reads it again.
func (p *plans) drop(k *keptPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.kept {
		if one == k {
			p.kept = append(p.kept[:i:i], p.kept[i+1:]...)
			return
		}
	}
}

func (k *keptPlan) load(ctx context.Context, store blob.Store) {
	text, err := blob.ReadAll(ctx, store, k.digest, maxPlanSize)
	if err == nil {
		k.plan, err = plan.Decode(text)
		err = fault.As(fault.Invalid, err)
	}
	if err != nil {
		k.err = err
		return
	}
	k.tasks = make(map[release.TaskID]*plan.Task, len(k.plan.Tasks))
	for i := range k.plan.Tasks {
		k.tasks[k.plan.Tasks[i].ID] = &k.plan.Tasks[i]
	}
}
