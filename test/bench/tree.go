package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// counted is one process of a tree: what the kernel counts of it.
type counted struct {
	pid, parent int
	cpu         float64 // seconds, its own and those of its children that have ended
}

// tree lists a process and all that descend from it: Sluice itself, the cells of its executors, and what runs in them.
func tree(root int) ([]counted, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]counted{}
	var list []counted
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		one, err := count(string(text))
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		children[one.parent] = append(children[one.parent], one)
		if one.pid == root {
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("process %d has ended", root)
	}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
	}
	return list, nil
}

// count reads a line of /proc/PID/stat. The name of the program, in parentheses, may hold anything.
func count(line string) (counted, error) {
	end := strings.LastIndex(line, ") ")
	if end < 0 {
		return counted{}, fmt.Errorf("it has no name: %.80q", line)
	}
	fields := strings.Fields(line[end+2:])
	if len(fields) < 15 {
		return counted{}, fmt.Errorf("it has %d fields behind the name, expected at least 15", len(fields))
	}
	var one counted
	if _, err := fmt.Sscan(line, &one.pid); err != nil {
		return one, err
	}
	if _, err := fmt.Sscan(fields[1], &one.parent); err != nil {
		return one, err
	}
	for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return one, err
		}
		one.cpu += n / 100 // USER_HZ is 100 on every Linux that Go runs on
	}
	return one, nil
}

// cpu is the CPU time, in seconds, of the process and of all that descends from it, also of what has ended.
func (p *sluice) cpu() (float64, error) {
	list, err := tree(p.cmd.Process.Pid)
	var total float64
	for _, one := range list {
		total += one.cpu
	}
	return total, err
}

// resident is the memory, in MiB, of the process and of all that descends from it. Pages that several of them have, such as
// the program's code, count once.
func (p *sluice) resident() (float64, error) {
	list, err := tree(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	var total float64
	for _, one := range list {
		kib, err := proportional(one.pid)
		if err != nil {
			kib, err = own(one.pid)
		}
		if err != nil && one.pid == p.cmd.Process.Pid {
			return 0, err
		}
		total += kib / 1024 // nothing of what has ended meanwhile
	}
	return total, nil
}

// proportional is a process's memory, in KiB, with its share of what it shares. Only root may read that of a cell.
func proportional(pid int) (float64, error) {
	return field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
}

// own is what a process shares with no other, in KiB.
func own(pid int) (float64, error) {
	return field(fmt.Sprintf("/proc/%d/status", pid), "RssAnon:")
}

func field(file, name string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strconv.ParseFloat(strings.Fields(rest)[0], 64)
		}
	}
	return 0, fmt.Errorf("there is no %s in %s", name, file)
}
