package definition

import (
	"sort"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

const defaultTimeout = release.Duration(time.Hour)

// retries puts what a job states over the defaults; a job that states nothing leaves the defaults to dispatch.
func retries(stated Map[Retry]) []release.Retry {
	if len(stated) == 0 {
		return nil
	}
	byClass := map[string]release.Retry{}
	for _, one := range release.DefaultRetries() {
		byClass[string(one.Class)] = one
	}
	for _, e := range stated {
		one := release.Retry{Class: release.Class(e.Name), Limit: e.Value.Limit.Value}
		one.Wait, one.Max = release.Duration(5*time.Second), release.Duration(time.Minute)
		if known, ok := byClass[e.Name]; ok {
			one.Wait, one.Max = known.Wait, known.Max
		}
		if e.Value.Wait.Set {
			one.Wait = e.Value.Wait.Value
		}
		if e.Value.Max.Set {
			one.Max = e.Value.Max.Value
		}
		one.Max = max(one.Max, one.Wait)
		byClass[e.Name] = one
	}
	var out []release.Retry
	for _, one := range byClass {
		out = append(out, one)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Class < out[j].Class })
	return out
}

func (v Timeout) release() release.Timeouts {
	out := release.Timeouts{
		Queue: v.Queue.Value, Prepare: v.Prepare.Value, Command: v.Command.Value, Cleanup: v.Cleanup.Value,
	}
	if !v.Command.Set {
		out.Command = defaultTimeout
	}
	return out
}
