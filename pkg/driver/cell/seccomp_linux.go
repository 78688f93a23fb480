package cell

import (
	"encoding/binary"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// abi is a way into the kernel, with the calls of it that commands may not make.
type abi struct {
	arch  uint32
	calls []uint32
}

// refused are the calls for the kernel's keys. A user's keys stay when all of its processes have ended, and whoever runs as
// that user next finds them, in any namespace. To commands the kernel is one without keys.
func refused() []abi {
	own := []uint32{unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL}
	switch runtime.GOARCH {
	case "amd64":
		return []abi{{unix.AUDIT_ARCH_X86_64, own}, {unix.AUDIT_ARCH_I386, []uint32{286, 287, 288}}}
	case "arm64":
		return []abi{{unix.AUDIT_ARCH_AARCH64, own}, {unix.AUDIT_ARCH_ARM, []uint32{309, 310, 311}}}
	case "riscv64":
		return []abi{{unix.AUDIT_ARCH_RISCV64, own}}
	case "ppc64le":
		return []abi{{unix.AUDIT_ARCH_PPC64LE, own}}
	case "s390x":
		return []abi{{unix.AUDIT_ARCH_S390X, own}}
	}
	return nil
}

// x32 marks the calls of another ABI of amd64, whose numbers are those of this one.
const x32 = 0x40000000

// Where a filter finds what it looks at: struct seccomp_data of linux/seccomp.h.
const (
	callAt = 0
	archAt = 4
)

// filter is a program of the kernel's: one ABI after the other, and everything of an ABI that is not among them is refused.
func filter(abis []abi) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(kind uint16, value uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | kind | unix.BPF_K, K: value, Jt: uint8(yes), Jf: uint8(no)}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	no := end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	program := []unix.SockFilter{load(archAt)}
	for _, one := range abis {
		n := len(one.calls)
		program = append(program, jump(unix.BPF_JEQ, one.arch, 0, n+4), load(callAt))
		most := uint32(1<<32 - 1)
		if one.arch == unix.AUDIT_ARCH_X86_64 {
			most = x32
		}
		program = append(program, jump(unix.BPF_JGE, most, n+1, 0))
		for i, call := range one.calls {
			program = append(program, jump(unix.BPF_JEQ, call, n-i, 0))
		}
		program = append(program, end(unix.SECCOMP_RET_ALLOW), no)
	}
	return append(program, no)
}

// Filter is what refuses those calls, as programs take it that make a sandbox; nil where this package knows none.
func Filter() []byte {
	abis := refused()
	if abis == nil {
		return nil
	}
	var b []byte
	for _, step := range filter(abis) {
		b = binary.NativeEndian.AppendUint16(b, step.Code)
		b = append(b, step.Jt, step.Jf)
		b = binary.NativeEndian.AppendUint32(b, step.K)
	}
	return b
}

// refuse makes the kernel refuse calls of this thread and of all that it starts, for good.
func refuse() error {
	// What the program's session has is not the commands', also where the kernel itself looks for a key.
	_, _, _ = unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0) // a kernel may have no keys
	abis := refused()
	if abis == nil {
		return nil
	}
	steps := filter(abis)
	program := unix.SockFprog{Len: uint16(len(steps)), Filter: &steps[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(steps)
	return os.NewSyscallError("prctl seccomp", err)
}
