package ray

import (
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
	unknown string // why the size is not known
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
	t.Cluster.Size, t.Cluster.Unknown = c.size, c.unknown
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
		c.failed, c.at = fmt.Sprintf("expected a map with head_node_type and worker_node_types, found %s", pyyaml.Repr(root)), root.At
		return c
	}
	c.root = root
	c.check()
	c.measure(im.options.Instances)
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

// check finds the volumes that would stay, and cost, when their machine is gone.
func (c *computeFile) check() {
	c.blockDevices(c.root.Get("aws"))
	c.blockDevices(lookup(c.root, "head_node_type", "aws_advanced_configurations"))
	for _, w := range c.workers() {
		c.blockDevices(w.Get("aws_advanced_configurations"))
	}
}

func (c *computeFile) workers() []*pyyaml.Node {
	if w := c.root.Get("worker_node_types"); w != nil {
		return w.Items
	}
	return nil
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

// measure sums up the head node and, of each type of worker, as many as there may be.
func (c *computeFile) measure(table *Instances) {
	head := lookup(c.root, "head_node_type", "instance_type")
	if head == nil {
		c.unknown = "the compute file names no instance type for the head node"
		return
	}
	c.add(table, head, 1)
	for _, w := range c.workers() {
		c.add(table, w.Get("instance_type"), count(w))
	}
	if c.unknown != "" {
		c.size = Size{}
	}
}

// maxNodes is more than any cloud has; it keeps sums from overflowing.
const maxNodes = 1_000_000

func count(worker *pyyaml.Node) int64 {
	return min(max(number(worker, number(worker, 1, "min_workers"), "max_workers"), 0), maxNodes)
}

func (c *computeFile) add(table *Instances, kind *pyyaml.Node, n int64) {
	if kind == nil || kind.Kind != pyyaml.String {
		c.unknown = "a worker type of the compute file names no instance type"
		return
	}
	one, known, guessed := table.Find(kind.Text)
	if guessed {
		c.guessed = append(c.guessed, kind)
	}
	if !known {
		c.unknown = fmt.Sprintf("the instance type %.60q is not in the table and does not end in a number", kind.Text)
		return
	}
	c.size.Nodes += n
	c.size.CPUs += n * one.CPUs
	c.size.GPUs += n * one.GPUs
}
