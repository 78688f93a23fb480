package executor

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/idtoken"
	"github.com/sluiceci/sluice/pkg/release"
)

// tokenTries is how often somebody who signs is looked for.
const tokenTries = 5

// findTokens asks the gateway for the identity tokens that the task wants. The executor has no key: it could pretend to run
// any task.
func (a *attempt) findTokens(ctx context.Context) (withheld []string, err error) {
	for _, wanted := range a.task.Tokens {
		if a.plan.Change.Verified == release.Local {
			withheld = append(withheld, "identity token "+wanted.Name+" is withheld: a run of a working directory gets none")
			continue
		}
		answer, err := a.askToken(ctx, wanted.Name)
		switch {
		case err != nil:
			return nil, classify(release.ClassConfig, err)
		case answer.Withheld != "":
			withheld = append(withheld, "identity token "+wanted.Name+" is withheld: "+answer.Withheld)
		default:
			a.secrets[wanted.Name] = answer.Token
		}
	}
	return withheld, nil
}

func (a *attempt) askToken(ctx context.Context, name string) (answer idtoken.Answer, err error) {
	q := idtoken.Question{Run: a.ref.Run, Task: a.ref.Task, Attempt: a.ref.Attempt, Executor: a.e.deps.Instance, Name: name}
	for try := range tokenTries {
		answer, err = bus.AskAs[idtoken.Question, idtoken.Answer](ctx, a.e.deps.Bus, idtoken.Topic, a.e.config.Pool, q)
		if !fault.Is(err, fault.Transient) || ctx.Err() != nil {
			return answer, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond << try):
		}
	}
	return answer, fault.New(fault.Transient, "cannot get identity token %s: no gateway that signs answered; look at gateway: id_tokens: in the installation's file: %w", name, err)
}
