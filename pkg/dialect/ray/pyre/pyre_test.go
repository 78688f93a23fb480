package pyre

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestAsPython holds matches to a table that Python's own module has answered: expression, text, whether the whole matches,
// whether the start does; "error" for what it refuses.
func TestAsPython(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/python.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := 0
	for scan := bufio.NewScanner(f); scan.Scan(); lines++ {
		cells := strings.Split(scan.Text(), "\t")
		expression, err1 := strconv.Unquote(cells[0])
		text, err2 := strconv.Unquote(cells[1])
		if err1 != nil || err2 != nil || len(cells) != 4 {
			t.Fatalf("line %d is %q", lines+1, scan.Text())
		}
		want := cells[2] + " " + cells[3]
		if got := answer(expression, text); got != want {
			t.Errorf("%q with %q: got %s, want %s", expression, text, got, want)
		}
	}
	if lines < 1000 {
		t.Errorf("the table has %d lines", lines)
	}
}

func answer(expression, text string) string {
	e, err := Compile(expression)
	if err != nil {
		return "error error"
	}
	full, err1 := e.Full(text, &Budget{Steps: 1_000_000})
	start, err2 := e.Start(text, &Budget{Steps: 1_000_000})
	if err1 != nil || err2 != nil {
		return "spent"
	}
	return strconv.FormatBool(full) + " " + strconv.FormatBool(start)
}

// TestTheBudgetEndsIt: what would take Python until tomorrow takes no more than its budget.
func TestTheBudgetEndsIt(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"(a+)+$", "(a|a)*b", "(?:(?:a*)*)*b", "(.*)(.*)(.*)(.*)(.*)x", `(a*)*\1b`} {
		e, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		budget := &Budget{Steps: 100_000}
		if _, err := e.Full(strings.Repeat("a", 5000)+"!", budget); !errors.Is(err, ErrBudget) || budget.Steps != 0 {
			t.Errorf("%s: got %v with %d steps left", expression, err, budget.Steps)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{"(?!.*gce).*", ".*(?<!a)", "(?i)a|b", "[(]", `\(`, "(?=(a|b))c", "a{2,3}?", `(?P<x>a)(?P=x)`, "[^]a-z\\d]+"} {
		f.Add(s, "abc")
	}
	f.Fuzz(func(_ *testing.T, expression, text string) {
		if e, err := Compile(expression); err == nil {
			b := &Budget{Steps: 10_000}
			_, _ = e.Full(text, b)
			_, _ = e.Start(text, b)
		}
	})
}
