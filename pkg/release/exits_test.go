package release

import "testing"

func TestExits(t *testing.T) {
	t.Parallel()
	list := []Exit{{75, 75, ClassInfra}, {100, 109, ClassSetup}, {105, 105, ClassAlert}}
	for status, want := range map[int32]Class{
		1: ClassCommand, 74: ClassCommand, 75: ClassInfra, 76: ClassCommand, 99: ClassCommand, 100: ClassSetup, 105: ClassSetup,
		109: ClassSetup, 110: ClassCommand, 255: ClassCommand,
	} {
		if got := ClassOfExit(list, status, ClassCommand); got != want {
			t.Errorf("status %d is %s, want %s", status, got, want)
		}
	}
	for text, want := range map[string][2]int32{"75": {75, 75}, "1-255": {1, 255}, "100-109": {100, 109}} {
		if from, to, err := ParseExits(text); err != nil || [2]int32{from, to} != want {
			t.Errorf("%q: got %d to %d, %v", text, from, to, err)
		}
	}
	for _, text := range []string{"", "0", "0-3", "256", "-1", "9-3", "1-", "x", "1-2-3", "1.5", "+1"} {
		if _, _, err := ParseExits(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for _, c := range ExitClasses() {
		if c == ClassOK || c == ClassLost || c == ClassCancelled || c.Outcome() == Success {
			t.Errorf("a status can mean %s", c)
		}
	}
}
