package alert

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Metric is a number by which releases are compared.
type Metric struct {
	Name  string  `json:"perf_metric_name"`
	Value float64 `json:"perf_metric_value"`
	Type  string  `json:"perf_metric_type"` // THROUGHPUT: more is better; LATENCY: less is
}

// The types of a metric.
const (
	Throughput = "THROUGHPUT"
	Latency    = "LATENCY"
)

// ReadMetrics reads the metrics of a file of a release.
func ReadMetrics(b []byte) ([]Metric, error) {
	var f *struct {
		Metrics []Metric `json:"perf_metrics"`
	}
	if len(b) > maxResults {
		return nil, fault.New(fault.Invalid, "cannot read metrics: they have %d bytes, expected at most %d", len(b), maxResults)
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fault.New(fault.Invalid, "cannot read metrics: %w; expected an object with perf_metrics", err)
	}
	if f == nil || f.Metrics == nil {
		return nil, fault.New(fault.Invalid, "cannot read metrics: found no perf_metrics")
	}
	for _, m := range f.Metrics {
		if m.Name == "" || m.Type != Throughput && m.Type != Latency {
			return nil, fault.New(fault.Invalid, "cannot read metric %q: its type is %q, expected %s or %s", m.Name, m.Type, Throughput, Latency)
		}
	}
	return f.Metrics, nil
}

// Change is a metric that became worse.
type Change struct {
	File     string
	Metric   string
	Type     string
	Old, New float64
	Loss     float64 // of the old value: 0.1 is 10 %; infinite when the old latency was 0
}

func (c Change) String() string {
	return fmt.Sprintf("REGRESSION %.2f%%: %s (%s) regresses from %g to %g in %s", 100*c.Loss, c.Metric, c.Type, c.Old, c.New, c.File)
}

// Comparison is one release beside another.
type Comparison struct {
	Regressions  []Change // throughput before latency, the worst first
	MissingInNew []string // "file" or "file: metric"
	MissingInOld []string
	Problems     []string // what cannot be compared
}

// Compare says what is worse in the files of a new release than in those of an old one, by more than a part of the old
// value that is noise: 0 tells everything, as Ray's script does.
func Compare(old, now map[string][]Metric, noise float64) Comparison {
	var c Comparison
	for _, file := range union(old, now) {
		was, inOld := old[file]
		is, inNew := now[file]
		switch {
		case !inOld:
			c.MissingInOld = append(c.MissingInOld, file)
		case !inNew:
			c.MissingInNew = append(c.MissingInNew, file)
		default:
			c.file(file, byName(was), byName(is), noise)
		}
	}
	slices.SortStableFunc(c.Regressions, func(a, b Change) int {
		if a.Type != b.Type {
			return strings.Compare(b.Type, a.Type) // THROUGHPUT, LATENCY
		}
		switch {
		case a.Loss > b.Loss:
			return -1
		case a.Loss < b.Loss:
			return 1
		default:
			return 0
		}
	})
	return c
}

func byName(metrics []Metric) map[string]Metric {
	out := map[string]Metric{}
	for _, m := range metrics {
		out[m.Name] = m
	}
	return out
}

func union[V any](a, b map[string]V) []string {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// file compares the metrics of one file.
func (c *Comparison) file(file string, old, now map[string]Metric, noise float64) {
	for _, name := range union(old, now) {
		was, inOld := old[name]
		is, inNew := now[name]
		switch {
		case !inOld:
			c.MissingInOld = append(c.MissingInOld, file+": "+name)
		case !inNew:
			c.MissingInNew = append(c.MissingInNew, file+": "+name)
		case was.Type != is.Type:
			c.Problems = append(c.Problems, fmt.Sprintf("%s: %s was %s and is %s", file, name, was.Type, is.Type))
		default:
			if loss := lossOf(was, is); loss > noise {
				c.Regressions = append(c.Regressions, Change{file, name, is.Type, was.Value, is.Value, loss})
			}
		}
	}
}

// lossOf is how much worse a metric became, as a part of its old value; negative when it became better.
func lossOf(was, is Metric) float64 {
	worse := was.Value - is.Value
	if is.Type == Latency {
		worse = -worse
	}
	switch {
	case was.Value != 0:
		return worse / math.Abs(was.Value)
	case worse > 0:
		return math.Inf(1)
	default:
		return 0
	}
}
