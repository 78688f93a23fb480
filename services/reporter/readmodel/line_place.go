package readmodel

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// placeLine tells of what runs share: pools, limits, places and who holds them.
func placeLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.PoolDrainRequested:
		return because(fmt.Sprintf("%s asked to %s pool %s", somebody(p.By), giveWork(p.Resume), p.Pool), p.Reason), Warn
	case event.ExecutorDraining:
		return because(fmt.Sprintf("executor %s of pool %s is to end by %s, with %s in hand", p.Executor, p.Pool, clock(p.Deadline),
			count(len(p.Running), "attempt")), p.Reason), Warn
	case event.LimitSet:
		return because(limit(p), p.Reason), Warn
	case event.PlaceRegistered:
		if p.Removed {
			return fmt.Sprintf("place %s of %s can no longer be leased", p.Place, p.Provider), Warn
		}
		return fmt.Sprintf("place %s of %s can be leased", p.Place, p.Provider), Plain
	case event.PlaceChanged:
		return because(fmt.Sprintf("place %s of %s is %s%s", p.Place, p.Provider, cmp.Or(p.State, release.PlaceFree), until(p.Until)),
			p.Reason), toneOfPlace(p.State)
	case event.PlaceDrainRequested:
		verb := "keep place %s of %s from use"
		if p.Resume {
			verb = "let place %s of %s be used again"
		}
		return because(somebody(p.By)+" asked to "+fmt.Sprintf(verb, p.Place, p.Provider), p.Reason), Warn
	case event.LeaseGranted:
		return because(fmt.Sprintf("%s may use place %s of %s under token %d%s", holder(p.Holder), p.Place, p.Provider, p.Token,
			until(p.Until)), p.Reason), Plain
	case event.LeaseRenewed:
		return fmt.Sprintf("token %d of place %s of %s holds on%s", p.Token, p.Place, p.Provider, until(p.Until)), Plain
	case event.LeaseEnded:
		return because(fmt.Sprintf("%s no longer holds place %s of %s, which is %s", holder(p.Holder), p.Place, p.Provider,
			cmp.Or(p.State, release.PlaceFree)), p.Reason), toneOfPlace(p.State)
	case event.PlacesCreated:
		return fmt.Sprintf("provider %s makes places for attempt %d of %s, which are destroyed by %s", p.Provider, p.Attempt, p.Task,
			clock(p.Expires)), Plain
	case event.PlacesDestroyed:
		return fmt.Sprintf("the places that provider %s made for attempt %d of %s are destroyed", p.Provider, p.Attempt, p.Task), Plain
	default:
		return string(p.EventType()), Plain
	}
}

func somebody(by string) string { return cmp.Or(by, "somebody") }

func giveWork(again bool) string {
	if again {
		return "give work again to"
	}
	return "stop giving work to"
}

func limit(p event.LimitSet) string {
	of := string(p.Of) + " " + p.Name
	if p.Resource != "" {
		of = p.Resource + " of " + of
	}
	if p.Unset {
		return fmt.Sprintf("%s lifted the limit of %s", somebody(p.By), of)
	}
	return fmt.Sprintf("%s set the limit of %s to %s", somebody(p.By), of, strconv.FormatFloat(p.Amount, 'g', -1, 64))
}

func holder(a event.AttemptRef) string {
	return fmt.Sprintf("%s attempt %d of run %s", a.Task, a.Attempt, a.Run)
}

func until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + clock(at)
}

func clock(at time.Time) string { return at.UTC().Format(time.TimeOnly) }

func toneOfPlace(s release.PlaceState) Tone {
	switch s {
	case release.PlaceQuarantined:
		return Bad
	case release.PlaceCleanupPending, release.PlaceDrained:
		return Warn
	default:
		return Plain
	}
}
