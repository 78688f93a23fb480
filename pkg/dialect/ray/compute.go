package ray

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/sluiceci/sluice/pkg/dialect/ray/jinja"
	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// Size is what a compute file makes at its largest.
type Size struct {
	Nodes int64 // the head node included
	CPUs  int64
	GPUs  int64
}

// computeFile is a rendered compute file and what was found in it.
type computeFile struct {
	root    *pyyaml.Node
	size    Size
	unknown string // why the size is not known; then it is at least so much
	largest int64  // nodes, as far as they can be told
	missing bool
	failed  string // why it could not be rendered or read
	at      pyyaml.Pos
	volumes []pyyaml.Pos // Ebs volumes that stay when their machine is gone
	guessed []*pyyaml.Node
}

const maxCompute = 2_000 // compute files of all tests together

// size reads the compute file of a test, once for all tests that use it, and notes what is wrong with it.
func (im *importer) size(t *Test) {
	name := t.ComputePath()
	key := name + "\x00" + t.Cluster.CloudID + "\x00" + t.Env
	c := im.compute[key]
	if c == nil && len(im.compute) == maxCompute {
		im.fail(place(t.node, "cluster", "cluster_compute"), t.Name, "the tests name more than %d compute files", maxCompute)
		return
	}
	if c == nil {
		c = im.load(name, t)
		im.compute[key] = c
	}
	at := place(t.node, "cluster", "cluster_compute")
	switch {
	case c.missing:
		im.fail(at, t.Name, "Cannot load yaml template from %s: Path not found.", name)
	case c.failed != "":
		im.fail(c.at, t.Name, "Error rendering/loading yaml template: %s", c.failed)
	}
	for _, volume := range c.volumes {
		im.fail(volume, t.Name, "Ebs volume does not have `DeleteOnTermination: true` set")
	}
	t.Cluster.Size, t.Cluster.Unknown, t.Cluster.Nodes = c.size, c.unknown, c.largest
}

// load renders and reads a compute file.
func (im *importer) load(name string, t *Test) *computeFile {
	c := &computeFile{at: pyyaml.Pos{File: name}}
	content, err := readFile(im.files, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		c.missing = true
		return c
	}
	if err != nil {
		c.failed = reason(err)
		return c
	}
	rendered, err := jinja.Render(content, map[string]any{"env": im.templateEnv(t)})
	var known *jinja.Error
	if errors.As(err, &known) {
		c.failed, c.at = known.Message, pyyaml.Pos{File: name, Line: known.Line, Column: min(known.Line, 1)}
		return c
	}
	root, warnings, failed := pyyaml.Read(name, rendered)
	for _, w := range warnings {
		im.warn(w.At, "", "%s", w.Message)
	}
	if failed != nil {
		c.failed, c.at = failed.Message, failed.At
		return c
	}
	if root.Kind != pyyaml.Map {
		c.failed, c.at = fmt.Sprintf("expected a map with head_node_type or head_node, found %s", pyyaml.Repr(root)), root.At
		return c
	}
	c.root = root
	c.check()
	c.measure(im.options.Instances, im.suite.Rules.NewCompute)
	for _, kind := range c.guessed {
		im.warn(kind.At, "", "the instance type %.60s is not in the table: the number at its end counts as vCPUs, and no GPU is counted", kind.Text)
	}
	return c
}

// templateEnv is env[...] of a compute template.
func (im *importer) templateEnv(t *Test) map[string]any {
	out := map[string]any{}
	for k, v := range im.options.Env {
		out[k] = v
	}
	environment := im.suite.Environments[t.Env]
	for k, v := range environment.Variables {
		out[k] = v
	}
	switch {
	case t.Cluster.CloudID != "":
		out["ANYSCALE_CLOUD_ID"] = t.Cluster.CloudID
	case out["RELEASE_DEFAULT_CLOUD_ID"] != nil:
		out["ANYSCALE_CLOUD_ID"] = out["RELEASE_DEFAULT_CLOUD_ID"]
	}
	if !im.options.Now.IsZero() {
		out["DATESTAMP"] = im.options.Now.Format("20060102")
		out["TIMESTAMP"] = strconv.FormatInt(im.options.Now.Unix(), 10)
	}
	return out
}

