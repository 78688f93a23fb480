// Package loopback keeps ports of this machine for servers that start later, start again, or never start: tests and
// benchmarks name an address in a configuration before anything listens there.
//
// Listening on port 0, closing, and using the number is a race that a busy machine loses: between the two, the number
// is anybody's, also the local end of an outgoing connection. A reserved port stays bound, without listening, so that
// the system gives it to nobody who asks for any port; a server that asks for this number gets it, as often as it likes.
package loopback

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Reserve keeps a TCP port of 127.0.0.1 until release is called or the process ends. Connections to it are refused until
// a server that sets SO_REUSEADDR, as servers do, listens there.
func Reserve() (address string, release func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a socket to reserve a port: %w", err)
	}
	syscall.CloseOnExec(socket)
	release = sync.OnceFunc(func() { _ = syscall.Close(socket) })
	port, err := bind(socket)
	if err != nil {
		release()
		return "", nil, fmt.Errorf("cannot reserve a port of 127.0.0.1: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release, nil
}

func bind(socket int) (int, error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	return bound.(*syscall.SockaddrInet4).Port, nil
}

// ReserveFor reserves a port until the test ends.
func ReserveFor(t testing.TB) string {
	t.Helper()
	address, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}
