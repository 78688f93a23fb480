package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/loopback"
)

// TestScripts types what users type. Besides the commands of testscript there are
//
//	envsubst FILE          put the values of variables into a file
//	exits CODE COMMAND...  run a command that is to exit with a code
//	eventually CODE WORDS COMMAND...  run a command until it exits with a code and prints words
//	keep NAME PATTERN      set a variable to what the first group of a pattern matches in what was printed last
//	page PATH DIR          print a page of the Sluice that keeps its things in DIR
//	ready DIR              wait until the Sluice that keeps its things in DIR takes requests
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"envsubst":   envsubst,
			"eventually": eventually,
			"exits":      exits,
			"keep":       keep,
			"page":       page,
			"ready":      ready,
		},
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// setup gives a script ports that nobody uses, and git a name to commit with.
func setup(e *testscript.Env) error {
	for _, name := range []string{"PORT", "NATS_PORT"} {
		address, release, err := loopback.Reserve()
		if err != nil {
			return err
		}
		e.Defer(release)
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		e.Setenv(name, port)
	}
	for _, variable := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		e.Setenv(variable+"_NAME", "Ada")
		e.Setenv(variable+"_EMAIL", "ada@example.org")
	}
	e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	e.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	return nil
}

func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	if got := code(ts, args[1:]); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%v exited with %d, want %s", args[1:], got, args[0])
	}
}

// code runs a command and tells what it exits with.
func code(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("cannot run %s: %v", args[0], err)
	}
	if err != nil {
		return exit.ExitCode()
	}
	return 0
}

func eventually(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 3 {
		ts.Fatalf("usage: eventually CODE WORDS COMMAND...")
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		got := code(ts, args[2:])
		if strconv.Itoa(got) == args[0] && strings.Contains(ts.ReadFile("stdout"), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v exits with %d after 30s, want %s and %q", args[2:], got, args[0], args[1])
		}
	}
}

// condition knows [missing:PROGRAM], to skip a script on a laptop. With CI=true a missing program is an error.
func condition(text string) (bool, error) {
	program, ok := strings.CutPrefix(text, "missing:")
	if !ok {
		return false, fmt.Errorf("there is no condition %q", text)
	}
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		return false, fmt.Errorf("%s is missing: %w", program, err)
	}
	return err != nil, nil
}

func envsubst(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: envsubst FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

func keep(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: keep NAME PATTERN")
	}
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("%s matches nothing that was printed", args[1])
	}
	ts.Setenv(args[0], found[1])
}

func page(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 2 {
		ts.Fatalf("usage: page PATH DIR")
	}
	at, err := client.Find(client.Place{Dir: ts.MkAbs(args[1])})
	ts.Check(err)
	asking := http.Client{Timeout: time.Minute}
	answer, err := asking.Get(at.URL + args[0])
	ts.Check(err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(text)
	ts.Check(err)
}

func ready(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: ready DIR")
	}
	dir := ts.MkAbs(args[0])
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := answers(dir)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the Sluice in %s is not ready after 30s: %v", dir, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// answers asks the Sluice of a directory whether it is ready.
func answers(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, client.ConnectionFile)); err != nil {
		return err
	}
	at, err := client.Find(client.Place{Dir: dir})
	if err != nil {
		return err
	}
	asking := http.Client{Timeout: 5 * time.Second}
	answer, err := asking.Get(at.URL + "/readyz")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}
