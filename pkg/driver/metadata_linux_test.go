package driver

import (
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPacketsToTheMetadataAddressAreRefused runs the filter on packets, as the kernel would.
func TestPacketsToTheMetadataAddressAreRefused(t *testing.T) {
	fd, err := loadFilter(refusePackets(metadataAddresses()))
	if err != nil && os.Geteuid() != 0 {
		l, err := NewLocal(LocalOptions{Place: t.TempDir(), Cells: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		i := l.Isolation()
		if slices.Contains(i.Held, HoldsMetadata) || l.cells != nil && !strings.Contains(strings.Join(i.Missing, "\n"), "169.254.169.254") {
			t.Errorf("what no ordinary user can hold is told as %+v", i)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for to, want := range map[string]uint32{
		"169.254.169.254": 0, "169.254.169.253": 1, "169.254.170.254": 1, "127.0.0.1": 1,
		"fd00:ec2::254": 0, "fd00:ec2::253": 1, "fd00:ec3::254": 1, "::1": 1,
	} {
		if got := verdict(t, fd, packet(netip.MustParseAddr(to))); got != want {
			t.Errorf("a packet to %s gets %d, want %d", to, got, want)
		}
	}
}

// packet is one of UDP, with the header of its link.
func packet(to netip.Addr) []byte {
	p := make([]byte, 14+40+8)
	if to.Is4() {
		copy(p[12:], []byte{0x08, 0x00, 0x45, 0, 0, 48})
		p[14+9] = unix.IPPROTO_UDP
		copy(p[14+16:], to.AsSlice())
		return p
	}
	copy(p[12:], []byte{0x86, 0xdd, 0x60})
	p[14+5], p[14+6] = 8, unix.IPPROTO_UDP
	copy(p[14+24:], to.AsSlice())
	return p
}

func verdict(t *testing.T, filter int, packet []byte) uint32 {
	t.Helper()
	of := struct {
		filter, verdict, in, out uint32
		packet, result           uint64
		repeat, took             uint32
	}{filter: uint32(filter), in: uint32(len(packet)), packet: uint64(uintptr(unsafe.Pointer(&packet[0])))}
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&of)), unsafe.Sizeof(of))
	runtime.KeepAlive(packet)
	if errno != 0 {
		t.Fatalf("cannot run the filter: %v", errno)
	}
	return of.verdict
}
