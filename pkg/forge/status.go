package forge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/drone/go-scm/scm"
	"github.com/drone/go-scm/scm/driver/gitea"
	"github.com/drone/go-scm/scm/driver/github"
	"github.com/drone/go-scm/scm/driver/gitlab"
	"github.com/drone/go-scm/scm/transport"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Pending is the state of a commit whose run has not ended. The other states are the outcomes of a run.
const Pending release.Outcome = "pending"

// maxDescription is what GitHub takes, in characters.
const maxDescription = 140

// StatusRequest asks for one status of a commit. A status replaces the one before it of the same context.
type StatusRequest struct {
	Forge       string // "github", "gitlab", "gitea"
	BaseURL     string // of the API: "https://api.github.com", "https://gitlab.com", "https://gitea.example.org"
	Token       string
	Repo        string // "owner/name"
	Commit      release.Commit
	State       release.Outcome // or Pending
	Context     string          // "sluice", "sluice/gate"
	Description string          // the first 140 characters are kept
	TargetURL   string          // the run's page
	Client      *http.Client    // for tests; nil is a client with a deadline of its own
}

var repoPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)

// SetStatus sets the status of a commit. Setting it again is harmless. Errors are Denied when the token may not, Invalid
// when the forge knows no such repository or commit, Transient when it may work later.
func SetStatus(ctx context.Context, s StatusRequest) error {
	if err := s.validate(); err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	input := &scm.StatusInput{
		State: s.state(), Label: s.Context, Desc: clip(s.Description, maxDescription), Target: s.TargetURL,
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var response *scm.Response
	if s.Forge == "gitlab" {
		return s.setGitLab(ctx, client, input)
	}
	_, response, err = client.Repositories.CreateStatus(ctx, s.Repo, string(s.Commit), input)
	if err == nil || response == nil {
		return s.failed(response, err)
	}
	if s.Forge == "gitea" && response.Status == http.StatusInternalServerError && s.unknown(ctx, client) {
		return fault.New(fault.Invalid, "cannot set the status of commit %s: %s does not know it in %s", s.Commit.Short(), s.BaseURL, s.Repo)
	}
	return s.failed(response, err)
}

func (s StatusRequest) validate() error {
	if err := s.reachable(); err != nil {
		return fault.New(fault.Invalid, "cannot set a status: %w", err)
	}
	switch {
	case !s.Commit.Valid():
		return fault.New(fault.Invalid, "cannot set a status: commit is %q, expected 40 hexadecimal digits", clip(string(s.Commit), 70))
	case s.Context == "":
		return fault.New(fault.Invalid, "cannot set a status: its context is empty, expected a name such as \"sluice\"")
	}
	return nil
}

// reachable checks where the forge and the repository are said to be.
func (s StatusRequest) reachable() error {
	base, err := url.Parse(s.BaseURL)
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil:
		return fmt.Errorf("the forge's API is %q, expected a URL such as \"https://api.github.com\"", redactUser(s.BaseURL))
	case !repoPattern.MatchString(s.Repo) || strings.Contains(s.Repo, ".."):
		return fmt.Errorf("the repository is %q, expected \"owner/name\"", clip(s.Repo, 100))
	}
	return nil
}

// client is go-scm's for the forge.
func (s StatusRequest) client() (*scm.Client, error) {
	base := s.Client
	if base == nil {
		base = &http.Client{}
	}
	authorised := *base
	authorised.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect would turn the POST into a GET, and show the token to another host
	}
	authorised.Transport = &transport.BearerToken{Base: short{base.Transport}, Token: s.Token}
	var client *scm.Client
	var err error
	switch s.Forge {
	case "gitlab":
		authorised.Transport = &transport.PrivateToken{Base: short{base.Transport}, Token: s.Token}
		client, err = gitlab.New(s.BaseURL)
	case "gitea":
		client, err = gitea.New(s.BaseURL)
	case "github":
		client, err = github.New(s.BaseURL)
	default:
		_, err = find(s.Forge)
	}
	if err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	client.Client = &authorised
	return client, nil
}

// short cuts answers that go on for ever: go-scm reads them to their end.
type short struct{ base http.RoundTripper }

func (t short) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	response, err := base.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, 16<<20), response.Body}
	}
	return response, err
}

// state is the outcome in go-scm's words; its drivers know the forges'.
func (s StatusRequest) state() scm.State {
	switch s.State {
	case Pending:
		return scm.StatePending
	case release.Success:
		return scm.StateSuccess
	case release.Failure:
		return scm.StateFailure
	case release.Cancelled:
		return scm.StateCanceled
	default:
		return scm.StateError
	}
}

// unknown asks Gitea, which answers a status of an unknown commit with 500, whether that is what is the matter.
func (s StatusRequest) unknown(ctx context.Context, client *scm.Client) bool {
	_, response, err := client.Git.FindCommit(ctx, s.Repo, string(s.Commit))
	return err != nil && response != nil && response.Status == http.StatusNotFound
}
