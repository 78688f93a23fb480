package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

const strictSecret = "webhook-secret-of-a-test"

// signedHub is a delivery as GitHub or Gitea signs it: over the body as it is sent, or over the JSON in a form.
func signedHub(forge string, body []byte, signed []byte, headers ...string) Request {
	mac := hmac.New(sha256.New, []byte(strictSecret))
	mac.Write(signed)
	sum := hex.EncodeToString(mac.Sum(nil))
	h := http.Header{}
	if forge == "gitea" {
		h.Set("X-Gitea-Event", "push")
		h.Set("X-Gitea-Signature", sum)
	} else {
		h.Set("X-GitHub-Event", "push")
		h.Set("X-Hub-Signature-256", "sha256="+sum)
	}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return Request{Header: h, Body: body, Secrets: []string{strictSecret}, Now: time.Now()}
}

// TestTheSignedBytesSayWhatTheyAre replays what a forge signed with headers that nobody signed.
func TestTheSignedBytesSayWhatTheyAre(t *testing.T) {
	const commit, evil = "1111111111111111111111111111111111111111", "6666666666666666666666666666666666666666"
	push := func(ref, id, message string) []byte {
		return []byte(`{"ref":"` + ref + `","after":"` + id + `","repository":{"full_name":"acme/one"},"head_commit":{"id":"` + id + `","message":"` + message + `"}}`)
	}
	const form = "application/x-www-form-urlencoded"
	hidden := push("refs/heads/topic", commit, "harmless &payload="+url.QueryEscape(string(push("refs/heads/master", evil, "x")))+"& text")
	asForm := func(text []byte) []byte { return []byte("payload=" + url.QueryEscape(string(text))) }
	topic := push("refs/heads/topic", commit, "m")
	for name, c := range map[string]struct {
		request Request
		forge   string
		want    string // the ref that is read, or part of the error
	}{
		"JSON sent again as a form": {signedHub("github", hidden, hidden, "Content-Type", form), "github", "refs/heads/topic"},
		"Gitea's, too":              {signedHub("gitea", hidden, hidden, "Content-Type", form), "gitea", "refs/heads/topic"},
		"a form":                    {signedHub("github", asForm(topic), asForm(topic), "Content-Type", form), "github", "refs/heads/topic"},
		"a form sent again as JSON": {signedHub("github", asForm(topic), asForm(topic), "Content-Type", "application/json"), "github", "refs/heads/topic"},
		"Gitea's form":              {signedHub("gitea", asForm(topic), topic, "Content-Type", form), "gitea", "refs/heads/topic"},
		"two fields":                {signedHub("github", append(asForm(topic), "&payload={}"...), append(asForm(topic), "&payload={}"...), "Content-Type", form), "github", "more than the one field"},
		"Gitea's with another field": {
			signedHub("gitea", append(asForm(topic), "&payload="+url.QueryEscape("{}")...), topic, "Content-Type", form), "gitea", "more than the one field",
		},
		"another field first": {signedHub("github", []byte("a=b&payload={}"), []byte("a=b&payload={}")), "github", "expected a JSON object or a form"},
		"a key twice": {signedHub("github", []byte(`{"ref":"refs/heads/topic","ref":"refs/heads/master"}`),
			[]byte(`{"ref":"refs/heads/topic","ref":"refs/heads/master"}`)), "github", `the key "ref" twice`},
		"a key twice in other letters": {signedHub("github", []byte(`{"ref":"a","re\u0066":"b"}`), []byte(`{"ref":"a","re\u0066":"b"}`)), "github", `the key "ref" twice`},
		"a key in another case":        {signedHub("github", []byte(`{"ref":"a","REF":"b"}`), []byte(`{"ref":"a","REF":"b"}`)), "github", `the key "ref" twice`},
		"a key twice within": {signedHub("github", []byte(`{"head_commit":{"id":"a","x":[{"id":1}],"id":"b"}}`),
			[]byte(`{"head_commit":{"id":"a","x":[{"id":1}],"id":"b"}}`)), "github", `the key "id" twice`},
		"a letter that Go folds": {signedHub("github", []byte(`{"deleted":1,"commitſ":1,"commits":2}`),
			[]byte(`{"deleted":1,"commitſ":1,"commits":2}`)), "github", `the key "commits" twice`},
		"two events": {signedHub("gitea", topic, topic, "X-GitHub-Event", "pull_request"), "gitea", `the events "push" and "pull_request"`},
		"a comment as a push": {signedHub("github", []byte(`{"action":"created","issue":{},"comment":{},"ref":"refs/heads/master"}`),
			[]byte(`{"action":"created","issue":{},"comment":{},"ref":"refs/heads/master"}`)), "github", "the body is of another event"},
		"a push as a pull request": {signedHub("github", topic, topic, "X-GitHub-Event", "pull_request"), "github", "the body is of another event"},
	} {
		parsed, err := Parse(c.forge, c.request)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v, expected %q", name, err, c.want)
			}
			continue
		}
		if parsed.Change.Ref != c.want || string(parsed.Change.Commit) == evil {
			t.Errorf("%s: %+v, expected %q", name, parsed.Change, c.want)
		}
	}
	twice := signedHub("github", topic, topic)
	twice.Header.Add("X-GitHub-Event", "ping")
	if _, err := Parse("github", twice); err == nil || !strings.Contains(err.Error(), "is there 2 times") {
		t.Errorf("two headers of one name: %v", err)
	}
}
