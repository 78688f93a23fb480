package readmodel

import (
	"cmp"
	"fmt"

	"github.com/sluiceci/sluice/pkg/event"
)

// accessLine tells of who may act, and of what operators do.
func accessLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.TokenCreated:
		if p.Kind == event.TokenOfSession {
			return fmt.Sprintf("%s signed in with %s%s", cmp.Or(p.Owner, p.Subject), p.Method, until(p.Expires)), Plain
		}
		return fmt.Sprintf("%s made token %s (%s) for %s%s", somebody(p.By), p.Token, p.Name, cmp.Or(p.Owner, p.Subject), until(p.Expires)), Warn
	case event.TokenRevoked:
		return because(fmt.Sprintf("%s revoked token %s", somebody(p.By), p.Token), p.Reason), Warn
	case event.TokenUsed:
		return fmt.Sprintf("token %s was used on %s", p.Token, p.Day), Plain
	case event.DeadLetterReplayed:
		return fmt.Sprintf("%s replayed dead letter %d", somebody(p.By), p.Letter), Warn
	default:
		return "", Plain
	}
}
