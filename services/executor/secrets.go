package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/release"
)

// findSecrets resolves the secrets that the task names, and those of the provider that makes its places, which only that
// provider's commands see. A change that is not trusted gets none, whatever its definition says; then it says so.
func (a *attempt) findSecrets() (withheld string, err error) {
	names := slices.Clone(a.task.Secrets)
	if a.maker != nil {
		names = append(names, a.maker.Secrets...)
	}
	if len(names) == 0 {
		return "", nil
	}
	if !a.plan.Change.Trusted() {
		return fmt.Sprintf("secrets %s are withheld: a %s run gets none", strings.Join(names, ", "), a.plan.Change.Kind), nil
	}
	known := make(map[string]string, len(names))
	values := make([]string, 0, len(names))
	for _, name := range names {
		value, err := a.secret(name)
		if err != nil {
			return "", err
		}
		known[name] = value
		values = append(values, value)
	}
	if a.masker, err = mask.New(values); err != nil {
		return "", classify(release.ClassConfig, err)
	}
	a.secrets = pick(known, a.task.Secrets)
	if a.maker != nil {
		a.makers = pick(known, a.maker.Secrets)
	}
	long := slices.DeleteFunc(values, func(value string) bool { return len(value) < minSearched })
	if len(long) > 0 {
		a.searched, err = mask.New(long)
	}
	return "", err
}

func pick(from map[string]string, names []string) map[string]string {
	some := make(map[string]string, len(names))
	for _, name := range names {
		some[name] = from[name]
	}
	return some
}

// secret finds one value.
func (a *attempt) secret(name string) (string, error) {
	value, err := a.e.deps.Secret(name)
	if err != nil {
		return "", a.classifySecret(name, err)
	}
	if len(value) < mask.MinLength {
		return "", fail(release.ClassConfig, "cannot give secret %s to the task: it has fewer than %d bytes, too few to be "+
			"masked in the log; give it a longer value", name, mask.MinLength)
	}
	return value, nil
}

// classifySecret tells a store of secrets that is away from a secret that is not there. The error is not repeated
// beyond its kind: nobody knows what it quotes.
func (a *attempt) classifySecret(name string, err error) error {
	a.e.log.Error("cannot find a secret", "secret", name, "kind", fault.Of(err))
	if fault.Is(err, fault.Transient) {
		return fail(release.ClassInfra, "cannot find secret %s: the store of secrets did not answer", name)
	}
	return fail(release.ClassConfig, "cannot find secret %s: this installation has none of that name for pool %s; define it where "+
		"the executor runs, or take it out of the definition", name, a.e.config.Pool)
}

// minSearched is the length from which a secret is looked for in artifacts, in bytes: a shorter one may stand in a
// binary by chance.
const minSearched = 12

// search refuses an output that holds a secret, before it is stored. What is compressed is not opened.
func (a *attempt) search(ctx context.Context, s *shelf, name string) error {
	if a.searched == nil {
		return nil
	}
	from, _, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	found, err := a.searched.Finds(from)
	if err != nil {
		return classify(release.ClassCommand, err)
	}
	if found {
		return fail(release.ClassConfig, "cannot keep %q: it holds a secret of the task; keep secrets out of what is built", name)
	}
	return nil
}
