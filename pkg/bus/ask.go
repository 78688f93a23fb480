package bus

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// AnswerEach answers questions that each asker asks on a subject of its own, TOPIC.WHO. Who may ask on which subject is the
// server's to enforce; answer is told whose it was.
func AnswerEach[Q, A any](ctx context.Context, b *Bus, topic string, answer func(ctx context.Context, who string, q Q) (A, error)) error {
	return b.answer(ctx, topic+".*", func(subject string, body []byte) ([]byte, error) {
		return respond(ctx, body, func(ctx context.Context, q Q) (A, error) {
			return answer(ctx, subject[strings.LastIndexByte(subject, '.')+1:], q)
		})
	})
}

// AskAs asks on the subject of one asker; see AnswerEach.
func AskAs[Q, A any](ctx context.Context, b *Bus, topic, who string, question Q) (A, error) {
	return Ask[Q, A](ctx, b, topic+"."+who, question)
}

// Answer lets a service answer questions about its state, such as why a task waits. Questions and answers are JSON and
// change nothing. It ends with ctx.
func Answer[Q, A any](ctx context.Context, b *Bus, topic string, answer func(context.Context, Q) (A, error)) error {
	return b.answer(ctx, topic, func(_ string, body []byte) ([]byte, error) { return respond(ctx, body, answer) })
}

func askSubject(topic string) string { return "sluice.ask." + topic }

func (b *Bus) answer(ctx context.Context, topic string, answer func(subject string, body []byte) ([]byte, error)) error {
	sub, err := b.conn.QueueSubscribe(askSubject(topic), "answer", func(msg *nats.Msg) {
		reply := nats.NewMsg(msg.Reply)
		body, err := answer(msg.Subject, msg.Data)
		if err != nil {
			reply.Header.Set(headerReason, firstLine(err))
			reply.Header.Set(headerFault, string(fault.Of(err)))
		}
		reply.Data = body
		_ = msg.RespondMsg(reply) // the asker has a deadline of its own
	})
	if err != nil {
		return fault.New(fault.Transient, "cannot answer questions on %s: %w", topic, err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return nil
}

func respond[Q, A any](ctx context.Context, body []byte, answer func(context.Context, Q) (A, error)) ([]byte, error) {
	var q Q
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the question: %w", err)
	}
	a, err := answer(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// Ask asks whichever service answers a topic, within five seconds.
func Ask[Q, A any](ctx context.Context, b *Bus, topic string, question Q) (A, error) {
	return AskFor[Q, A](ctx, b, topic, question, 5*time.Second)
}

// AskFor asks whichever service answers a topic, and waits for a given time: some answers are long in the making.
func AskFor[Q, A any](ctx context.Context, b *Bus, topic string, question Q, patience time.Duration) (A, error) {
	var a A
	body, err := json.Marshal(question)
	if err != nil {
		return a, fault.New(fault.Invalid, "cannot ask %s: %w", topic, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reply, err := b.request(ctx, &nats.Msg{Subject: askSubject(topic), Data: body})
	if err != nil {
		return a, fault.New(kindOf(err), "cannot ask %s: no service answered: %w", topic, err)
	}
	if problem := reply.Header.Get(headerReason); problem != "" {
		return a, fault.New(fault.Kind(reply.Header.Get(headerFault)), "%s", problem)
	}
	if err := json.Unmarshal(reply.Data, &a); err != nil {
		return a, fault.New(fault.Internal, "cannot read the answer of %s: %w", topic, err)
	}
	return a, nil
}

func eventOf(body []byte) (event.Event, error) {
	return event.Decode(body, func(string) string { return "" })
}

func runID(s string) release.RunID { return release.RunID(s) }

// logPlace reads a subject of the stream of logs.
func logPlace(subject string) (string, release.RunID, release.TaskID, int32) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 6 {
		return "", "", "", 0
	}
	n, _ := strconv.ParseInt(tokens[5], 10, 32)
	return tokens[2], release.RunID(tokens[3]), release.TaskID(tokens[4]), int32(n)
}
