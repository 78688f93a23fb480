package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// as sends a request with a token; the body is none for GET.
func (w *world) as(token, method, path, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	must(w.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := http.DefaultClient.Do(r)
	must(w.t, err)
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	must(w.t, err)
	return got.StatusCode, string(text)
}

const (
	operator   = "t0ken"  // ada
	developer  = "oth3r"  // bob, of widget only
	maintainer = "s3cr3t" // ines, of widget only
)

// shared is a gateway of two projects. Two people have roles in the first only.
func shared(t *testing.T) *world {
	t.Helper()
	vault := Project{Name: "vault", Forge: "gitea", Repo: "acme/vault", CloneURL: "https://git.test/acme/vault.git"}
	return newWorld(t, Config{Projects: []Project{widget(), vault}, Tokens: []access.Static{
		{Owner: "ada", Secret: "token"},
		{Owner: "bob", Secret: "other", Role: access.Developer, Projects: []string{"widget"}},
		{Owner: "ines", Secret: "hook", Role: access.Maintainer, Projects: []string{"widget"}},
	}}, remote{"refs/heads/master": numbered(1)}, bus.Options{})
}

// started is a run of a project, of which everything has been said that an action needs.
func (w *world) started(project string) release.RunID {
	w.t.Helper()
	change := release.Change{Kind: release.Push, Project: project, Repo: "acme/" + project, Commit: numbered(1), Ref: "refs/heads/master", Branch: "master"}
	run := release.RunID("run-" + project)
	for _, p := range []event.Payload{
		event.ChangeReceived{Change: change},
		event.RunPlanned{Change: change, Targets: []event.TargetName{{Name: "pypi"}}},
		event.RunPermissionRequested{Reason: "a stranger"},
		event.CandidateAssembled{Candidate: release.DigestOf([]byte("x"))},
	} {
		must(w.t, w.bus.Publish(w.t.Context(), event.Root(run, "/test", time.Now(), p)))
	}
	return run
}

// TestAnotherProjectIsNotThere acts on a project without a role in it, by every way that there is. Nothing is stored, and no answer
// tells that the project is there.
func TestAnotherProjectIsNotThere(t *testing.T) {
	t.Parallel()
	w := shared(t)
	w.started("widget")
	run := string(w.started("vault"))
	w.publish(event.TestMoved{Project: "vault", Test: "soak", Number: 1, From: "passing", To: "jailed"},
		event.BisectRequested{Bisect: "abcdef0123", Project: "vault", Test: "soak", Task: "soak", Good: numbered(1), Bad: numbered(2)})
	before := len(w.facts())
	commits := fmt.Sprintf(`"good": %q, "bad": %q, "task": "soak"`, numbered(1), numbered(2))
	for _, c := range [][2]string{
		{"/api/v1/runs", `{"project": "%s", "branch": "master"}`},
		{"/api/v1/tests/jail", `{"project": "%s", "test": "soak", "owner": "x"}`},
		{"/api/v1/tests/free", `{"project": "%s", "test": "soak"}`},
		{"/api/v1/bisects", `{"project": "%s", ` + commits + `}`},
	} {
		hidden, text := w.as(maintainer, "POST", c[0], fmt.Sprintf(c[1], "vault"))
		absent, other := w.as(maintainer, "POST", c[0], fmt.Sprintf(c[1], "nosuch"))
		if hidden != http.StatusNotFound || absent != hidden || strings.ReplaceAll(text, "vault", "nosuch") != other {
			t.Errorf("%s of a hidden project: %d %s; of none: %d %s", c[0], hidden, text, absent, other)
		}
		if strings.Contains(other, "vault") {
			t.Errorf("%s names a hidden project: %s", c[0], other)
		}
	}
	for _, action := range []string{"cancel", "retry", "approve", "hold", "permit", "resume"} {
		hidden, text := w.as(maintainer, "POST", "/api/v1/runs/"+run+"/"+action, `{}`)
		absent, other := w.as(maintainer, "POST", "/api/v1/runs/nosuch/"+action, `{}`)
		if hidden != http.StatusNotFound || absent != hidden || strings.ReplaceAll(text, run, "nosuch") != other {
			t.Errorf("%s of a hidden run: %d %s; of none: %d %s", action, hidden, text, absent, other)
		}
	}
	if code, text := w.as(maintainer, "POST", "/api/v1/bisects/abcdef/stop", `{}`); code != http.StatusNotFound || strings.Contains(text, "vault") {
		t.Errorf("stopping a bisection of a hidden project: %d %s", code, text)
	}
	for _, c := range [][2]string{
		{"/api/v1/pools/default/drain", `{}`},
		{"/api/v1/places/lab/rack-1/drain", `{}`},
		{"/api/v1/places/lab/rack-1/release", `{}`},
		{"/api/v1/limits", `{"of": "group", "name": "x", "amount": 1}`},
		{"/api/v1/deadletters/1/replay", `{}`},
	} {
		if code, text := w.as(maintainer, "POST", c[0], c[1]); code != http.StatusForbidden {
			t.Errorf("%s by the maintainer of one project: %d %s", c[0], code, text)
		}
	}
	for _, path := range []string{"/api/v1/tests", "/api/v1/tests?project=vault", "/api/v1/bisects"} {
		if code, text := w.as(maintainer, "GET", path, ""); code != http.StatusOK || strings.Contains(text, "vault") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if after := w.facts(); len(after) != before {
		t.Errorf("something was stored: %s", after[len(after)-1].Describe())
	}
}

// TestRolesWithinAProject: what a developer may not do in their own project.
func TestRolesWithinAProject(t *testing.T) {
	t.Parallel()
	w := shared(t)
	run := "/api/v1/runs/" + string(w.started("widget"))
	for path, roles := range map[string][2]int{ // answers to the developer and to the maintainer; a run with a plan waits for no permission
		run + "/hold": {202, 202}, run + "/resume": {403, 202}, run + "/permit": {403, 409}, run + "/approve": {403, 202}, run + "/cancel": {202, 202},
	} {
		for i, token := range []string{developer, maintainer} {
			if code, text := w.as(token, "POST", path, `{}`); code != roles[i] {
				t.Errorf("%s with %s: %d %s, want %d", path, token, code, text, roles[i])
			}
		}
	}
	jail := `{"project": "widget", "test": "soak", "owner": "x"}`
	for token, want := range map[string]int{developer: 403, maintainer: 202} {
		if code, text := w.as(token, "POST", "/api/v1/tests/jail", jail); code != want {
			t.Errorf("jailing with %s: %d %s, want %d", token, code, text, want)
		}
	}
}

// TestSameNameIsNotTheSamePerson: a key that somebody of the same name used gives nobody their answer.
func TestSameNameIsNotTheSamePerson(t *testing.T) {
	t.Parallel()
	w := shared(t)
	mine := w.do("/api/v1/runs", `{"project": "vault", "branch": "master"}`, "key")
	if mine.code != http.StatusAccepted {
		t.Fatalf("ada starts a run: %d %s", mine.code, mine.text)
	}
	text, fact := access.Mint(event.TokenCreated{
		Kind: event.TokenOfAPI, Subject: "gitea:ada", Owner: "ada", Grants: []event.RoleGrant{{Role: "developer", Projects: []string{"widget"}}},
	})
	w.publish(fact)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/v1/runs", strings.NewReader(`{"project": "vault", "branch": "master"}`))
	must(t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + text}, "Idempotency-Key": {"key"}}
	got, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = got.Body.Close() }()
	if said, _ := io.ReadAll(got.Body); got.StatusCode != http.StatusNotFound || strings.Contains(string(said), string(mine.Run)) {
		t.Errorf("another ada is answered %d %s", got.StatusCode, said)
	}
}

