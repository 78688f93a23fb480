package publisher

import (
	"fmt"
	"maps"
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
	Secret   bool // the value must be "$NAME", the name of a secret; no other option may name one
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

// resolve turns "$NAME" into the secret's value. A secret written out in the definition is refused, since the plan
// would carry it; a secret in an option that may be printed is refused too.
func (o Option) resolve(target, value string, secrets Secrets) (string, error) {
	name, isSecret := strings.CutPrefix(value, "$")
	switch {
	case isSecret && !o.Secret:
		return "", fault.New(fault.Invalid, "cannot publish to target %q: option %q may not hold a secret; write its value", target, o.Name)
	case !isSecret && o.Secret && value != "":
		return "", fault.New(fault.Invalid, "cannot publish to target %q: option %q is written out; store it as a secret and write its name, \"$NAME\"", target, o.Name)
	case !isSecret:
		return value, nil
	case secrets == nil:
		return "", nil
	}
	found, err := secrets(name)
	if err != nil {
		return "", fault.As(fault.Internal, fmt.Errorf("cannot read secret %q for target %q: %w", name, target, err))
	}
	if found == "" {
		return "", fault.New(fault.Denied, "cannot publish to target %q: secret %q is empty or not given to the publisher; set it and retry", target, name)
	}
	return found, nil
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
