package view

import (
	"cmp"
	"fmt"
	"io"

	"github.com/sluiceci/sluice/pkg/client"
)

// Rehearsal prints what a publication would do, target by target in the order of commits.
func Rehearsal(w io.Writer, s Style, r client.Rehearsal) error {
	p := &page{style: s}
	p.line("%s  candidate %s", s.paint(bold, safe(r.Run)), safe(r.Candidate))
	if r.Refused != "" {
		p.wrapped("  ", s.paint(bad, "✗ ")+safe(r.Refused))
	}
	t := table{indent: 2, columns: []column{{head: "TARGET", least: 8}, {head: "KIND", least: 4}, {head: "FILE", least: 12}, {head: "WOULD", least: 20, wraps: true}}}
	for _, target := range r.Targets {
		if target.Fault != "" {
			t.row(cell{safe(target.Target), plain}, cell{safe(target.Kind), faint}, cell{"", plain},
				cell{fmt.Sprintf("✗ fail (%s): %s", safe(target.Fault), safe(target.Reason)), bad})
			continue
		}
		for i, f := range target.Files {
			name, kind := "", ""
			if i == 0 {
				name, kind = safe(target.Target), safe(target.Kind)
			}
			would := cell{"✓ publish " + safe(f.Digest), good}
			switch {
			case f.Present:
				would = cell{"○ leave it: the same bytes are there", faint}
			case f.Before != "":
				would = cell{fmt.Sprintf("✓ move from %s to %s", safe(f.Before), safe(f.Digest)), warn}
			}
			t.row(cell{name, plain}, cell{kind, faint}, cell{safe(f.Name), plain}, would)
		}
	}
	p.table(t)
	p.line("%s", cmp.Or(map[bool]string{true: "Nothing was published: this was a dry run."}[r.OK()], "Nothing was published, and nothing could be as it is."))
	_, err := io.WriteString(w, p.String())
	return err
}
