package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/report"
)

// measure runs the command: once, or once for each variant that no earlier attempt has measured, in order. A variant that
// fails does not keep the others from being measured; what the platform does, and the end of the time, do.
func (a *attempt) measure(ctx context.Context) error {
	if len(a.task.Variants) == 0 {
		return a.once(ctx, nil)
	}
	var first error
	for i, v := range a.task.Variants {
		if slices.Contains(a.data.Measured, v.Name) {
			a.log.note("variant " + v.Name + " was measured by an earlier attempt")
			a.result.Measured = append(a.result.Measured, v.Name)
			continue
		}
		if ctx.Err() != nil {
			return orElse(first, fmt.Errorf("no time was left for variant %s: %w", v.Name, context.Cause(ctx)))
		}
		err := a.variant(ctx, i, v)
		if err == nil {
			a.result.Measured = append(a.result.Measured, v.Name)
			continue
		}
		a.log.note(fmt.Sprintf("variant %s: %s", v.Name, err))
		first = orElse(first, &failure{classOf(err), fmt.Errorf("variant %s: %w", v.Name, err)})
		if class := classOf(err); ctx.Err() != nil || class.Outcome() != release.Failure && class != release.ClassUnknown {
			return orCause(ctx, first)
		}
	}
	if first != nil {
		return &failure{classOf(first), fmt.Errorf("%w; %d of %d variants are measured", first, len(a.result.Measured), len(a.task.Variants))}
	}
	return nil
}

// variant makes one measurement: the command with the variant's variables, and then what its reports say.
func (a *attempt) variant(ctx context.Context, index int, v plan.Variant) error {
	if err := a.prove(ctx); err != nil {
		return err
	}
	a.dropReports(ctx)
	env := maps.Clone(v.Variables)
	if env == nil {
		env = map[string]string{}
	}
	env["SLUICE_VARIANT"], env["SLUICE_VARIANT_INDEX"] = v.Name, strconv.Itoa(index)
	a.log.note("variant " + v.Name)
	failed := a.once(ctx, env)
	if ctx.Err() != nil || a.task.Reports == (plan.Reports{}) {
		return orCause(ctx, failed)
	}
	shelves, err := a.openShelves()
	defer closeShelves(shelves)
	if err != nil {
		return orElse(failed, err)
	}
	return orElse(failed, a.readReports(ctx, shelves, failed, v.Name))
}

// dropReports removes the reports of the variant before: those must not be taken for this one's.
func (a *attempt) dropReports(ctx context.Context) {
	rooms := []string{a.workspace()}
	for _, n := range a.nodes {
		rooms = append(rooms, n.workspace())
	}
	for _, dir := range rooms {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue // The command finds out that its workspace is gone.
		}
		for _, glob := range []string{a.task.Reports.JUnit, a.task.Reports.Results} {
			if glob == "" {
				continue
			}
			found, _ := matches(ctx, root, glob) // A glob that cannot be read is told when the reports are.
			for _, name := range found {
				if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
					a.log.note("cannot remove the report of the variant before: " + err.Error())
				}
			}
		}
		_ = root.Close()
	}
}

// ofVariant names the metrics and cases of a variant after it.
func ofVariant(sum *report.Summary, variant string) {
	if variant != "" {
		rename(sum, variant+".", variant+": ")
	}
}
