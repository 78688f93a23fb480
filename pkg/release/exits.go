package release

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Exit is what exit statuses of a task's command, or of its preparation, mean: so that a script can say whose fault a failure is.
type Exit struct {
	From  int32 `json:"from"`
	To    int32 `json:"to"` // the last one
	Class Class `json:"class"`
}

// ExitClasses are the classes that a status can mean. Success is status 0 alone; that an attempt was lost or cancelled is for the
// platform to say.
func ExitClasses() []Class {
	return slices.DeleteFunc(Classes(), func(c Class) bool { return c == ClassOK || c == ClassLost || c == ClassCancelled })
}

// ParseExits reads "75" or "100-109", statuses from 1 to 255.
func ParseExits(text string) (from, to int32, err error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, err1 := strconv.ParseUint(low, 10, 8)
	last, err2 := strconv.ParseUint(high, 10, 8)
	if err1 != nil || err2 != nil || first == 0 || last < first {
		return 0, 0, fmt.Errorf("cannot read the exit status %.20q, expected a number from 1 to 255, or a range such as 100-109", text)
	}
	return int32(first), int32(last), nil
}

// ClassOfExit is the class of a status by the first entry of a list that has it, else the one that is given.
func ClassOfExit(list []Exit, status int32, otherwise Class) Class {
	for _, e := range list {
		if status >= e.From && status <= e.To {
			return e.Class
		}
	}
	return otherwise
}
