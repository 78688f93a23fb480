package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// JUnit reads one JUnit XML file. There is no schema that all writers keep, so it takes either root (testsuite or
// testsuites), counts the cases itself, believes a suite that states more of them than it lists, takes seconds with
// commas, and knows the marks of reruns (flakyFailure, flakyError: passed in the end; rerunFailure, rerunError: one of
// several failures). A suite that has neither cases nor suites is an error, as is a file of more than 64 MiB or 64
// levels, or one that defines entities of its own.
func JUnit(r io.Reader) (Summary, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes + 1}
	reader := &junitReader{decoder: xml.NewDecoder(limited)}
	reader.decoder.CharsetReader = charset
	err := reader.read()
	if limited.N <= 0 {
		err = unreadable("the JUnit report", "it has more than %d MiB", maxBytes>>20)
	}
	if err != nil {
		return Summary{}, err
	}
	return reader.sum, nil
}

type junitReader struct {
	decoder *xml.Decoder
	suites  []*suite // open suites, outermost first
	current *testCase
	depth   int
	rooted  bool
	sum     Summary
}

// suite is what one testsuite element states and what was seen in it.
type suite struct {
	name    string
	stated  counts
	seen    counts
	nested  bool
	seconds float64
}

type counts struct{ total, failed, skipped, flaky int32 }

type testCase struct {
	name                   string
	failed, skipped, flaky bool
	message                string
	body                   strings.Builder // text of the failure, for those that have no message
	inFailure              bool
}

func (r *junitReader) read() error {
	for {
		token, err := r.decoder.Token()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err != nil {
			return unreadable("the JUnit report", "%w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = r.open(t)
		case xml.EndElement:
			err = r.close(t.Name.Local)
		case xml.CharData:
			r.text(t)
		case xml.Directive:
			if strings.Contains(string(t), "<!ENTITY") {
				err = unreadable("the JUnit report", "it defines entities")
			}
		}
		if err != nil {
			return err
		}
	}
}

func (r *junitReader) finish() error {
	switch {
	case !r.rooted:
		return unreadable("the JUnit report", "it is empty")
	case r.sum.Count.Total == 0:
		return unreadable("the JUnit report", "it tells of no test; a test run that tests nothing does not pass")
	}
	return nil
}

func (r *junitReader) open(t xml.StartElement) error {
	if r.depth++; r.depth > maxDepth {
		return unreadable("the JUnit report", "it is nested deeper than %d levels", maxDepth)
	}
	name := t.Name.Local
	if !r.rooted {
		r.rooted = true
		if name != "testsuite" && name != "testsuites" {
			return unreadable("the JUnit report", "its root is <%s>, expected <testsuite> or <testsuites>", short(name, 40))
		}
	}
	switch {
	case name == "testsuite" && r.current == nil:
		r.openSuite(t)
	case name == "testcase" && r.current == nil:
		r.openCase(t)
	case r.current != nil:
		r.mark(t)
	}
	return nil
}

func (r *junitReader) openSuite(t xml.StartElement) {
	if n := len(r.suites); n > 0 {
		r.suites[n-1].nested = true
	}
	s := &suite{name: attribute(t, "name"), seconds: seconds(attribute(t, "time"))}
	s.stated = counts{
		total:   count(attribute(t, "tests")),
		failed:  count(attribute(t, "failures")) + count(attribute(t, "errors")),
		skipped: max(count(attribute(t, "skipped")), count(attribute(t, "disabled"))),
	}
	r.suites = append(r.suites, s)
}

func (r *junitReader) openCase(t xml.StartElement) {
	name := attribute(t, "name")
	if class := attribute(t, "classname"); class != "" {
		name = class + "." + name
	}
	r.current = &testCase{name: name, skipped: attribute(t, "status") == "notrun"}
}

// mark reads what stands within a testcase.
func (r *junitReader) mark(t xml.StartElement) {
	switch t.Name.Local {
	case "failure", "error":
		r.current.inFailure = !r.current.failed
		if r.current.inFailure {
			r.current.message = attribute(t, "message")
		}
		r.current.failed = true
	case "skipped":
		r.current.skipped = true
	case "flakyFailure", "flakyError":
		r.current.flaky = true
	}
}

func (r *junitReader) text(t xml.CharData) {
	if r.current != nil && r.current.inFailure && r.current.body.Len() < maxMessage {
		r.current.body.Write(t[:min(len(t), maxMessage)])
	}
}

func (r *junitReader) close(name string) error {
	r.depth--
	switch name {
	case "failure", "error":
		if r.current != nil {
			r.current.inFailure = false
		}
	case "testcase":
		if r.current != nil {
			r.closeCase(r.current)
			r.current = nil
		}
	case "testsuite":
		if n := len(r.suites); n > 0 && r.current == nil {
			s := r.suites[n-1]
			r.suites = r.suites[:n-1]
			return r.closeSuite(s)
		}
	}
	return nil
}

func (r *junitReader) closeCase(c *testCase) {
	seen := counts{total: 1}
	switch {
	case c.failed:
		seen.failed = 1
		if c.message == "" {
			c.message = c.body.String()
		}
		r.sum.fail(Case{Suite: r.suiteName(), Name: c.name, Message: c.message})
	case c.skipped:
		seen.skipped = 1
	case c.flaky:
		seen.flaky = 1
	}
	if n := len(r.suites); n > 0 {
		r.suites[n-1].seen.add(seen)
		return
	}
	r.sum.take(seen)
}

func (r *junitReader) suiteName() string {
	if n := len(r.suites); n > 0 {
		return r.suites[n-1].name
	}
	return ""
}

// closeSuite counts a suite. What it states is believed where that is worse than what it lists; a suite of suites
// states the sums of those within, which are counted already.
func (r *junitReader) closeSuite(s *suite) error {
	if !s.nested {
		s.seen.total = max(s.seen.total, s.stated.total)
		s.seen.failed = max(s.seen.failed, s.stated.failed)
		if s.seen.total == s.stated.total {
			s.seen.skipped = max(s.seen.skipped, s.stated.skipped)
		}
		if s.seen.total == 0 {
			return unreadable("the JUnit report", "its suite %q has no test", short(s.name, maxName))
		}
		r.sum.Seconds += s.seconds
	}
	r.sum.take(s.seen)
	return nil
}

func (c *counts) add(o counts) {
	c.total = sum(c.total, o.total)
	c.failed = sum(c.failed, o.failed)
	c.skipped = sum(c.skipped, o.skipped)
	c.flaky = sum(c.flaky, o.flaky)
}

func (s *Summary) take(c counts) {
	s.Add(Summary{Count: release.TestCount{Total: c.total, Failed: c.failed, Skipped: c.skipped, Flaky: c.flaky}})
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// count reads a stated number; what is missing, negative or no number counts as nothing stated.
func count(text string) int32 {
	n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

func seconds(text string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if err != nil || v < 0 || v > 1e9 {
		return 0
	}
	return v
}

// charset reads the old encodings that JUnit files still come in.
func charset(label string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1", "windows-1252":
		return &latin1{from: input}, nil
	}
	return nil, fmt.Errorf("its encoding %q is not known, expected UTF-8", short(label, 40))
}

// latin1 turns every byte into the character of the same number.
type latin1 struct{ from io.Reader }

func (l *latin1) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return 0, io.ErrShortBuffer
	}
	half := make([]byte, len(p)/2)
	n, err := l.from.Read(half)
	out := p[:0]
	for _, b := range half[:n] {
		out = append(out, string(rune(b))...)
	}
	return len(out), err
}
