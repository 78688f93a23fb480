package cell

import (
	"reflect"
	"testing"
	"time"
)

func command() Command {
	return Command{
		Program: "/bin/sh", Args: []string{"sh", "", "\xff\n"}, Env: []string{"A=b"}, Dir: "/d", Home: "/h",
		Trees: []Tree{{Source: "/a", Target: "/b", Writable: true}, {Source: "/c", Target: "/c"}}, Limits: []Limit{{1, 2, 1<<64 - 1}},
	}
}

func TestFramesKeepWhatTheyCarry(t *testing.T) {
	if got, err := decodeCommand(command().encode()); err != nil || !reflect.DeepEqual(got, command()) {
		t.Errorf("a command becomes %+v, %v", got, err)
	}
	exit := Exit{Status: 256, Started: time.Unix(1, 2), Ended: time.Unix(3, 4), User: 5, System: 6, MaxRSS: 7, Leftovers: 8, Dirty: true}
	if got, err := decodeExit(exit.encode()); err != nil || !reflect.DeepEqual(got, exit) {
		t.Errorf("an exit becomes %+v, %v", got, err)
	}
}

// FuzzDecode: what is cut off or forged is an error, and takes no more memory than it is long.
func FuzzDecode(f *testing.F) {
	whole := command().encode()
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCommand(b)
		if err == nil && len(c.Args)+len(c.Env)+len(c.Trees)+len(c.Limits) > len(b) {
			t.Errorf("%d bytes give %+v", len(b), c)
		}
		_, _ = decodeExit(b)
	})
}
