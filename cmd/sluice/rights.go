package main

import (
	"fmt"
	"io"

	"github.com/sluiceci/sluice/pkg/bus"
)

// printRights prints what a server allows each identity. What is not listed is denied.
func printRights(w io.Writer, asJSON bool, rights []bus.Rights) error {
	if asJSON {
		return printJSON(w, rights)
	}
	for i, r := range rights {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if r.Account == "" {
			fmt.Fprintln(w, r.Identity)
		} else {
			fmt.Fprintf(w, "%s, in the account %s\n", r.Identity, r.Account)
		}
		for _, part := range []struct {
			name     string
			subjects []string
		}{{"publish", r.Publish}, {"never publish", r.Deny}, {"subscribe", r.Subscribe}} {
			for _, s := range part.subjects {
				if _, err := fmt.Fprintf(w, "  %-13s  %s\n", part.name, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