// made is the answer to a request for a token.
type made struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

func (w *world) mint(with, body string) (int, made, string) {
	w.t.Helper()
	code, text := w.as(with, "POST", "/api/v1/tokens", body)
	var m made
	must(w.t, json.Unmarshal([]byte(text), &m))
	return code, m, text
}

func (w *world) tokensOf(with string) map[string]TokenStatus {
	w.t.Helper()
	code, text := w.as(with, "GET", "/api/v1/tokens", "")
	var all struct{ Tokens []TokenStatus }
	must(w.t, json.Unmarshal([]byte(text), &all))
	if code != http.StatusOK || strings.Contains(text, "slc_") {
		w.t.Fatalf("the list of tokens: %d %s", code, text)
	}
	out := map[string]TokenStatus{}
	for _, one := range all.Tokens {
		out[one.Token] = one
	}
	return out
}

// TestTokensAreMadeListedAndRevoked goes a token's whole way.
func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	w := shared(t)
	code, nightly, text := w.mint(developer, `{"name": "nightly", "grants": [{"role": "developer", "projects": ["widget"]}]}`)
	if code != http.StatusAccepted || !strings.HasPrefix(nightly.Token, "slc_"+nightly.ID) {
		t.Fatalf("a token is made: %d %s", code, text)
	}
	if code, text := w.as(nightly.Token, "POST", "/api/v1/runs", `{"project": "widget", "branch": "master"}`); code != http.StatusAccepted {
		t.Errorf("it starts a run: %d %s", code, text)
	}
	s := w.tokensOf(developer)[nightly.ID]
	if s.State != "valid" || s.Name != "nightly" || s.Owner != "bob" || s.Subject != "token:bob" || s.Used == "" || s.Expires.Before(time.Now()) {
		t.Errorf("it is listed as %+v", s)
	}
	if len(w.tokensOf(maintainer)) != 0 || len(w.tokensOf(operator)) != 1 {
		t.Error("others see it, or its operator does not")
	}
	if code, text := w.as(maintainer, "POST", "/api/v1/tokens/"+nightly.ID+"/revoke", `{}`); code != http.StatusNotFound {
		t.Errorf("somebody else revokes it: %d %s", code, text)
	}
	if code, text := w.as(developer, "POST", "/api/v1/tokens/"+nightly.ID+"/revoke", `{"reason": "it leaked"}`); code != http.StatusAccepted {
		t.Errorf("its owner revokes it: %d %s", code, text)
	}
	if code, _ := w.as(nightly.Token, "GET", "/api/v1/tests", ""); code != http.StatusUnauthorized {
		t.Errorf("after that it is answered %d", code)
	}
	if s := w.tokensOf(operator)[nightly.ID]; s.State != "revoked" || s.By != "bob" {
		t.Errorf("then it is listed as %+v", s)
	}
}

