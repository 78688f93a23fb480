package planner

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// apart keeps a process out of the terminal's reach: Control-C is for the one that started it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// limitMemory lets this process have so many bytes more that it can write to.
func limitMemory(more uint64) error {
	limit := dataSize() + more
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}

// dataSize is what this process has of such memory now, where the system says so. A race detector's is large.
func dataSize() (size uint64) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmData: %d kB", &size); err == nil {
			return size << 10
		}
	}
	return 0
}
