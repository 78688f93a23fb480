package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// resource is something of which pools and providers have only so much.
type resource int

// The resources that can be limited. Every attempt takes one of tasks.
const (
	cpu resource = iota
	gpu
	memory
	nodes
	attempts
	resources // how many there are
)

func (r resource) String() string {
	return [resources]string{"cpu", "gpu", "memory", "nodes", "tasks"}[r]
}

// resourceNamed finds a resource by its name.
func resourceNamed(name string) (resource, bool) {
	for r := range resources {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}

// amount is how much of a resource, in thousandths: what is added and taken away again leaves nothing behind, as it would
// with fractions.
type amount int64

// amountOf takes what events say, which is anything. Nine terabytes of memory is the most that is believed.
func amountOf(f float64) amount {
	const most = 9e12
	if !(f > 0) {
		return 0
	}
	return amount(math.Ceil(min(f, most) * 1000))
}

func (a amount) float() float64 { return float64(a) / 1000 }

func (a amount) String() string { return fmt.Sprintf("%.6g", a.float()) }

// amounts are what an attempt takes of each resource.
type amounts [resources]amount

func amountsOf(p event.TaskRequested) amounts {
	out := amounts{attempts: amountOf(1)}
	for r := range attempts {
		out[r] = amountOf(p.Resources[r.String()])
	}
	if p.Lease.Wanted() {
		out[nodes] = max(out[nodes], amountOf(float64(p.Lease.Count())))
	}
	return out
}

// cost is what an attempt weighs in the share of its project: an attempt on ten nodes weighs as much as ten.
func (a amounts) cost() int32 { return int32(min(max(1, a[nodes]/1000), 1<<16)) }

// demand is what a task asks for besides its pool and priority.
type demand struct {
	owner      string
	group      string
	groupLimit int32
	amounts    amounts
	lease      release.LeaseRequest
}

func demandOf(p event.TaskRequested) demand {
	return demand{owner: p.Owner, group: p.Group, groupLimit: max(0, p.GroupLimit), amounts: amountsOf(p), lease: p.Lease}
}

func (d *demand) equal(o *demand) bool {
	return d.owner == o.owner && d.group == o.group && d.groupLimit == o.groupLimit && d.amounts == o.amounts &&
		sameLease(d.lease, o.lease)
}

func sameLease(a, b release.LeaseRequest) bool {
	return a.Provider == b.Provider && a.Nodes == b.Nodes && a.Shared == b.Shared && a.For == b.For && a.Limit == b.Limit && slices.Equal(a.Places, b.Places)
}

// form is what makes tasks of a pool the same for everything but fairness: as long as the first of them may not start,
// none of the others may.
type form struct {
	priority   int32
	group      string // with its project
	groupLimit int32
	amounts    amounts
	lease      string
	made       string // provider whose places the definition makes, with its project
	madeLimit  int32  // of them at once
}

func (d *demand) form(project string, trust release.Trust, priority int32) form {
	f := form{priority: priority, groupLimit: d.groupLimit, amounts: d.amounts}
	if d.group != "" {
		f.group = groupName(project, trust, d.group)
	}
	if l := d.lease; l.Wanted() && l.Limit > 0 {
		f.made, f.madeLimit = project+madeOf+l.Provider, l.Limit
	}
	if l := d.lease; l.Wanted() {
		f.lease = fmt.Sprintf("%q %q %d %t %d", l.Provider, strings.Join(l.Places, "\n"), l.Nodes, l.Shared, l.For)
	}
	return f
}

// madeOf stands between a project and a provider of its definition. No provider of an installation is named so: each
// project has places of its own.
const madeOf = "/"

// groupName is a concurrency group's: two projects that use the same word do not wait for each other, and nor does a release
// for what strangers run under its word.
func groupName(project string, trust release.Trust, group string) string {
	if !trust.Covers(release.TrustTrusted) {
		group = "untrusted/" + group
	}
	if project == "" {
		return group
	}
	return project + "/" + group
}
