package driver

import (
	"encoding/binary"
	"net/netip"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// metadataAddresses are where clouds tell a machine who it is, and hand out its credentials.
func metadataAddresses() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254")}
}

// instruction is one of the kernel's eBPF: linux/bpf.h.
type instruction struct {
	code      uint8
	registers uint8 // the source above the destination
	jump      int16
	value     int32
}

// The instructions of the filter. Registers 6 to 9 outlive a call, 10 is the end of the stack.
const (
	loadWord   = unix.BPF_LDX | unix.BPF_W | unix.BPF_MEM
	copyValue  = 0x07 | unix.BPF_K | 0xb0 // 64 bits
	copyOther  = 0x07 | unix.BPF_X | 0xb0
	addValue   = 0x07 | unix.BPF_K | unix.BPF_ADD
	otherWord  = 0x06 | unix.BPF_K | 0x50 // 32 bits
	callHelper = unix.BPF_JMP | 0x80
	leave      = unix.BPF_JMP | 0x90

	loadBytes  = 26 // bpf_skb_load_bytes
	protocolAt = 16 // in struct __sk_buff
	onStack    = -16
)

// refusePackets is a program for what is sent: everything passes but what goes to some addresses.
func refusePackets(to []netip.Addr) []instruction {
	program := []instruction{
		{code: copyOther, registers: 1<<4 | 6},
		{code: loadWord, registers: 6<<4 | 7, jump: protocolAt},
	}
	for _, addr := range to {
		program = append(program, refuseOne(addr)...)
	}
	return append(program, instruction{code: copyValue, value: 1}, instruction{code: leave})
}

// refuseOne ends the program for a packet to one address, and goes on behind itself with any other.
func refuseOne(addr netip.Addr) []instruction {
	kind, at := []byte{0x08, 0x00}, int32(16) // where the header of a packet has the receiver
	if addr.Is6() {
		kind, at = []byte{0x86, 0xdd}, 24
	}
	words := addr.AsSlice()
	part := []instruction{
		{code: otherWord, registers: 7, value: int32(binary.NativeEndian.Uint16(kind))},
		{code: copyOther, registers: 6<<4 | 1},
		{code: copyValue, registers: 2, value: at},
		{code: copyOther, registers: 10<<4 | 3},
		{code: addValue, registers: 3, value: onStack},
		{code: copyValue, registers: 4, value: int32(len(words))},
		{code: callHelper, value: loadBytes},
		{code: otherWord}, // what has no whole header has no receiver
	}
	for i := 0; i < len(words); i += 4 {
		part = append(part, instruction{code: loadWord, registers: 10<<4 | 1, jump: int16(onStack + i)},
			instruction{code: otherWord, registers: 1, value: int32(binary.NativeEndian.Uint32(words[i:]))})
	}
	part = append(part, instruction{code: copyValue}, instruction{code: leave})
	for i := range part {
		if part[i].code == otherWord {
			part[i].jump = int16(len(part) - i - 1)
		}
	}
	return part
}

// loadFilter gives a filter of packets to the kernel.
func loadFilter(program []instruction) (int, error) {
	license := []byte("GPL\x00")
	of := struct {
		kind, count      uint32
		program, license uint64
		_                [2]uint32
		_                uint64
		_, _             uint32
		name             [16]byte
		_                uint32
		attach           uint32
	}{
		kind: unix.BPF_PROG_TYPE_CGROUP_SKB, count: uint32(len(program)), attach: unix.BPF_CGROUP_INET_EGRESS,
		program: uint64(uintptr(unsafe.Pointer(&program[0]))), license: uint64(uintptr(unsafe.Pointer(&license[0]))),
	}
	copy(of.name[:], "sluice_metadata")
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&of)), unsafe.Sizeof(of))
	runtime.KeepAlive(program)
	runtime.KeepAlive(license)
	if errno != 0 {
		return -1, os.NewSyscallError("bpf: load", errno)
	}
	return int(fd), nil
}

// refuseMetadata lets nothing in a control group of version 2, and in those below it, send to the metadata address. A filter of
// an earlier executor is replaced.
func refuseMetadata(group string) error {
	fd, err := loadFilter(refusePackets(metadataAddresses()))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	dir, err := os.Open(group)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	of := struct{ group, filter, kind, flags uint32 }{uint32(dir.Fd()), uint32(fd), unix.BPF_CGROUP_INET_EGRESS, 0}
	if _, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_ATTACH, uintptr(unsafe.Pointer(&of)), unsafe.Sizeof(of)); errno != 0 {
		return os.NewSyscallError("bpf: attach", errno)
	}
	return nil
}
