package definition

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Int is a whole number between −1000000 and 1000000.
type Int struct {
	Value int32
	At    Pos
}

const intLimit = 1_000_000

func (i *Int) decode(d *decoder, n ast.Node) {
	i.At = d.at(n)
	text, _ := scalarText(n)
	v, err := strconv.ParseInt(text, 10, 32)
	_, number := n.(*ast.IntegerNode)
	switch {
	case err != nil || !number:
		d.fail(n, "", "expected a whole number, found %s", describe(n))
	case v > intLimit || v < -intLimit:
		d.fail(n, "", "expected a whole number between -%d and %d, found %s", intLimit, intLimit, describe(n))
	default:
		i.Value = int32(v)
	}
}

func (*Int) shape() shape {
	return shape{name: "whole number", schema: schemaNode{"type": "integer", "minimum": -intLimit, "maximum": intLimit}}
}

// Duration is a span of time written with its unit: "90s", "10m", "1h30m", "2d".
type Duration struct {
	Value release.Duration
	Set   bool
	At    Pos
}

const (
	longest         = 30 * 24 * time.Hour
	durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$`
	spanPattern     = `^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+(\.\.([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+)?$`
	durationHint    = `write the unit: "90s", "10m", "1h30m" or "2d"`
)

func (v *Duration) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	text, ok := scalarText(n)
	if !ok {
		d.fail(n, durationHint, "expected a duration, found %s", describe(n))
		return
	}
	v.read(d, n, text)
}

// read takes a duration that is a scalar, or a part of one.
func (v *Duration) read(d *decoder, n ast.Node, text string) {
	value, err := parseDuration(text)
	switch {
	case err != nil || value < 0:
		d.fail(n, durationHint, "expected a duration, found %s", describe(n))
	case value > longest:
		d.fail(n, "", "expected a duration of at most 30d, found %s", describe(n))
	default:
		v.Value, v.Set = release.Duration(value), true
	}
}

func (*Duration) shape() shape {
	return shape{name: "duration", schema: schemaNode{"type": "string", "pattern": durationPattern}}
}

// parseDuration is time.ParseDuration with days, and no zero without a unit.
func parseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(strictUnit(text))
	}
	n, err := strconv.ParseFloat(days, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1000 {
		return 0, strconv.ErrSyntax
	}
	total := time.Duration(n * 24 * float64(time.Hour))
	if rest == "" {
		return total, nil
	}
	more, err := time.ParseDuration(strictUnit(rest))
	return total + more, err
}

// strictUnit makes a bare "0", which Go takes, and a sign an error.
func strictUnit(text string) string {
	if text == "0" || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		return ""
	}
	return text
}

// Quantity is a number, or an amount with a unit: 2, 0.5, "4GiB".
type Quantity struct {
	Value float64
	At    Pos
}

func (q *Quantity) decode(d *decoder, n ast.Node) {
	q.At = d.at(n)
	text, _ := scalarText(n)
	v, ok := parseQuantity(text)
	if !ok {
		d.fail(n, `write a number or an amount: 2, 0.5, "512MiB", "4GiB"`, "expected an amount, found %s", describe(n))
		return
	}
	q.Value = v
}

func (*Quantity) shape() shape {
	return shape{name: "amount", schema: schemaNode{"anyOf": []schemaNode{
		{"type": "number", "minimum": 0},
		{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?([kKMGT]i?B?)?$`},
	}}}
}

func parseQuantity(text string) (float64, bool) {
	digits := strings.TrimRight(text, "kKMGTiB")
	factor, ok := map[string]float64{
		"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
		"ki": 1 << 10, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
	}[strings.TrimSuffix(text[len(digits):], "B")]
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || math.IsNaN(v) || v < 0 || v > 1e15 || strings.ContainsAny(digits, "eExX_pP+-") {
		return 0, false
	}
	return v * factor, true
}
