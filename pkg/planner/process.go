package planner

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a worker as the process that started it has it.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	talk   *talk
	gone   sync.Once
	reaper *time.Timer // of one that is idle and not to be kept
}

// heard is what a process said.
type heard struct {
	message message
	err     error
}

// start starts a process. It gets nothing of this one's environment: there may be secrets in it.
func start(o Options) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...) //nolint:noctx // it outlives the plan that it was started for
	cmd.Args[0] = cmp.Or(o.Args0, o.Command[0])
	cmd.Env, cmd.Dir = []string{"PATH="}, string(os.PathSeparator)
	apart(cmd)
	said := &talk{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, in: in, out: bufio.NewReader(out), talk: said}, nil
}

// exchange says something and waits for what is said to it. It ends when the process does.
func (p *process) exchange(say message) heard {
	err := write(p.in, say)
	var m message
	if err == nil {
		m, err = read(p.out)
	}
	if err != nil {
		p.kill()
		return heard{err: &died{cmp.Or(p.talk.first(), p.cmd.ProcessState.String(), err.Error())}}
	}
	return heard{message: m}
}

// kill ends the process now, and waits until it is gone. It may be called twice, and by two.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.wait()
}

func (p *process) wait() { p.gone.Do(func() { _ = p.cmd.Wait() }) }

// end ends a process that waits for work: its input ends.
func (p *process) end() {
	_ = p.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	p.wait()
}

// maxTalk is how much of what a process says to people is kept.
const maxTalk = 4 << 10

// talk keeps the beginning of what a process says before it crashes: what follows is a stack.
type talk struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *talk) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := maxTalk - t.text.Len(); room > 0 {
		t.text.Write(b[:min(len(b), room)])
	}
	return len(b), nil
}

func (t *talk) first() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(t.text.String()), "\n")
	return strings.ToValidUTF8(line[:min(len(line), 200)], "")
}
