package planner

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// conversation is one plan with one process. The clock runs while the process computes, and stands while the host is asked.
type conversation struct {
	process *process
	host    Host
	left    time.Duration
	timeout time.Duration
	failed  error // of the host, as it was
}

// plan returns, beside the outcome, whether the process is fit for another plan.
func (c *conversation) plan(ctx context.Context, job Job) (Outcome, bool, error) {
	next := message{Job: &job}
	for {
		said, err := c.exchange(ctx, next)
		switch {
		case err != nil:
			return Outcome{}, false, err
		case said.End != nil:
			outcome, err := c.judge(job, said.End)
			return outcome, true, err
		case said.Ask == nil:
			return Outcome{}, false, &died{"it said nothing that a plan says"}
		}
		next = c.answer(ctx, *said.Ask)
		if ctx.Err() != nil {
			return Outcome{}, false, ctx.Err()
		}
	}
}

// exchange says something to the process and hears what it says to that, before the plan's time is over.
func (c *conversation) exchange(ctx context.Context, say message) (message, error) {
	began := time.Now()
	timer := time.NewTimer(c.left)
	defer timer.Stop()
	result := make(chan heard, 1)
	go func() { result <- c.process.exchange(say) }()
	select {
	case got := <-result:
		c.left = max(0, c.left-time.Since(began))
		return got.message, got.err
	case <-timer.C:
		return message{}, stopped("the definition takes more than %s to plan; a template, a condition or a glob in it does not end", c.timeout)
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}

func (c *conversation) answer(ctx context.Context, a ask) (m message) {
	var err error
	switch a.What {
	case "glob":
		m.Names, err = c.host.Glob(ctx, a.Repo, a.Name)
	case "read":
		m.Text, err = c.host.Read(ctx, a.Repo, a.Name, a.Limit)
	case "request":
		request, failed := c.host.Request(ctx)
		m.Request, err = &request, failed
	case "answers":
		m.Answers, err = c.host.Answers(ctx, a.Questions)
	default:
		err = fault.New(fault.Invalid, "cannot answer %.40q", a.What)
	}
	if err != nil {
		c.failed = err
		return message{Failed: failureOf(err)}
	}
	return m
}

// judge is what a job came to. What the host failed with comes back as it was. An outcome that does not answer the job is an error.
func (c *conversation) judge(job Job, e *end) (Outcome, error) {
	switch {
	case len(e.Problems) > 0:
		return Outcome{}, e.Problems
	case e.Failed != nil && c.failed != nil:
		return Outcome{}, c.failed
	case e.Failed != nil:
		return Outcome{}, e.Failed.err()
	case e.Outcome.Ignored == "" && e.Outcome.Starts != job.Rules, e.Outcome.Ignored == "" && (e.Outcome.Plan == nil) != job.Rules:
		return Outcome{}, stopped("the process that plans gave neither a plan nor a reason")
	}
	return e.Outcome, nil
}
