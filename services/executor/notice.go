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
	"os/exec"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
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
	every := e.config.Notice.Every
	if every <= 0 {
		every = noticeEvery
	}
	for e.config.Notice.wanted() {
		reason, found, err := e.config.Notice.look(ctx)
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

func wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// look asks once, everywhere.
func (n Notice) look(ctx context.Context) (reason string, found bool, err error) {
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

func (n Notice) lookFile(context.Context) (string, bool, error) {
	if n.File == "" {
		return "", false, nil
	}
	file, err := os.Open(n.File)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fault.New(fault.Transient, "cannot read the notice: %w", err)
	}
	defer func() { _ = file.Close() }()
	return firstLine(file, "the file "+n.File+" is there"), true, nil
}

func (n Notice) lookURL(ctx context.Context) (string, bool, error) {
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

func (n Notice) lookCommand(ctx context.Context) (string, bool, error) {
	if len(n.Command) == 0 {
		return "", false, nil
	}
	command := exec.CommandContext(ctx, n.Command[0], n.Command[1:]...) //nolint:gosec // the installation's own
	command.WaitDelay = time.Second
	out, err := command.Output()
	var status *exec.ExitError
	switch {
	case err == nil:
		return firstLine(bytes.NewReader(out), "the command "+n.Command[0]+" says so"), true, nil
	case errors.As(err, &status) && ctx.Err() == nil:
		return "", false, nil
	default:
		return "", false, fault.New(fault.Transient, "cannot ask for the notice: %w", err)
	}
}

// firstLine is the first line of a text, or otherwise when there is none.
func firstLine(r io.Reader, otherwise string) string {
	line, _ := bufio.NewReader(io.LimitReader(r, noticeBytes)).ReadString('\n') // what could be read is enough
	if line = strings.TrimSpace(line); line == "" {
		return otherwise
	}
	return fmt.Sprintf("%q", line)
}
