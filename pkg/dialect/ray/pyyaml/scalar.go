package pyyaml

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// What plain scalars mean in YAML 1.1, in the order in which it is asked.
var (
	boolWord  = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	floatForm = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?` +
		`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	intForm = regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+` +
		`|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	nullWord = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	timeForm = regexp.MustCompile(`^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}` +
		`:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)$`)
)

// plain makes a value of a scalar that was written without quotes.
func plain(text string, at Pos) *Node {
	n := &Node{Kind: String, Text: text, At: at, size: 1}
	if len(text) > 100 || text != "" && !strings.ContainsRune("yYnNtTfFoO~+-.0123456789", rune(text[0])) {
		return n // most are words; none of the forms below begins as they do
	}
	switch {
	case boolWord.MatchString(text):
		word := strings.ToLower(text)
		n.Kind, n.Bool = Bool, word == "yes" || word == "true" || word == "on"
	case floatForm.MatchString(text):
		n.Kind, n.Float = Float, float(text)
	case intForm.MatchString(text):
		n.integer(text)
	case nullWord.MatchString(text):
		n.Kind = Null
	case timeForm.MatchString(text):
		n.Kind = Time
	}
	return n
}

func (n *Node) integer(text string) {
	digits := strings.ReplaceAll(text, "_", "")
	sign, digits := cutSign(digits)
	v := new(big.Int)
	ok := true
	switch {
	case strings.Contains(digits, ":"):
		v = sexagesimal(digits)
	case strings.HasPrefix(digits, "0b"):
		_, ok = v.SetString(digits[2:], 2)
	case strings.HasPrefix(digits, "0x"):
		_, ok = v.SetString(digits[2:], 16)
	case strings.HasPrefix(digits, "0"):
		_, ok = v.SetString(digits, 8)
	default:
		_, ok = v.SetString(digits, 10)
	}
	if !ok {
		return // "0b_": PyYAML raises; here it stays a string, which the schema refuses where a number belongs
	}
	if sign < 0 {
		v.Neg(v)
	}
	n.Kind = Int
	if v.IsInt64() {
		n.Int = v.Int64()
		return
	}
	n.Big = v
}

func cutSign(s string) (int, string) {
	switch {
	case strings.HasPrefix(s, "-"):
		return -1, s[1:]
	case strings.HasPrefix(s, "+"):
		return 1, s[1:]
	}
	return 1, s
}

// sexagesimal reads 1:30:00 in base 60.
func sexagesimal(s string) *big.Int {
	v := new(big.Int)
	for part := range strings.SplitSeq(s, ":") {
		one, ok := new(big.Int).SetString(part, 10)
		if !ok {
			return new(big.Int)
		}
		v.Add(v.Mul(v, big.NewInt(60)), one)
	}
	return v
}

func float(text string) float64 {
	s := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	sign, s := cutSign(s)
	switch {
	case s == ".inf":
		return math.Inf(sign)
	case s == ".nan":
		return math.NaN()
	}
	v := 0.0
	for part := range strings.SplitSeq(s, ":") {
		one, err := strconv.ParseFloat(part, 64)
		if err != nil && !strings.HasPrefix(err.Error(), "strconv.ParseFloat: value out of range") {
			one = 0
		}
		v = v*60 + one
	}
	return float64(sign) * v
}
