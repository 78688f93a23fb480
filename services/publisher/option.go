package publisher

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
)

// Option is one thing that the definition may say about a target of a kind.
type Option struct {
	Name     string
	Doc      string
	Default  string
	Required bool
	Secret   bool     // the value must be "$NAME", the name of a secret; it is never printed
	OneOf    []string // the values that there are; empty for any
	Place    bool     // the value may begin with "$NAME", a variable of the installation: "$MIRROR/simple/"; it is printed
}

// Options are the options of one target.
type Options map[string]string

// options checks a target's options against the kind's table and fills in defaults. With secrets nil the values of
// secrets are left out: that is how a plan is checked where nobody holds them.
func (k Kind) options(t plan.Target, secrets Secrets) (Options, error) {
	if err := k.known(t); err != nil {
		return nil, err
	}
	out := Options{}
	for _, o := range k.Options {
		value, given := t.Options[o.Name]
		if !given || value == "" {
			if o.Required {
				return nil, fault.New(fault.Invalid, "cannot publish to target %q: option %q is missing: %s", t.Name, o.Name, o.Doc)
			}
			value = o.Default
		}
		if value != "" && len(o.OneOf) > 0 && !slices.Contains(o.OneOf, value) {
			return nil, fault.New(fault.Invalid, "cannot publish to target %q: option %q is %q, expected one of %s", t.Name, o.Name, value, strings.Join(o.OneOf, ", "))
		}
		value, err := o.resolve(t.Name, value, secrets)
		if err != nil {
			return nil, err
		}
		out[o.Name] = value
	}
	return out, nil
}

func (k Kind) known(t plan.Target) error {
	for _, name := range slices.Sorted(maps.Keys(t.Options)) {
		if !slices.ContainsFunc(k.Options, func(o Option) bool { return o.Name == name }) {
			return fault.New(fault.Invalid, "cannot publish to target %q: kind %s has no option %q; it has %s",
				t.Name, k.Name, name, strings.Join(k.optionNames(), ", "))
		}
	}
	return nil
}

func (k Kind) optionNames() []string {
	var names []string
	for _, o := range k.Options {
		names = append(names, o.Name)
	}
	return names
}

var (
	reference = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)(.*)$`)
	// secretName is how secrets are called. One that is named where a place belongs would be printed with the place.
	secretName = regexp.MustCompile(`(?i)(token|password|passwd|secret|key|credentials?)$`)
)

// resolve looks up what begins with "$". A secret written out in the definition is refused, since the plan would carry it;
// a secret in an option that is printed is refused too.
func (o Option) resolve(target, value string, secrets Secrets) (string, error) {
	match := reference.FindStringSubmatch(value)
	switch {
	case match == nil && o.Secret && value != "":
		return "", fault.New(fault.Invalid, "cannot publish to target %q: option %q is written out; store it as a secret and write its name, \"$NAME\"", target, o.Name)
	case match == nil:
		return value, nil
	case !o.Secret && (!o.Place || secretName.MatchString(match[1])):
		return "", fault.New(fault.Invalid, "cannot publish to target %q: option %q may not hold a secret, since it is printed; write its value", target, o.Name)
	case o.Secret && match[2] != "":
		return "", fault.New(fault.Invalid, "cannot publish to target %q: option %q is more than the name of a secret, \"$NAME\"", target, o.Name)
	case secrets == nil:
		return "", nil
	}
	found, err := secrets(match[1])
	if err == nil && found == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fault.As(fault.Denied, fmt.Errorf("cannot publish to target %q: $%s of option %q is not given to the publisher; set it and retry: %w", target, match[1], o.Name, err))
	}
	return found + match[2], nil
}

// list splits an option's value at commas and spaces.
func (o Options) list(name string) []string {
	return strings.FieldsFunc(o[name], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

func (o Options) duration(name string) (time.Duration, error) {
	d, err := time.ParseDuration(o[name])
	if err != nil || d <= 0 {
		return 0, fault.New(fault.Invalid, "cannot read option %q: found %q, expected a duration such as \"10m\"", name, o[name])
	}
	return d, nil
}

func (o Options) flag(name string) (bool, error) {
	if o[name] == "" {
		return false, nil
	}
	yes, err := strconv.ParseBool(o[name])
	if err != nil {
		return false, fault.New(fault.Invalid, "cannot read option %q: found %q, expected true or false", name, o[name])
	}
	return yes, nil
}

// sizes are the units of sizes.
func sizes() []struct {
	unit  string
	bytes int64
} {
	return []struct {
		unit  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"", 1}}
}

// size reads a number of bytes: "100MB", "1GiB"; 0 when it is not given.
func (o Options) size(name string) (int64, error) {
	text := strings.TrimSpace(o[name])
	if text == "" {
		return 0, nil
	}
	for _, s := range sizes() {
		number, is := strings.CutSuffix(text, s.unit)
		if !is {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n <= 0 || n > (1<<62)/s.bytes {
			break
		}
		return n * s.bytes, nil
	}
	return 0, fault.New(fault.Invalid, "cannot read option %q: found %q, expected a size such as \"100MB\" or \"1GiB\"", name, text)
}
