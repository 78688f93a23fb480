package idtoken

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	// MaxLife is the longest that a token lives, however long its task may run.
	MaxLife = 24 * time.Hour
	// slack is what a token lives beyond the time of its task.
	slack = 5 * time.Minute
	// early is how far another clock may be behind.
	early = 5 * time.Second
)

// Claims are what a token says of a task, beside the registered claims.
type Claims struct {
	Project     string         `json:"project"` // as the installation names it
	Repo        string         `json:"repo"`
	Ref         string         `json:"ref"`      // "refs/heads/master"
	RefType     string         `json:"ref_type"` // branch, tag, or pull_request
	Commit      release.Commit `json:"commit"`
	Event       string         `json:"event"` // kind of change: push, tag, pull_request …
	Run         release.RunID  `json:"run"`
	Task        release.TaskID `json:"task"`
	Attempt     string         `json:"attempt"`
	Kind        string         `json:"kind"` // of task
	Environment string         `json:"environment,omitempty"`
	Pool        string         `json:"pool"`
	Trust       release.Trust  `json:"trust"`
}

// ClaimsOf are the claims of an attempt that runs in a pool, and that was let into a protected environment or into none.
func ClaimsOf(p *plan.Plan, t *plan.Task, ref event.AttemptRef, pool, environment string) Claims {
	c := p.Change
	trust := p.Trust
	if !trust.Valid() {
		trust = release.TrustUntrusted
	}
	return Claims{
		Project: c.Project, Repo: c.Repo, Ref: c.Ref, RefType: refType(c), Commit: c.Commit, Event: string(c.Kind),
		Run: ref.Run, Task: t.ID, Attempt: strconv.Itoa(int(ref.Attempt)), Kind: string(t.Kind),
		Environment: environment, Pool: pool, Trust: trust,
	}
}

func refType(c release.Change) string {
	switch {
	case c.Kind == release.PullRequest || c.Number > 0:
		return "pull_request"
	case strings.HasPrefix(c.Ref, "refs/heads/"):
		return "branch"
	case strings.HasPrefix(c.Ref, "refs/tags/"):
		return "tag"
	default:
		return "other"
	}
}

// Subject is "project:NAME:ref_type:TYPE:ref:REF", with the short name of a branch or tag and the full ref of anything else.
// A ref holds no colon, so that no part can be taken for another.
func (c Claims) Subject() string {
	ref := c.Ref
	switch c.RefType {
	case "branch":
		ref = strings.TrimPrefix(ref, "refs/heads/")
	case "tag":
		ref = strings.TrimPrefix(ref, "refs/tags/")
	}
	return strings.Join([]string{"project", c.Project, "ref_type", c.RefType, "ref", ref}, ":")
}

// Life is how long a token of a task lives.
func Life(t *plan.Task) time.Duration {
	command := max(t.Timeouts.Command.Std(), time.Duration(t.TimeoutS*float64(time.Second)))
	if command <= 0 {
		command = time.Hour
	}
	return min(t.Timeouts.Prepare.Std()+command+t.Timeouts.Cleanup.Std()+slack, MaxLife)
}

// Issuer signs tokens.
type Issuer struct {
	URL  string // without a slash at its end
	Keys *Keys
}

// Sign makes a token for an audience.
func (i Issuer) Sign(c Claims, audience []string, id string, now time.Time, life time.Duration) (string, error) {
	_, signs, err := i.Keys.current(now)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: signs.private, KeyID: signs.id}},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fault.New(fault.Internal, "cannot sign an identity token: %w", err)
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: i.URL, Subject: c.Subject(), Audience: audience, ID: id,
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now.Add(-early)), Expiry: jwt.NewNumericDate(now.Add(life)),
	}).Claims(c).Serialize()
}
