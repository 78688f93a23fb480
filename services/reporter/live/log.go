package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/logs"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

const (
	quiet      = 250 * time.Millisecond // after which the log of an attempt that ended, or that is only looked at, is complete
	pieceBytes = 64 << 10
)

// Logs reads the logs of attempts.
type Logs struct {
	Bus   *bus.Bus
	Blobs blob.Store
	Model *readmodel.Model
	Hub   *Hub
}

// LogQuery says what to read of an attempt's log.
type LogQuery struct {
	Run     release.RunID
	Task    release.TaskID
	Attempt int32
	From    int64 // the first line, from 1
	Follow  bool  // go on until the attempt ends
}

// Piece is a part of a log: text that begins in a line. It may end anywhere.
type Piece struct {
	Line   int64  // of its first byte, from 1
	Column int64  // of its first byte in that line, in bytes from 0
	Text   []byte // the receiver may not keep it
}

// Read calls fn with the log in its order, from the line asked for. It returns when the log is complete, for a running
// attempt when nothing newer is there, unless it is to be followed.
func (l *Logs) Read(ctx context.Context, q LogQuery, fn func(Piece) error) error {
	next := newCutter(q.From, fn)
	attempt, err := l.attempt(ctx, q)
	if err != nil {
		return err
	}
	if attempt.Finished.IsZero() {
		if err := l.follow(ctx, attempt.Pool, q, next); err != nil || ctx.Err() != nil {
			return err
		}
		if attempt, err = l.attempt(ctx, q); err != nil || attempt.Finished.IsZero() {
			return err
		}
	}
	if attempt.Log == "" {
		return l.remains(ctx, attempt, q, next)
	}
	return l.archived(ctx, attempt, next)
}

// Tail is the first of the last n lines. Of an attempt that runs, it counts what was printed so far.
func (l *Logs) Tail(ctx context.Context, q LogQuery, n int64) (int64, error) {
	attempt, err := l.attempt(ctx, q)
	if err != nil {
		return 0, err
	}
	lines := attempt.LogLines
	if attempt.Finished.IsZero() {
		q.From, q.Follow = 1, false
		err = l.Read(ctx, q, func(p Piece) error {
			lines = p.Line + int64(bytes.Count(p.Text, []byte{'\n'}))
			if p.Text[len(p.Text)-1] == '\n' {
				lines-- // nothing stands on the next line yet
			}
			return nil
		})
	}
	return max(1, lines-n+1), err
}

func (l *Logs) attempt(ctx context.Context, q LogQuery) (readmodel.Attempt, error) {
	task, found, err := l.Model.Task(ctx, q.Run, q.Task)
	if err != nil {
		return readmodel.Attempt{}, err
	}
	a, known := task.Attempt(q.Attempt)
	if !found || !known {
		return a, fault.New(fault.Invalid, "cannot read the log of attempt %d of task %s: there is none", q.Attempt, q.Task)
	}
	return a, nil
}

// archived reads what is not read yet from the whole log, and nothing of what comes long before that.
func (l *Logs) archived(ctx context.Context, a readmodel.Attempt, next *cutter) error {
	if a.Log == "" {
		return nil
	}
	file, size, err := blob.OpenAt(ctx, l.Blobs, a.Log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	archive, err := logs.OpenAt(file, size)
	if err != nil {
		return err
	}
	text, err := archive.From(next.want.line)
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }()
	next.restart(next.want.line)
	buffer := make([]byte, pieceBytes)
	for in := bufio.NewReaderSize(text, pieceBytes); ; {
		n, err := in.Read(buffer)
		if n > 0 {
			if err := next.take(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.New(fault.Transient, "cannot read the log of %s: %w", a.Task, err)
		}
	}
}

// remains reads what the stream still has of a log that was never stored whole: its executor was lost, or could not store it. The
// lines before the end are what people need; that there may have been more is told as the last of them.
func (l *Logs) remains(ctx context.Context, a readmodel.Attempt, q LogQuery, next *cutter) error {
	if a.Started.IsZero() || a.Class != release.ClassLost && a.LogLines == 0 {
		return nil // nothing was printed
	}
	q.Follow = false
	if err := l.follow(ctx, a.Pool, q, next); err != nil || ctx.Err() != nil {
		return err
	}
	why := "its executor could not store it"
	if a.Class == release.ClassLost {
		why = "its executor was lost"
	}
	return next.note("this log is not whole: " + why + ", and the lines that came last may be missing")
}

// follow reads a running attempt's log from the bus until its last chunk, or until the attempt has ended and nothing
// more came.
func (l *Logs) follow(ctx context.Context, pool string, q LogQuery, next *cutter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(quiet, func() {
		if !q.Follow {
			cancel(errQuiet)
		}
	})
	defer idle.Stop()
	go l.untilEnded(ctx, q, func() {
		time.AfterFunc(quiet, func() { cancel(errQuiet) })
	})
	var failed error
	err := l.Bus.FollowLog(ctx, pool, q.Run, q.Task, q.Attempt, func(c bus.LogChunk) bool {
		idle.Reset(quiet)
		if failed = next.chunk(c); failed != nil || c.Last {
			return false
		}
		return q.Follow || c.Behind > 0
	})
	if errors.Is(context.Cause(ctx), errQuiet) {
		return nil
	}
	return errors.Join(failed, err)
}

var errQuiet = errors.New("nothing more is printed")

// untilEnded calls done once the attempt has ended.
func (l *Logs) untilEnded(ctx context.Context, q LogQuery, done func()) {
	w := l.Hub.Watch(q.Run)
	defer w.Close()
	again := time.NewTicker(5 * time.Second) // another process may have folded the fact
	defer again.Stop()
	for {
		if a, err := l.attempt(ctx, q); err == nil && !a.Finished.IsZero() {
			done()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Wake():
			w.Take()
		case <-again.C:
		}
	}
}
