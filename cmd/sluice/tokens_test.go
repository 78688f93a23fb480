package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
)

// tokensAndAudit makes a token with the command line, acts with it, revokes it, and finds all of that in the audit.
func (v *vault) tokensAndAudit(t *testing.T) {
	made := v.sluice("ADA_TOKEN", "tokens", "create", "nightly", "--role", "developer", "--project", "one")
	secret := strings.TrimSpace(made.out)
	_, id, _ := strings.Cut(made.talk, "Token ")
	id, _, _ = strings.Cut(id, ".")
	if made.code != 0 || secret == "" || id == "" || strings.Contains(made.talk, secret) {
		t.Fatalf("create: exit %d\n%s%s", made.code, made.out, made.talk)
	}
	with := func(token string, args ...string) ran {
		t.Setenv("SLUICE_SERVER", v.in.PublicURL)
		t.Setenv("SLUICE_TOKEN", token)
		return sluice(t, args...)
	}
	if got := with(secret, "tokens", "list"); got.code != 0 || !strings.Contains(got.out, "nightly") || !strings.Contains(got.out, "developer of one") {
		t.Errorf("list: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	if got := with(secret, "tokens", "create", "more", "--role", "maintainer"); got.code == 0 || strings.TrimSpace(got.out) != "" {
		t.Errorf("a token that gives more than its maker has: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	if got := with(secret, "audit"); got.code == 0 {
		t.Errorf("a developer reads the audit:\n%s", got.out)
	}
	if got := v.sluice("ADA_TOKEN", "tokens", "revoke", id, "--reason", "left on a train"); got.code != 0 {
		t.Fatalf("revoke: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	if got := with(secret, "tokens", "list"); got.code == 0 || strings.Contains(got.out, "nightly") {
		t.Errorf("a revoked token still works: exit %d\n%s", got.code, got.out)
	}
	var page client.AuditPage
	found := map[string]bool{}
	for end := time.Now().Add(time.Minute); len(found) < 2 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // the reporter reads facts
		audit := v.sluice("ADA_TOKEN", "audit", "--json")
		if err := json.Unmarshal([]byte(audit.out), &page); audit.code != 0 || err != nil {
			t.Fatalf("audit: exit %d, %v\n%s%s", audit.code, err, audit.out, audit.talk)
		}
		for _, act := range page.Acts {
			if strings.Contains(act.Line, "(nightly)") || strings.Contains(act.Line, "left on a train") {
				found[act.Line] = act.Who == "ada" && act.Method == "token" && strings.HasPrefix(act.Remote, "127.0.0.1")
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("the audit has %v of the creation and the revocation: %+v", found, page.Acts)
	}
	for line, whole := range found {
		if !whole {
			t.Errorf("the audit does not say who, how and from where: %s", line)
		}
	}
	if text := v.sluice("ADA_TOKEN", "audit", "--who", "ada"); text.code != 0 || !strings.Contains(text.out, "left on a train") {
		t.Errorf("audit of a person: exit %d\n%s%s", text.code, text.out, text.talk)
	}
	if text := v.sluice("ADA_TOKEN", "audit", "--who", "nobody"); text.code != 0 || strings.Contains(text.out, "train") {
		t.Errorf("audit of somebody else: exit %d\n%s%s", text.code, text.out, text.talk)
	}
}
