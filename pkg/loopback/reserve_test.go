package loopback

import (
	"net"
	"testing"
)

// A server may listen at the reserved address, end, and listen there again; nobody else is given its port meanwhile.
func TestReservedPortIsOfItsServerAlone(t *testing.T) {
	t.Parallel()
	address := ReserveFor(t)
	for range 2 {
		if _, err := net.Dial("tcp", address); err == nil {
			t.Fatal("something answers at a reserved port before its server listens")
		}
		for range 2000 {
			if other := listen(t, "127.0.0.1:0"); other == address {
				t.Fatalf("the system gave %s away", address)
			}
		}
		if got := listen(t, address); got != address {
			t.Fatalf("listening at %s, wanted %s", got, address)
		}
	}
}

func listen(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func TestEachReservationIsAnother(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		address := ReserveFor(t)
		if seen[address] {
			t.Fatalf("%s was reserved twice", address)
		}
		seen[address] = true
	}
}

func TestReleasedTwice(t *testing.T) {
	t.Parallel()
	_, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	release()
	release() // closes nothing that was given the socket's number since
}
