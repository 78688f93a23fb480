package executor

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
)

// findSecrets resolves the secrets that the task names, and those of the provider that makes its places, which only that
// provider's commands see. Each must be granted by the installation. A change that gets none at all runs without them;
// then it says so.
func (a *attempt) findSecrets(ctx context.Context) (withheld string, err error) {
	given, kept, err := a.granted(a.task.Secrets, secret.OfTask)
	if err != nil {
		return "", err
	}
	a.secrets = given
	if a.maker != nil {
		made, more, err := a.granted(a.maker.Secrets, secret.OfProvider)
		if err != nil {
			return "", err
		}
		a.makers, kept = made, append(kept, more...)
	}
	if a.claimed {
		more, err := a.findTokens(ctx)
		if err != nil {
			return "", err
		}
		kept = append(kept, more...)
	}
	return strings.Join(kept, "; "), a.guardSecrets()
}

// granted finds the values of the names that the grants give.
func (a *attempt) granted(names []string, use func(*plan.Plan, *plan.Task, string) secret.Use) (given map[string]string, withheld []string, err error) {
	given = make(map[string]string, len(names))
	for _, name := range names {
		u := use(a.plan, a.task, name)
		u.Environment = a.data.Environment  // what the scheduler let it into, whatever the plan calls it
		u.Upkeep = a.ref.Run == event.Fleet // said by the scheduler alone, of the installation's own places
		d := a.e.config.Grants.Decide(u)
		switch {
		case d.Withheld:
			withheld = append(withheld, "secret "+name+" is withheld: "+d.Reason)
			continue
		case !d.Allowed:
			return nil, nil, fail(release.ClassConfig, "cannot give secret %s to task %s: %s", name, a.task.ID, d.Reason)
		}
		if given[name], err = a.secret(name); err != nil {
			return nil, nil, err
		}
	}
	return given, withheld, nil
}

// guardSecrets makes the masks of what the attempt was given.
func (a *attempt) guardSecrets() (err error) {
	values := slices.Concat(slices.Collect(maps.Values(a.secrets)), slices.Collect(maps.Values(a.makers)))
	if len(values) == 0 {
		return nil
	}
	if a.masker, err = mask.New(values); err != nil {
		return classify(release.ClassConfig, err)
	}
	long := slices.DeleteFunc(values, func(value string) bool { return len(value) < minSearched })
	if len(long) > 0 {
		a.searched, err = mask.New(long)
	}
	return err
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