// TestTokensGiveNoMoreThanTheirMakerHas: neither in rights nor in time, and a token that leaks ends none that can do more.
func TestTokensGiveNoMoreThanTheirMakerHas(t *testing.T) {
	t.Parallel()
	w := shared(t)
	for body, want := range map[string]int{
		`{"name": "x", "grants": [{"role": "maintainer", "projects": ["widget"]}]}`:                                403,
		`{"name": "x", "grants": [{"role": "viewer", "projects": ["vault"]}]}`:                                     403,
		`{"name": "x", "grants": [{"role": "viewer", "projects": ["*"]}]}`:                                         403,
		`{"name": "x", "grants": [{"role": "viewer", "projects": ["widge?"]}]}`:                                    403,
		`{"name": "x", "grants": [{"role": "viewer", "projects": ["widget", "vault"]}]}`:                           403,
		`{"name": "x", "grants": [{"role": "viewer", "projects": []}]}`:                                            403,
		`{"name": "x", "grants": [{"role": "none", "projects": ["widget"]}]}`:                                      400,
		`{"name": "x", "grants": []}`:                                                                              400,
		`{"grants": [{"role": "viewer", "projects": ["widget"]}]}`:                                                 400,
		`{"name": "x", "expires": "2020-01-01T00:00:00Z", "grants": [{"role": "viewer", "projects": ["widget"]}]}`: 400,
		`{"name": "x", "expires": "2999-01-01T00:00:00Z", "grants": [{"role": "viewer", "projects": ["widget"]}]}`: 400,
		`{"name": "x\u001b[31m", "grants": [{"role": "viewer", "projects": ["widget"]}]}`:                          400,
		`{"name": "x", "subject": "token:ada", "grants": [{"role": "viewer", "projects": ["widget"]}]}`:            400,
	} {
		if code, _, text := w.mint(developer, body); code != want {
			t.Errorf("%s: %d %s, want %d", body, code, text, want)
		}
	}
	soon := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	_, strong, _ := w.mint(operator, `{"name": "strong", "grants": [{"role": "operator", "projects": ["*"]}]}`)
	_, weak, _ := w.mint(operator, fmt.Sprintf(`{"name": "weak", "expires": %q, "grants": [{"role": "viewer", "projects": ["widget"]}]}`, soon.Format(time.RFC3339)))
	if code, text := w.as(weak.Token, "POST", "/api/v1/tokens/"+strong.ID+"/revoke", `{}`); code != http.StatusNotFound {
		t.Errorf("a weak token of the same person revokes a strong one: %d %s", code, text)
	}
	if seen := w.tokensOf(weak.Token); len(seen) != 1 || seen[weak.ID].Token == "" {
		t.Errorf("a weak token sees %v", seen)
	}
	viewer := `{"name": "child", %s"grants": [{"role": "viewer", "projects": ["widget"]}]}`
	code, child, text := w.mint(weak.Token, fmt.Sprintf(viewer, ""))
	if code != http.StatusAccepted || !w.tokensOf(operator)[child.ID].Expires.Equal(soon) {
		t.Fatalf("a token of a token: %d %s, expected one that ends with it", code, text)
	}
	if code, _, text := w.mint(weak.Token, fmt.Sprintf(viewer, `"expires": "`+soon.Add(time.Minute).Format(time.RFC3339)+`", `)); code != http.StatusBadRequest {
		t.Errorf("a token that outlives the one that makes it: %d %s", code, text)
	}
	if code, text := w.as(operator, "POST", "/api/v1/tokens/"+weak.ID+"/revoke", `{}`); code != http.StatusAccepted {
		t.Errorf("an operator revokes: %d %s", code, text)
	}
	if code, _ := w.as(child.Token, "GET", "/api/v1/tests", ""); code != http.StatusUnauthorized {
		t.Errorf("what a revoked token made is answered %d", code)
	}
}
