package driver

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Users is a range of user ids, written "200000-200063".
type Users struct{ First, Last int }

// Where the default range begins, and how many users it has. No distribution gives out ids there: they are above those that
// systemd keeps for containers, and below 2^31.
const (
	defaultFirst = 1_900_000_000
	defaultCount = 256
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *Users) UnmarshalText(text []byte) error {
	var rest string
	n, _ := fmt.Sscanf(string(text), "%d-%d%s", &u.First, &u.Last, &rest)
	if n != 2 || u.First < 1000 || u.Last < u.First || u.Last-u.First >= 1<<16 || u.Last >= 1<<31-1 {
		return fault.New(fault.Invalid, "cannot use %.60q as a range of users: expected FIRST-LAST, such as 200000-200063, from 1000 on and with at most 65536 ids", text)
	}
	return nil
}

func (u Users) String() string { return fmt.Sprintf("%d-%d", u.First, u.Last) }

func (u Users) count() int { return u.Last - u.First + 1 }

// orDefault is the range, or one that this machine knows where none is given.
func (u Users) orDefault() (Users, error) {
	if u != (Users{}) {
		return u, nil
	}
	u = Users{defaultFirst, defaultFirst + defaultCount - 1}
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return u, nil //nolint:nilerr // A system without maps knows all ids.
	}
	largest := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var inside, outside, size int
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &size); err != nil {
			continue
		}
		if inside <= u.First && u.Last < inside+size {
			return u, nil
		}
		if size > largest && size > 4*defaultCount { // In a user namespace the upper end of what it has, but for "nobody".
			largest = size
			u = Users{inside + size - 3*defaultCount, inside + size - 2*defaultCount - 1}
		}
	}
	return u, nil
}
