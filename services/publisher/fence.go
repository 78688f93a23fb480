package publisher

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// A permission to commit is as old as the moment at which the stream was asked. A process may stand still between that and its
// request, for as long as another one needs to take the commit over, and to let a later release write the same name. So every
// request that writes asks again, unless it was asked a moment ago: before it is sent when it has no body, else before the last of
// its body is, without which the server has nothing.

// fresh is how old a permission may be when a request that rests on it is completed, as a part of the time after which the step of
// a publisher that is silent goes to another: before that nobody has taken it over.
const fresh = 4

// fence stands before every write of a commit.
type fence struct {
	mu    sync.Mutex
	asked time.Time
	fresh time.Duration               // so long it need not be asked again
	again func(context.Context) error // asks the stream; an error when the permission is gone, or is another one
	now   func() time.Time
}

type fenceKey struct{}

// fencedBy puts a fence before the writes of a context.
func fencedBy(ctx context.Context, f *fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// pass lets a write through, or ends it.
func pass(ctx context.Context) error {
	f, is := ctx.Value(fenceKey{}).(*fence)
	if !is {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// The wall clock goes on while a machine sleeps; one that was set back makes nothing fresh.
	if age := f.now().Round(0).Sub(f.asked.Round(0)); age >= 0 && age < f.fresh {
		return nil
	}
	asked := f.now()
	if err := f.again(ctx); err != nil {
		return err
	}
	f.asked = asked
	return nil
}

// fenced puts the fence of a request's context before its end.
func fenced(req *http.Request) error {
	if _, is := req.Context().Value(fenceKey{}).(*fence); !is || req.Method == http.MethodGet || req.Method == http.MethodHead {
		return nil
	}
	if req.Body == nil || req.Body == http.NoBody {
		return pass(req.Context())
	}
	req.Body = &fencedBody{ctx: req.Context(), closer: req.Body, source: bufio.NewReader(req.Body)}
	if get := req.GetBody; get != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := get()
			if err != nil {
				return nil, err
			}
			return &fencedBody{ctx: req.Context(), closer: body, source: bufio.NewReader(body)}, nil
		}
	}
	return nil
}

// fencedBody gives its last bytes when the fence lets them through.
type fencedBody struct {
	ctx    context.Context //nolint:containedctx // a body has no other way to know its request's
	closer io.Closer
	source *bufio.Reader
}

func (b *fencedBody) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	if n == 0 || err != nil {
		return n, err
	}
	if _, err := b.source.Peek(1); errors.Is(err, io.EOF) {
		if err := pass(b.ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (b *fencedBody) Close() error { return b.closer.Close() }

// fence makes what stands before the writes of a commit that is permitted now, with these names left alone.
func (w *work) fence(leave []string) *fence {
	return &fence{asked: w.deps.Now(), now: w.deps.Now, fresh: w.config.AckWait / fresh, again: func(ctx context.Context) error {
		now, err := w.permitted(ctx)
		if err != nil { // the step comes again, and is told then what is so
			return fault.New(fault.Transient, "the commit is not permitted any more: %v", err) //nolint:errorlint // what forbids it has begun is for the next try to say
		}
		if !slices.Equal(now, leave) {
			return fault.New(fault.Transient, "names have moved since the commit was permitted; it begins again")
		}
		return nil
	}}
}
