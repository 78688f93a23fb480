package bus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// LogChunk is a piece of what an attempt prints: whole lines, or a part of a line that is too long.
type LogChunk struct {
	Pool      string         `json:"pool,omitempty"` // whose executor runs the attempt
	Run       release.RunID  `json:"run"`
	Task      release.TaskID `json:"task"`
	Attempt   int32          `json:"attempt"`
	Number    int64          `json:"number"` // from 0, without a gap
	FirstLine int64          `json:"first_line"`
	Data      []byte         `json:"data,omitempty"`
	Last      bool           `json:"last,omitempty"` // the attempt prints no more
	Time      time.Time      `json:"time,omitzero"`
	Seq       uint64         `json:"seq,omitempty"`
	Behind    uint64         `json:"-"` // chunks that were stored after this one when it was read; 0 is the newest
}

const (
	headerNumber    = "Sluice-Chunk"
	headerFirstLine = "Sluice-First-Line"
	headerLast      = "Sluice-Last"
)

func (c LogChunk) subject() string {
	return fmt.Sprintf("sluice.log.%s.%s.%s.%d", c.Pool, c.Run, c.Task, c.Attempt)
}

// PublishLog hands a chunk to the stream of logs; the function that it returns waits until it is stored.
func (b *Bus) PublishLog(c LogChunk) (wait func(context.Context) error, err error) {
	msg := &nats.Msg{Subject: c.subject(), Data: c.Data, Header: nats.Header{
		headerNumber: {strconv.FormatInt(c.Number, 10)}, headerFirstLine: {strconv.FormatInt(c.FirstLine, 10)},
	}}
	if c.Last {
		msg.Header.Set(headerLast, "true")
	}
	f, err := b.sendMsg(msg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { _, err := b.await(ctx, f); return err }, nil
}

// logResets is how often a reader of logs makes its consumer again before it gives up; whoever reads begins anew.
const logResets = 3

// FollowLog calls fn with the chunks of a task's attempts, from the first that the stream still has, until ctx ends or
// fn returns false. Only what the pool says is read: it is the one that the attempt was given to. An empty task follows
// every task of the run; attempt 0 follows every attempt.
func (b *Bus) FollowLog(
	ctx context.Context, pool string, run release.RunID, task release.TaskID, attempt int32, fn func(LogChunk) bool,
) error {
	subject := fmt.Sprintf("sluice.log.%s.%s.%s.%s", pool, run, orStar(string(task)), orStar(attemptToken(attempt)))
	consumer, err := b.js.OrderedConsumer(ctx, Logs, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, MaxResetAttempts: logResets,
	})
	if err != nil {
		return fault.New(fault.Transient, "cannot follow the log of %s: %w", run, err)
	}
	iter, err := consumer.Messages()
	if err != nil {
		return fault.New(fault.Transient, "cannot follow the log of %s: %w", run, err)
	}
	defer iter.Stop()
	for {
		msg, err := iter.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fault.New(fault.Transient, "cannot follow the log of %s: %w", run, err)
		}
		if !fn(logChunk(msg)) {
			return nil
		}
	}
}

func orStar(s string) string {
	if s == "" {
		return "*"
	}
	return s
}

func attemptToken(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

func logChunk(msg jetstream.Msg) LogChunk {
	var c LogChunk
	c.Pool, c.Run, c.Task, c.Attempt = logPlace(msg.Subject())
	c.Number, _ = strconv.ParseInt(msg.Headers().Get(headerNumber), 10, 64)
	c.FirstLine, _ = strconv.ParseInt(msg.Headers().Get(headerFirstLine), 10, 64)
	c.Last = msg.Headers().Get(headerLast) != ""
	c.Data = msg.Data()
	if meta, err := msg.Metadata(); err == nil {
		c.Time, c.Seq, c.Behind = meta.Timestamp, meta.Sequence.Stream, meta.NumPending
	}
	return c
}
