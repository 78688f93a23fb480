package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
)

func tokensCommand() *cobra.Command {
	return family("tokens", "Create, list and revoke API tokens", tokensCreateCommand(), tokensListCommand(), tokensRevokeCommand())
}

func tokensCreateCommand() *cobra.Command {
	var role string
	var projects []string
	var expires time.Duration
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token with at most your own role, and print it once",
		Args:  arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&role, "role", "viewer", "viewer, developer, maintainer or operator")
	c.Flags().StringSliceVar(&projects, "project", nil, "projects in which the token has the role (default all)")
	c.Flags().DurationVar(&expires, "expires", 90*24*time.Hour, "lifetime; at most a year, and no longer than that of the creating token")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		if len(projects) == 0 {
			projects = []string{"*"}
		}
		wanted := client.NewToken{Name: args[0], Grants: []event.RoleGrant{{Role: role, Projects: projects}}}
		if c.Flags().Changed("expires") {
			wanted.Expires = time.Now().Add(expires)
		}
		made, err := s.CreateToken(ctx, wanted)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, made)
		}
		fmt.Fprintf(s.talk, "Token %s. It is shown only now; revoke it with: sluice tokens revoke %s\n", client.Line(made.ID), client.Line(made.ID))
		_, err = fmt.Fprintln(s.out, client.Line(made.Token))
		return err
	})
}

func tokensListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List your tokens and sessions; operators see everybody's", Args: arguments(cobra.NoArgs),
	}
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		tokens, err := s.Tokens(ctx)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, map[string]any{"tokens": tokens})
		}
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tKIND\tNAME\tOWNER\tSTATE\tEXPIRES\tLAST USE\tROLES")
		for _, t := range tokens {
			var roles []string
			for _, g := range t.Grants {
				roles = append(roles, g.Role+" of "+strings.Join(g.Projects, ", "))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", client.Line(t.ID), client.Line(t.Kind), client.Line(t.Name), client.Line(t.Owner),
				client.Line(t.State), t.Expires.UTC().Format(time.DateOnly), client.Line(t.Used), client.Line(strings.Join(roles, "; ")))
		}
		return w.Flush()
	})
}

func tokensRevokeCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token or session at once", Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason to record")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		if err := s.RevokeToken(ctx, args[0], reason); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.talk, "Token %s is revoked.\n", client.Line(args[0]))
		return err
	})
}

func auditCommand() *cobra.Command {
	var q client.AuditQuery
	c := &cobra.Command{
		Use: "audit", Short: "List what people did: who, how they were authenticated, from where", Args: arguments(cobra.NoArgs),
	}
	c.Flags().StringVar(&q.Who, "who", "", "only this person: a name, or a subject such as oidc:4711")
	c.Flags().StringVar(&q.Run, "run", "", "on one run")
	c.Flags().StringVar(&q.Project, "project", "", "only runs of this project")
	c.Flags().Uint64Var(&q.Before, "before", 0, "page: \"next\" of the previous page")
	c.Flags().IntVar(&q.Limit, "limit", 50, "maximum number of entries")
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		page, err := s.Audit(ctx, q)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, page)
		}
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		for _, a := range page.Acts {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", a.At.UTC().Format(time.RFC3339), client.Line(a.Who), client.Line(a.Method),
				client.Line(a.Remote), client.Line(string(a.Run)), client.Line(a.Line))
		}
		if page.Next != 0 {
			fmt.Fprintf(s.talk, "Older: sluice audit --before %d\n", page.Next)
		}
		return w.Flush()
	})
}
