package report

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Results reads a results.json: one JSON object that a long test writes about itself.
//
//	{
//	  "success": true,                    // or 0/1, or "0"/"1"/"true"/"false"; may be missing
//	  "time_taken": 12.5,                 // every number is a metric
//	  "results": {"rps": 310, "p99": 4},  // anything; its numbers are metrics "results.rps", "results.p99"
//	  "perf_metrics": [                   // metrics by name
//	    {"perf_metric_name": "ops", "perf_metric_value": 9.5, "perf_metric_type": "THROUGHPUT"}
//	  ]
//	}
//
// An object that has none of these says nothing and is an error, as is anything else than one object.
func Results(r io.Reader) (Summary, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes + 1}
	decoder := json.NewDecoder(limited)
	var object map[string]json.RawMessage
	err := decoder.Decode(&object)
	switch {
	case limited.N <= 0:
		return Summary{}, unreadable("the results", "they have more than %d MiB", maxBytes>>20)
	case errors.Is(err, io.EOF):
		return Summary{}, unreadable("the results", "the file is empty, expected a JSON object")
	case err != nil:
		return Summary{}, unreadable("the results", "%w; expected one JSON object", err)
	case object == nil:
		return Summary{}, unreadable("the results", "found null, expected a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Summary{}, unreadable("the results", "something follows the JSON object")
	}
	return summarise(object)
}

func summarise(object map[string]json.RawMessage) (Summary, error) {
	var sum Summary
	if raw, ok := object["success"]; ok {
		success, err := truth(raw)
		if err != nil {
			return Summary{}, err
		}
		sum.Success = &success
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name != "success" {
			sum.numbers(name, object[name], 0)
		}
	}
	sum.perfMetrics(object["perf_metrics"])
	_, told := object["results"]
	if sum.Success == nil && len(sum.Metrics) == 0 && !told {
		return Summary{}, unreadable("the results", `they state neither "success" nor "results" nor a number`)
	}
	return sum, nil
}

func truth(raw json.RawMessage) (bool, error) {
	switch text := strings.ToLower(strings.Trim(string(raw), `" `)); text {
	case "true", "1", "1.0":
		return true, nil
	case "false", "0", "0.0", "null", "":
		return false, nil
	default:
		return false, unreadable("the results", `"success" is %s, expected true or false`, short(text, 60))
	}
}

// maxLevels is how deep numbers are looked for; deeper ones are data, not metrics.
const maxLevels = 4

// numbers takes every number below a name.
func (s *Summary) numbers(name string, raw json.RawMessage, level int) {
	if len(raw) == 0 || level > maxLevels {
		return
	}
	if raw[0] == '{' {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				s.numbers(name+"."+key, object[key], level+1)
			}
		}
		return
	}
	if value, err := strconv.ParseFloat(string(raw), 64); err == nil && finite(value) {
		s.measure(name, value)
	}
}

func (s *Summary) perfMetrics(raw json.RawMessage) {
	var list []struct {
		Name  string  `json:"perf_metric_name"`
		Value float64 `json:"perf_metric_value"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, one := range list {
		if one.Name != "" && finite(one.Value) {
			s.measure(one.Name, one.Value)
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func number(n int32) string { return strconv.Itoa(int(n)) }

func plural(n int32, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return number(n) + " " + word + "s"
}
