package ray

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Machine is what one instance type has.
type Machine struct{ CPUs, GPUs int64 }

// Instances is a table of instance types.
type Instances struct{ types map[string]Machine }

//go:embed instances.csv
var builtinInstances string

var builtin = sync.OnceValue(func() *Instances {
	table, err := ReadInstances(builtinInstances)
	if err != nil {
		return &Instances{} // the table is part of the program, and a test reads it
	}
	return table
})

// BuiltinInstances is the table that the program brings.
func BuiltinInstances() *Instances { return builtin() }

// ReadInstances reads a table: lines of "type,cpus,gpus", a heading, comments that begin with "#".
func ReadInstances(text string) (*Instances, error) {
	t := &Instances{types: map[string]Machine{}}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || line == "instance,cpus,gpus" {
			continue
		}
		cells := strings.Split(line, ",")
		if len(cells) != 3 {
			return nil, fault.New(fault.Invalid, "cannot read the instance table: line %d is %.80q, expected type,cpus,gpus", number, line)
		}
		cpus, err := strconv.ParseUint(strings.TrimSpace(cells[1]), 10, 20)
		gpus, err2 := strconv.ParseUint(strings.TrimSpace(cells[2]), 10, 20)
		if err != nil || err2 != nil {
			return nil, fault.New(fault.Invalid, "cannot read the instance table: line %d is %.80q, expected numbers of vCPUs and GPUs", number, line)
		}
		t.types[strings.TrimSpace(cells[0])] = Machine{int64(cpus), int64(gpus)}
	}
	return t, nil
}

var lastPart = regexp.MustCompile(`(?:^|-)([0-9]{1,6})$`)

// Find returns what an instance type has: by the table, else by the number at the end of its name, which is of vCPUs. Guessed
// reports that the name tells of GPUs which so are not counted.
func (t *Instances) Find(name string) (m Machine, known, guessed bool) {
	if m, ok := t.types[name]; ok {
		return m, true, false
	}
	if m := lastPart.FindStringSubmatch(name); m != nil {
		return Machine{CPUs: whole64(m[1])}, true, strings.Contains(name, "nvidia")
	}
	return Machine{}, false, false
}

func whole64(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}
