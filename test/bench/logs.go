package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// printer prints 10 000 lines in a second, for four seconds, each with the time at which it was written.
const printer = `#include <stdio.h>
#include <time.h>
int main(void) {
	struct timespec t, w = {0, 10000000};
	for (int i = 0; i < 400; i++) {
		for (int j = 0; j < 100; j++) {
			clock_gettime(CLOCK_REALTIME, &t);
			printf("a line of a log that says when it was written @%lld.%09ld@\n", (long long)t.tv_sec, t.tv_nsec);
			fflush(stdout);
		}
		nanosleep(&w, 0);
	}
	return 0;
}
`

// measureLogs is how long a line takes from the process that writes it to the client that shows it.
func measureLogs(ctx context.Context, _ *limits, p *sluice) (judgement, error) {
	source, program := filepath.Join(p.dir, "printer.c"), filepath.Join(p.dir, "printer")
	if err := os.WriteFile(source, []byte(printer), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O1", "-o", program, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot compile the printer: %w: %s", err, out)
	}
	commit, err := p.commit(ctx, "project: bench\nbuilds:\n  talk: {run: \"sleep 0.5; exec "+program+"\", checkout: none}\n"+rest)
	if err != nil {
		return nil, err
	}
	run, err := p.announce(ctx, commit)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, run, event.TypeTaskStarted); err != nil {
		return nil, err
	}
	late, err := p.watchLog(ctx, string(run), "talk")
	if err != nil {
		return nil, err
	}
	if _, err := p.finish(ctx, run); err != nil {
		return nil, err
	}
	if len(late) != 40_000 {
		return nil, fmt.Errorf("%d of 40000 lines came to the client", len(late))
	}
	return func(machine) []row {
		return []row{
			measured("log line written → client, p50", 1000*quantile(late, 0.5), "ms", 100, "the goal itself", 1, false),
			measured("log line written → client, p99, 10 000 lines/s", 1000*quantile(late, 0.99), "ms", 100, "the goal itself", 1, false),
		}
	}, nil
}

// watchLog reads what the page of a task reads, and returns how old each line is when it comes.
func (p *sluice) watchLog(ctx context.Context, run, task string) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/runs/"+run+"/tasks/"+task+"/log?attempt=1", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	for err == nil && response.StatusCode == http.StatusNotFound { // the reporter is a few milliseconds behind
		_ = response.Body.Close()
		pause(ctx, 5*time.Millisecond)
		response, err = http.DefaultClient.Do(request)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the log was answered %s", response.Status)
	}
	stamp := regexp.MustCompile(`@(\d+)\.(\d{9})@`)
	var late []float64
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		now := time.Now()
		for _, m := range stamp.FindAllStringSubmatch(lines.Text(), -1) {
			s, _ := strconv.ParseInt(m[1], 10, 64)
			n, _ := strconv.ParseInt(m[2], 10, 64)
			late = append(late, now.Sub(time.Unix(s, n)).Seconds())
		}
	}
	return late, lines.Err()
}
