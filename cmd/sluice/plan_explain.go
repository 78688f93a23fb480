package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/definition"
)

// explain prints every setting as the request resolves it, and where its value comes from.
func (o *planOptions) explain(def *definition.Definition, out io.Writer) error {
	origins, err := definition.Explain(def, o.request)
	if err != nil {
		return o.refused(out, o.placed(err))
	}
	for i := range origins {
		o.said(&origins[i])
	}
	if o.format == "json" {
		return printJSON(out, map[string]any{"settings": append([]definition.Origin{}, origins...)})
	}
	if len(origins) == 0 {
		_, err := fmt.Fprintln(out, "the definition has no settings")
		return err
	}
	w := tabwriter.NewWriter(out, 2, 8, 3, ' ', 0)
	for _, one := range origins {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", client.Line(one.Path), client.Line(one.Value), client.Line(one.From))
	}
	return w.Flush()
}

// said names the directive that a value comes from: to a request it is one more --set.
func (o *planOptions) said(origin *definition.Origin) {
	at := o.flagSets
	for _, c := range o.commands {
		for range c.Set {
			if at++; at == origin.Set {
				origin.Set, origin.File, origin.Line, origin.Column = 0, "comment", c.Line, c.Column
				origin.From = fmt.Sprintf("comment:%d:%d: %s", c.Line, c.Column, c)
				return
			}
		}
	}
}