// layout names the keys of a compute file, of which there are two generations.
type layout struct{ head, workers, most, least, machine, whole string }

func layouts() []layout {
	return []layout{
		{head: "head_node_type", workers: "worker_node_types", most: "max_workers", least: "min_workers", machine: "aws_advanced_configurations", whole: "aws"},
		{head: "head_node", workers: "worker_nodes", most: "max_nodes", least: "min_nodes", machine: "advanced_instance_config", whole: "advanced_instance_config"},
	}
}

// check finds the volumes that would stay, and cost, when their machine is gone.
func (c *computeFile) check() {
	for _, l := range layouts() {
		c.blockDevices(c.root.Get(l.whole))
		c.blockDevices(lookup(c.root, l.head, l.machine))
		for _, w := range items(c.root.Get(l.workers)) {
			c.blockDevices(w.Get(l.machine))
		}
	}
}

func items(n *pyyaml.Node) []*pyyaml.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func (c *computeFile) blockDevices(aws *pyyaml.Node) {
	mappings := aws.Get("BlockDeviceMappings")
	if mappings == nil {
		return
	}
	for _, m := range mappings.Items {
		ebs := m.Get("Ebs")
		if ebs == nil || ebs.Kind != pyyaml.Map || len(ebs.Entries) == 0 {
			continue
		}
		if stays := ebs.Get("DeleteOnTermination"); stays == nil || stays.Kind != pyyaml.Bool || !stays.Bool {
			c.volumes = append(c.volumes, ebs.At)
		}
	}
}

// measure sums up the head node and, of each type of worker, as many as there may be. The size is that which Ray counts: none
// where the platform selects the workers, or where the tooling of the generation does not read the keys of the file.
func (c *computeFile) measure(table *Instances, newToo bool) {
	l := layouts()[0]
	if c.root.Get(l.head) == nil && c.root.Get(layouts()[1].head) != nil {
		l = layouts()[1]
		if !newToo {
			c.unknown = "the suite's own tooling does not size a cluster of head_node and worker_nodes"
		}
	}
	c.add(table, "head node", lookup(c.root, l.head, "instance_type"), 1)
	workers := c.root.Get(l.workers)
	switch {
	case workers == nil && l.head == "head_node_type":
		c.unsized("there are no " + l.workers + ": the platform selects the workers")
	case workers != nil && workers.Kind != pyyaml.List:
		c.unsized(l.workers + " is " + pyyaml.Repr(workers) + ", expected a list")
	}
	for _, w := range items(workers) {
		n, ok := count(w, l)
		if !ok {
			c.unsized("a worker type of the compute file does not say how many there may be")
		}
		c.largest += max(n, 0)
		c.add(table, "worker type", w.Get("instance_type"), n)
	}
	c.largest++
}

// unsized keeps the first reason why the size is not known.
func (c *computeFile) unsized(why string) { c.unknown = cmp.Or(c.unknown, why) }

// maxNodes is more than any cloud has; it keeps sums from overflowing.
const maxNodes = 1_000_000

// count is how many workers of a type there may be. False is told of what is no number.
func count(worker *pyyaml.Node, l layout) (int64, bool) {
	for _, key := range []string{l.most, l.least} {
		n := worker.Get(key)
		if n == nil {
			continue
		}
		if n.Kind == pyyaml.Bool && n.Bool {
			return 1, true
		}
		whole := rule{kind: "integer"}.fits(n)
		return min(max(number(worker, 0, key), -maxNodes), maxNodes), whole || n.Kind == pyyaml.Bool
	}
	return 1, true
}

func (c *computeFile) add(table *Instances, what string, kind *pyyaml.Node, n int64) {
	if kind == nil || kind.Kind != pyyaml.String {
		c.unsized("a " + what + " of the compute file names no instance type")
		return
	}
	one, known, guessed := table.Find(kind.Text)
	if guessed {
		c.guessed = append(c.guessed, kind)
	}
	if !known {
		c.unsized(fmt.Sprintf("the instance type %.60q is not in the table and does not end in a number", kind.Text))
		return
	}
	c.size.Nodes += n
	c.size.CPUs += n * one.CPUs
	c.size.GPUs += n * one.GPUs
}
