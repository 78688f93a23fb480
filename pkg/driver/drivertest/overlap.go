package drivertest

import (
	"flag"
	"testing"
)

// atOnce is how many parallel tests run where they wait more than they compute.
const atOnce = "8"

// Overlap runs the tests of a package, more at once than there are processors: they wait for processes most of their
// time. A number on the command line wins. It is for TestMain.
func Overlap(m *testing.M) int {
	flag.Parse()
	stated := false
	flag.Visit(func(f *flag.Flag) { stated = stated || f.Name == "test.parallel" })
	if !stated {
		_ = flag.Set("test.parallel", atOnce) // it is a flag of every test, and this is a number
	}
	return m.Run()
}
