package forge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
)

type issue = forgetest.Issue

// TestAnIssueIsOpenedOnce opens an issue whose first answer is lost, among many others, and changes it.
func TestAnIssueIsOpenedOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitea", "gitlab"} {
		f, a := api(t, name)
		f.Mute(true)
		if _, err := a.OpenIssue(t.Context(), "k1", "It fails", "Look.\n", []string{"bug", "P0"}); name != "gitea" && !fault.Is(err, fault.Transient) {
			t.Fatalf("%s: %v", name, err)
		}
		f.Mute(false)
		for i := range 60 {
			if _, err := a.OpenIssue(t.Context(), fmt.Sprint("other-", i), "Another", "x", nil); err != nil {
				t.Fatal(name, err)
			}
		}
		one, err := a.OpenIssue(t.Context(), "k1", "It fails", "Look.\n", []string{"bug", "P0"})
		if err != nil || !one.Open || !strings.HasSuffix(one.URL, fmt.Sprint("/issues/", one.Number)) {
			t.Fatalf("%s: %+v, %v", name, one, err)
		}
		for range 2 {
			for _, err := range []error{
				a.LabelIssue(t.Context(), one.Number, []string{"jailed", "bug"}), a.PostOnIssue(t.Context(), one.Number, "c1", "Still.\n"),
				a.SetIssue(t.Context(), one.Number, false),
			} {
				if err != nil {
					t.Fatal(name, err)
				}
			}
		}
		all := f.Issues()
		at := slices.IndexFunc(all, func(i issue) bool { return i.Number == int(one.Number) })
		if got := all[at]; len(all) != 61 || got.Open || got.Body != "Look.\n\n<!-- sluice:issue k1 -->" || len(got.Labels) != 3 || got.Title != "It fails" {
			t.Errorf("%s: of %d issues it is %+v", name, len(all), got)
		}
		if got := f.Comments(int(one.Number)); len(got) != 1 || !strings.HasPrefix(got[0], "Still.") {
			t.Errorf("%s: the comments are %q", name, got)
		}
		if got, err := a.Issue(t.Context(), one.Number); err != nil || got.Open {
			t.Errorf("%s: closed it is %+v, %v", name, got, err)
		}
		if err := a.SetIssue(t.Context(), one.Number, true); err != nil || !f.Issues()[at].Open {
			t.Errorf("%s: it is not open again: %v", name, err)
		}
		if err := a.SetIssue(t.Context(), 7, true); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: an issue that is not there gives %v", name, err)
		}
		if _, err := a.OpenIssue(t.Context(), "not a key", "x", "x", nil); !fault.Is(err, fault.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
