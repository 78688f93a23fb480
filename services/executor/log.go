package executor

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/logs"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/release"
)

// output is the way of an attempt's output: secrets are masked, then chunks go to the stream of logs and a compressed
// copy aside.
type output struct {
	mu     sync.Mutex // around masked: several commands of one attempt may write at once
	masked *mask.Writer
	masker *mask.Masker
	log    *logs.Writer
	copy   *spool
}

func newOutput(a *attempt) *output {
	o := &output{copy: &spool{dir: a.e.place.spool}, masker: a.masker}
	failed := false
	show := func(c logs.Chunk) {
		// Nobody waits for the live log: what the stream loses is in the blob.
		if _, err := a.e.deps.Bus.PublishLog(chunk(a, c)); err != nil && !failed {
			failed = true
			a.e.log.Warn("cannot show the log live", "run", a.ref.Run, "task", a.ref.Task, "err", err)
		}
	}
	if a.quiet {
		show = nil
	}
	o.log = logs.New(logs.Options{
		Every: liveEvery, Sink: show, Archive: o.copy, Codec: a.e.codec, Live: a.e.config.LiveLog,
		Failed: func(err error) { a.e.log.Error("cannot keep a log", "run", a.ref.Run, "task", a.ref.Task, "err", err) },
	})
	o.masked = a.masker.NewWriter(o.log)
	return o
}

func chunk(a *attempt, c logs.Chunk) bus.LogChunk {
	return bus.LogChunk{
		Pool: a.e.config.Pool, Run: a.ref.Run, Task: a.ref.Task, Attempt: a.ref.Attempt,
		Number: c.Number, FirstLine: c.FirstLine, Data: []byte(c.Text), Last: c.Last, Time: c.At,
	}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.masked.Write(p)
}

// note adds a line of the executor's own.
func (o *output) note(text string) {
	if o != nil {
		_, _ = io.WriteString(o, "sluice: "+text+"\n")
	}
}

// closeLog ends the log, stores it as a blob and puts what is known of it into the result.
func (a *attempt) closeLog(ctx context.Context) {
	if a.log == nil {
		return
	}
	defer a.log.copy.close()
	_ = a.log.masked.Flush() // the log takes everything
	result, err := a.log.log.Close()
	if err == nil {
		a.result.Log, err = a.log.copy.store(ctx, a.e.deps.Blobs)
	}
	if err != nil {
		a.e.log.Error("cannot store the log of an attempt; only its last lines are kept",
			"run", a.ref.Run, "task", a.ref.Task, "err", err)
	}
	a.result.LogLines = result.Lines
	most := maxLastLines
	if a.result.Class == release.ClassOK && err == nil {
		most = maxGoodLines
	}
	a.result.LastLines = lastLines(result.Tail, most)
}

// maxLastLines is how much of the log a result may carry, in bytes, and maxGoodLines how much of one that nobody will
// look for a fault in.
const (
	maxLastLines = 32 << 10
	maxGoodLines = 2 << 10
)

func lastLines(tail []string, most int) []string {
	size := 0
	for i := len(tail) - 1; i >= 0; i-- {
		if size += len(tail[i]) + 1; size > most {
			return tail[i+1:]
		}
	}
	return tail
}

// spool keeps the compressed log until it is stored: in memory while it is short, else in a file without a name, which
// nobody can open and no crash leaves behind.
type spool struct {
	dir   string
	bytes bytes.Buffer
	file  *os.File
}

const maxInMemory = 256 << 10

func (s *spool) Write(p []byte) (int, error) {
	if s.file != nil {
		return s.file.Write(p)
	}
	if s.bytes.Len()+len(p) <= maxInMemory {
		return s.bytes.Write(p)
	}
	file, err := os.CreateTemp(s.dir, "log-")
	if err != nil {
		return 0, err
	}
	s.file = file
	if err := os.Remove(file.Name()); err != nil {
		return 0, err
	}
	if _, err := s.bytes.WriteTo(file); err != nil {
		return 0, err
	}
	return file.Write(p)
}

// store returns "" for a log in which nothing was written.
func (s *spool) store(ctx context.Context, store blob.Store) (release.Digest, error) {
	if s.file == nil {
		if s.bytes.Len() == 0 {
			return "", nil
		}
		return blob.PutBytes(ctx, store, s.bytes.Bytes())
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	digest, _, err := store.Put(ctx, s.file)
	return digest, err
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// liveEvery is the longest that a line waits before it can be seen live.
const liveEvery = 25 * time.Millisecond
