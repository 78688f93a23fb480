package secret

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	maxValue       = 64 << 10 // bytes that a command may print
	defaultTimeout = 10 * time.Second
	placeholder    = "{name}"
)

// command asks a program: pass, vault, sops.
type command struct {
	argv    []string
	timeout time.Duration
}

func openCommand(c ProviderConfig) (Provider, error) {
	if len(c.Argv) == 0 || !strings.Contains(strings.Join(c.Argv[1:], " "), placeholder) {
		return nil, fault.New(fault.Invalid, "cannot open a provider of secrets of kind command: its argv is %q, expected a program and "+
			"arguments with %s in one of them, such as [pass, show, ci/%s]", c.Argv, placeholder, placeholder)
	}
	if len(c.Names) == 0 {
		return nil, fault.New(fault.Invalid, "cannot open a provider of secrets of kind command: it has no names; list globs of the names that it has")
	}
	if _, err := exec.LookPath(c.Argv[0]); err != nil {
		return nil, fault.New(fault.Invalid, "cannot open a provider of secrets of kind command: %w", err)
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return cached(command{c.Argv, c.Timeout}, c.Keep), nil
}

// Get implements Provider. What the program says on its standard error is not repeated: nobody knows what it quotes.
func (c command) Get(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	argv := make([]string, len(c.argv))
	for i, arg := range c.argv {
		argv[i] = strings.ReplaceAll(arg, placeholder, name)
	}
	out := &bounded{}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.WaitDelay = out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	program := filepath.Base(argv[0])
	var exit *exec.ExitError
	switch {
	case out.over:
		return "", fault.New(fault.Invalid, "cannot get secret %s: %s printed more than %d bytes", name, program, maxValue)
	case ctx.Err() != nil:
		return "", fault.New(fault.Transient, "cannot get secret %s: %s did not answer within %s", name, program, c.timeout)
	case errors.As(err, &exit):
		return "", fault.New(fault.Transient, "cannot get secret %s: %s ended with status %d; run it by hand to see why", name, program, exit.ExitCode())
	case err != nil:
		return "", fault.New(fault.Transient, "cannot get secret %s: cannot run %s: %w", name, program, err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(out.text.String(), "\n"), "\r"), nil
}

// bounded takes so many bytes and no more.
type bounded struct {
	text bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxValue {
		b.over = true
		return 0, errors.New("too much output")
	}
	return b.text.Write(p)
}
