package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/drone/go-scm/scm"

	"github.com/sluiceci/sluice/pkg/fault"
)

// labStatus is the body of GitLab's "set the pipeline status of a commit".
type labStatus struct {
	State       string `json:"state"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	TargetURL   string `json:"target_url,omitempty"`
}

// setGitLab sends what go-scm would, and the description.
func (s StatusRequest) setGitLab(ctx context.Context, client *scm.Client, input *scm.StatusInput) error {
	body, err := json.Marshal(labStatus{State: labState(input.State), Name: input.Label, Description: input.Desc, TargetURL: input.Target})
	if err != nil {
		return fault.New(fault.Internal, "cannot set a status: %w", err)
	}
	// go-scm keeps "%2F" in a path as it is, which GitLab wants for the name of a project.
	response, err := client.Do(ctx, &scm.Request{
		Method: http.MethodPost, Path: "api/v4/projects/" + url.PathEscape(s.Repo) + "/statuses/" + string(s.Commit),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: bytes.NewReader(body),
	})
	if err != nil {
		return s.failed(nil, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	switch {
	case response.Status < 300:
		return nil
	case response.Status == http.StatusBadRequest && strings.Contains(string(text), "Cannot transition status"):
		return nil // it has this state already
	default:
		return s.failed(response, &scmError{message(text)})
	}
}

type scmError struct{ text string }

func (e *scmError) Error() string { return e.text }

// message is what GitLab's body says, which may be a text or an object of lists.
func message(body []byte) string {
	var said struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(said.Message, &text) == nil {
		return text
	}
	return firstOf(said.Error, string(said.Message))
}

// labState is an outcome in GitLab's words.
func labState(s scm.State) string {
	switch s {
	case scm.StatePending:
		return "pending"
	case scm.StateSuccess:
		return "success"
	case scm.StateCanceled:
		return "canceled"
	default:
		return "failed"
	}
}
