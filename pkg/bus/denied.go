package bus

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/fault"
)

// A server drops what an identity may not say, and tells so to the connection, not to whoever waits for an answer. refusals
// brings it to them: without it they would only see that nobody answers.
type refusals struct {
	mu   sync.Mutex
	n    uint64            // refusals so far
	last map[string]uint64 // the number of a subject's last one
	wake chan struct{}     // closed at the next one
}

// refusedSubjects is how many subjects are remembered. Whoever waits for another one waits for the deadline.
const refusedSubjects = 1024

var violation = regexp.MustCompile(`Permissions Violation for Publish to "([^"]+)"`)

// note remembers what the server refused.
func (r *refusals) note(err error) {
	found := violation.FindStringSubmatch(err.Error())
	if found == nil || !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || len(r.last) >= refusedSubjects {
		r.last = map[string]uint64{}
	}
	r.n++
	r.last[found[1]] = r.n
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// mark is now: what is refused later has a greater number.
func (r *refusals) mark() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// since returns a subject that was refused after a mark, or a channel that is closed when one is.
func (r *refusals) since(mark uint64, mine func(string) bool) (subject string, next <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n > mark {
		for s, n := range r.last {
			if n > mark && mine(s) {
				return s, nil
			}
		}
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return "", r.wake
}

func only(subject string) func(string) bool { return func(s string) bool { return s == subject } }

func below(prefix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) }
}

// denied is the error of something that the server refused.
func (b *Bus) denied(subject string) error {
	return fault.New(fault.Denied, "the NATS server does not allow identity %s to publish at %s; does its configuration have the rights that "+
		"\"sluice topology --permissions\" prints?", b.whoAmI(), subject)
}

// allowed gives a context that ends, with the reason, when the server refuses one of the subjects. Whoever asks for something
// there needs not wait for an answer then.
func (b *Bus) allowed(ctx context.Context, mine func(string) bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	mark := b.refused.mark()
	go func() {
		for {
			subject, next := b.refused.since(mark, mine)
			if subject != "" {
				cancel(b.denied(subject))
				return
			}
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// refusal is the error that ended a context of allowed, or err.
func refusal(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && fault.Is(cause, fault.Denied) {
		return cause
	}
	return err
}

// request asks and waits for the answer.
func (b *Bus) request(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	ctx, stop := b.allowed(ctx, only(msg.Subject))
	defer stop()
	answer, err := b.conn.RequestMsgWithContext(ctx, msg)
	return answer, refusal(ctx, err)
}
