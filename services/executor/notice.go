package executor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// Notice says where it is told that this machine will be taken away: a spot notice, a maintenance window. Any of the
// three is enough; the first line of what is found there is the reason.
type Notice struct {
	File    string        `yaml:"file"`    // is there
	URL     string        `yaml:"url"`     // answers 200
	Command []string      `yaml:"command"` // ends with status 0
	Every   time.Duration `yaml:"every"`   // how often it is asked; 1s when 0
}

const (
	noticeEvery = time.Second
	noticeTime  = 5 * time.Second // for one answer
	noticeBytes = 4 << 10
)

func (n Notice) wanted() bool { return n.File != "" || n.URL != "" || len(n.Command) > 0 }

// watchNotice asks for a notice until there is one, or ctx ends.
func (e *executor) watchNotice(ctx context.Context) error {
	asker, err := e.newAsker(ctx)
	if err != nil {
		return err
	}
	defer asker.close()
	every := e.config.Notice.Every
	if every <= 0 {
		every = noticeEvery
	}
	for e.config.Notice.wanted() {
		reason, found, err := asker.look(ctx)
		if found {
			e.noticed <- reason
			return wait(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("cannot ask whether this machine will be taken away", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
	return wait(ctx)
}

// asker asks everywhere that a Notice names.
type asker struct {
	Notice
	site driver.Site // runs the command; nil without one
	dir  string
}

func (e *executor) newAsker(ctx context.Context) (*asker, error) {
	a := &asker{Notice: e.config.Notice, dir: e.config.Dir}
	if len(a.Command) == 0 {
		return a, nil
	}
	var err error
	a.site, err = choose.Open(ctx, choose.Config{}, choose.Options{Place: filepath.Join(e.config.Dir, "notice"), Path: e.config.Path, Log: e.log})
	return a, err
}

func (a *asker) close() {
	if a.site != nil {
		_ = a.site.Close() // nothing runs there any more
	}
}

func wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// look asks once, everywhere.
func (n *asker) look(ctx context.Context) (reason string, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	var problems []error
	for _, ask := range []func(context.Context) (string, bool, error){n.lookFile, n.lookURL, n.lookCommand} {
		reason, found, err := ask(ctx)
		if found {
			return reason, true, nil
		}
		problems = append(problems, err)
	}
	return "", false, errors.Join(problems...)
}

func (n *asker) lookFile(context.Context) (string, bool, error) {
	if n.File == "" {
		return "", false, nil
	}
	file, _, err := files.OpenPath(n.File)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fault.New(fault.Transient, "cannot read the notice: %w", err)
	}
	defer func() { _ = file.Close() }()
	return firstLine(file, "the file "+n.File+" is there"), true, nil
}

func (n *asker) lookURL(ctx context.Context) (string, bool, error) {
	if n.URL == "" {
		return "", false, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL, nil)
	if err != nil {
		return "", false, fault.New(fault.Invalid, "cannot ask for the notice: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", false, fault.New(fault.Transient, "cannot ask for the notice: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return "", false, nil
	}
	return firstLine(answer.Body, n.URL+" says so"), true, nil
}

func (n *asker) lookCommand(ctx context.Context) (string, bool, error) {
	if n.site == nil {
		return "", false, nil
	}
	out := &head{}
	process, err := n.site.Start(ctx, driver.Spec{Args: n.Command, Dir: n.dir, Output: out, Grace: -1})
	if err != nil {
		return "", false, err
	}
	switch exit := process.Wait(); {
	case exit.OK():
		return firstLine(&out.Buffer, "the command "+n.Command[0]+" says so"), true, nil
	case exit.Cause != nil:
		return "", false, fault.New(fault.Transient, "cannot ask for the notice: %s", exit)
	default:
		return "", false, nil
	}
}

// head keeps the beginning of what is written.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	_, _ = h.Buffer.Write(p[:min(len(p), max(0, noticeBytes-h.Len()))]) // a buffer takes everything
	return len(p), nil
}

// firstLine is the first line of a text, or otherwise when there is none.
func firstLine(r io.Reader, otherwise string) string {
	line, _ := bufio.NewReader(io.LimitReader(r, noticeBytes)).ReadString('\n') // what could be read is enough
	if line = strings.TrimSpace(line); line == "" {
		return otherwise
	}
	return fmt.Sprintf("%q", line)
}
