package bus

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	// pullWait is how long one request for messages stands at the server.
	pullWait = 20 * time.Second
	// pullPatience is how much later than that its end may be told, before it counts as lost.
	pullPatience = 2 * time.Second
	// pullPause is between requests after one failed: the connection is away, or the server restarts.
	pullPause = 500 * time.Millisecond
)

// puller asks a durable consumer for messages, over one subscription. It asks for exactly as many as there are free
// workers, so that no message waits behind a busy one while another process is idle. Each request is for one message and so
// has one answer: the server remembers whom to answer in another account until then, and no longer.
//
// A worker is in one of three places: in free, among the asked, or busy with a message.
type puller struct {
	bus      *Bus
	route    *Route
	consumer string
	inbox    string
	sub      *nats.Subscription
	handle   func(pulled)
	served   Served
	free     chan struct{}
	busy     sync.WaitGroup

	mu    sync.Mutex
	asked int
	until time.Time // when the last request ends, or is lost
	ended bool
}

func (b *Bus) newPuller(s Served, r *Route, handle func(pulled)) *puller {
	workers := max(1, r.Workers)
	p := &puller{bus: b, route: r, consumer: s.name(), served: s, handle: handle, free: make(chan struct{}, workers)}
	p.release(workers)
	return p
}

// run asks and works until ctx ends and every worker is done.
func (p *puller) run(ctx context.Context) error {
	if err := p.subscribe(); err != nil {
		return err
	}
	connected := p.bus.conn.StatusChanged(nats.CONNECTED)
	defer p.bus.conn.RemoveStatusListener(connected)
	watch := time.NewTicker(pullWait)
	defer watch.Stop()
	var shut <-chan struct{} // of the gate, since the last request
	for mark := p.bus.refused.mark(); ctx.Err() == nil; {
		refused, next := p.bus.refused.since(mark, only(p.subject()))
		if refused != "" {
			mark = p.bus.refused.mark()
			p.fail(p.bus.denied(refused).Error(), false)
		}
		select {
		case <-ctx.Done():
		case <-shut:
			shut = nil
			if err := p.recall(); err != nil {
				return err
			}
		case <-next:
		case <-connected:
			p.forget() // the server forgot them too
		case now := <-watch.C:
			p.expire(now)
		case <-p.free:
			p.request(ctx, 1+p.more())
			if p.route.Shut != nil {
				shut = p.route.Shut()
			}
		}
	}
	_ = p.sub.Unsubscribe() // the connection may be closed, which ends it as well
	p.end()
	return nil
}

// subscribe hears the messages that are asked for from now on.
func (p *puller) subscribe() (err error) {
	p.inbox = p.bus.conn.NewInbox()
	if p.sub, err = p.bus.conn.Subscribe(p.inbox, p.take); err != nil {
		return fault.New(fault.Transient, "cannot hear the consumer %s: %w", p.consumer, err)
	}
	return nil
}

// recall takes back what was asked for: the server forgets a request that nobody hears any more. A message that is on
// its way goes to another process when its time to be acknowledged has passed.
func (p *puller) recall() error {
	_ = p.sub.Unsubscribe() // of a connection that is closed
	p.forget()
	return p.subscribe()
}

// more takes the other workers that are free too.
func (p *puller) more() (n int) {
	for {
		select {
		case <-p.free:
			n++
		default:
			return n
		}
	}
}

func (p *puller) release(n int) {
	for range n {
		p.free <- struct{}{}
	}
}

// request asks for n messages, once the route's gate lets it.
func (p *puller) request(ctx context.Context, n int) {
	if p.route.Gate != nil {
		p.route.Gate(ctx)
		n += p.more()
	}
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	p.asked += n
	p.until = time.Now().Add(pullWait + pullPatience)
	p.mu.Unlock()
	for range n {
		if err := p.bus.conn.PublishRequest(p.subject(), p.inbox, one); err != nil {
			p.fail(err.Error(), false)
			return
		}
	}
}

func (p *puller) subject() string { return api + "CONSUMER.MSG.NEXT." + Facts + "." + p.consumer }

// one asks for one message.
var one = fmt.Appendf(nil, `{"batch":1,"expires":%d}`, pullWait)

// answered notes that the server serves the consumer.
func (p *puller) answered() { p.bus.troubles.note(p.consumer, "", time.Time{}) }

// take gets a message to a worker, or hears how a request ended.
func (p *puller) take(m *nats.Msg) {
	if status := m.Header.Get("Status"); status != "" && len(m.Data) == 0 {
		p.hear(status, m.Header)
		return
	}
	p.answered()
	msg := pulled{m}
	if !p.begin() {
		_ = msg.later(0) // it was asked for by nobody who still waits: another worker gets it
		return
	}
	go func() {
		defer p.busy.Done()
		p.handle(msg)
		p.release(1)
	}()
}

// begin makes an asked worker busy, or a free one when the request was forgotten and answered all the same.
func (p *puller) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return false
	case p.asked > 0:
		p.asked--
	default:
		select {
		case <-p.free:
		default:
			return false
		}
	}
	p.busy.Add(1)
	return true
}

// hear takes what the server says of a request: 408 is its end, with how many messages are missing. All else ends the
// requests before their time: the consumer is away, the server restarts.
func (p *puller) hear(status string, header nats.Header) {
	if status == "100" {
		return
	}
	missing, err := strconv.Atoi(header.Get("Nats-Pending-Messages"))
	if status == "408" && err == nil {
		p.answered()
		p.giveBack(missing)
		return
	}
	p.fail(status+" "+header.Get("Description"), true)
}

func (p *puller) giveBack(n int) {
	p.mu.Lock()
	n = min(n, p.asked)
	p.asked -= n
	p.mu.Unlock()
	p.release(n)
}

func (p *puller) forget() { p.giveBack(max(1, cap(p.free))) }

// fail lets the workers ask again after a pause. When the server answered, the consumer may be gone: somebody deleted it, or
// the server came back without it. It is declared again first.
func (p *puller) fail(reason string, answered bool) {
	p.mu.Lock()
	n := p.asked
	p.asked = 0
	ended := p.ended
	p.mu.Unlock()
	if n == 0 || ended {
		return
	}
	if answered && p.bus.options.Onlooker {
		reason += "; " + p.bus.missing(p.served).Error()
	}
	p.bus.troubles.note(p.consumer, "cannot ask for messages: "+reason, time.Now().Add(troubleLasts))
	p.bus.log.Warn("cannot ask for messages; trying again", "consumer", p.consumer, "reason", reason, "again_in", pullPause)
	time.AfterFunc(pullPause, func() {
		if answered && !p.bus.options.Onlooker {
			p.restore()
		}
		p.release(n)
	})
}

// restore makes the consumer again, unless it is there.
func (p *puller) restore() {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if err := p.bus.declareConsumer(ctx, p.served); err != nil {
		p.bus.log.Error("cannot make the consumer again; trying again", "consumer", p.consumer, "err", err)
	}
}

// expire forgets requests whose end was not told in time.
func (p *puller) expire(now time.Time) {
	p.mu.Lock()
	lost := p.asked > 0 && now.After(p.until)
	p.mu.Unlock()
	if lost {
		p.bus.troubles.note(p.consumer, "the server has not answered for "+(pullWait+pullPatience).String(), time.Time{})
		p.forget()
	}
}

func (p *puller) end() {
	p.answered()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.busy.Wait()
}
