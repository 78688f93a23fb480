package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// LogQuery says what to read of an attempt's log.
type LogQuery struct {
	Run     release.RunID
	Task    release.TaskID
	Attempt int32 // the last one when 0
	From    int64 // the first line, from 1
	Follow  bool  // go on until the attempt ends
}

// maxLine is the longest piece of a line that is handed on at once, in bytes.
const maxLine = 64 << 10

// Log calls fn with each line of a log, without its end, until the log ends. A connection that breaks is made again
// where it broke.
func (c *Client) Log(ctx context.Context, q LogQuery, fn func(line string) error) error {
	q.From = max(1, q.From)
	alive := time.Now()
	for {
		before := q.From
		err := c.readLog(ctx, &q, fn)
		if q.From > before {
			alive = time.Now()
		}
		if err == nil || !fault.Is(err, fault.Transient) || ctx.Err() != nil || time.Since(alive) > watchSilent {
			return err
		}
		select {
		case <-ctx.Done():
			return fault.As(fault.Transient, context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

// LogTail is the number of the first of a log's last n lines.
func (c *Client) LogTail(ctx context.Context, q LogQuery, n int64) (int64, error) {
	query := url.Values{"tail": {strconv.FormatInt(n, 10)}}
	number(query, "attempt", uint64(max(0, q.Attempt)))
	answer, err := c.send(ctx, call{
		method: http.MethodHead, path: []string{"runs", string(q.Run), "tasks", string(q.Task), "log"}, query: query, accept: "text/plain",
	})
	if err != nil {
		return 0, err
	}
	_ = answer.Body.Close() // it is empty
	from, err := strconv.ParseInt(answer.Header.Get("Sluice-Line"), 10, 64)
	if err != nil {
		return 0, fault.New(fault.Invalid, "cannot read the end of the log: the server does not say where it begins; it is older than this command")
	}
	return from, nil
}

func (c *Client) readLog(ctx context.Context, q *LogQuery, fn func(string) error) error {
	query := url.Values{"from_line": {strconv.FormatInt(q.From, 10)}}
	number(query, "attempt", uint64(max(0, q.Attempt)))
	if q.Follow {
		query.Set("follow", "true")
	}
	answer, err := c.send(ctx, call{
		method: http.MethodGet, path: []string{"runs", string(q.Run), "tasks", string(q.Task), "log"}, query: query, accept: "text/plain",
	})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return readLines(answer.Body, q, fn)
}

// readLines hands on whole lines, and counts them, so that a broken connection can go on behind the last.
func readLines(r io.Reader, q *LogQuery, fn func(string) error) error {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		whole := err == nil
		if len(line) > 0 && (whole || errors.Is(err, bufio.ErrBufferFull) || errors.Is(err, io.EOF)) {
			if failed := fn(strings.TrimSuffix(string(line), "\n")); failed != nil {
				return fault.As(fault.Internal, failed)
			}
		}
		switch {
		case whole:
			q.From++
		case errors.Is(err, bufio.ErrBufferFull): // the rest of the line follows
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fault.New(fault.Transient, "cannot read the log: the connection broke: %w", err)
		}
	}
}
