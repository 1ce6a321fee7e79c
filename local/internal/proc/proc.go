// Package proc identifies processes and ends them. It identifies a process by its ID together with its start time,
// because the kernel reuses process IDs.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ID identifies a process until the machine reboots. The zero value identifies no process.
type ID struct {
	// PID is the process ID in the PID namespace of this process.
	PID int `json:"pid,omitempty"`
	// Start is the start time in clock ticks since boot: field 22 of /proc/PID/stat.
	Start uint64 `json:"start,omitempty"`
}

// Of returns the identity of a running process. The error is fs.ErrNotExist if no process has this process ID, or if
// the process is a zombie.
func Of(pid int) (ID, error) {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ID{}, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}

	s, err := parseStat(line)
	if err != nil {
		return ID{}, fmt.Errorf("process %d: %w", pid, err)
	}

	if s.dead() {
		return ID{}, fmt.Errorf("process %d has ended: %w", pid, fs.ErrNotExist)
	}
	return ID{PID: pid, Start: s.start}, nil
}

// stat holds the fields of /proc/PID/stat that this package uses.
type stat struct {
	state  byte
	parent int
	start  uint64
}

// dead reports whether the process has ended. Such a process still has an entry in /proc until its parent reaps it.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// parseStat parses a line of /proc/PID/stat (proc(5)). It counts fields from the last parenthesis, because field 2, the
// command, may contain spaces and parentheses.
func parseStat(line []byte) (stat, error) {
	end := bytes.LastIndexByte(line, ')')

	fields := strings.Fields(string(line[end+1:]))
	if end < 0 || len(fields) < 20 {
		return stat{}, errors.New("the stat line does not have the format of proc(5)")
	}

	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return stat{}, fmt.Errorf("parent in the stat line: %w", err)
	}

	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time in the stat line: %w", err)
	}
	return stat{state: fields[0][0], parent: parent, start: start}, nil
}

// DeadChildren returns the zombies among the children of a process.
func DeadChildren(parent int) []ID {
	var found []ID
	for _, pid := range all() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			continue
		}

		if s, err := parseStat(line); err == nil && s.dead() && s.parent == parent {
			found = append(found, ID{PID: pid, Start: s.start})
		}
	}
	return found
}

// Alive reports whether the process with this identity still runs.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}

	now, err := Of(id.PID)
	return err == nil && now == id
}

// Signal sends a signal to the process with this identity. It does not send the signal to a later process that has the
// same PID.
func (id ID) Signal(sig syscall.Signal) error {
	if !id.Alive() {
		return nil
	}

	if err := syscall.Kill(id.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process %d: %w", sig, id.PID, err)
	}
	return nil
}

// WaitGone waits until the process has ended, for at most the duration limit. It reports whether the process has ended.
func (id ID) WaitGone(limit time.Duration) bool {
	for end := time.Now().Add(limit); id.Alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// BootID identifies the current boot of the machine. It is empty if the kernel does not report it.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// InNamespaces returns the processes that are in any of the given namespaces. The keys of inodes are kinds of
// namespaces, and the values are the inode numbers of the /proc/PID/ns/KIND links, for example {"net": 4026532281}. The
// inode number 0 matches no process.
func InNamespaces(inodes map[string]uint64) []int {
	var found []int
	for _, pid := range all() {
		for kind, inode := range inodes {
			if have, err := Namespace(strconv.Itoa(pid), kind); err == nil && inode != 0 && have == inode {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// Namespace returns the inode number of a namespace of a process. The parameter `pid` is a process ID, "self" or
// "thread-self". The parameter `kind` is a name in /proc/PID/ns, such as "net".
func Namespace(pid, kind string) (uint64, error) {
	target, err := os.Readlink(filepath.Join("/proc", pid, "ns", kind))
	if err != nil {
		return 0, fmt.Errorf("read the %s namespace of process %s: %w", kind, pid, err)
	}

	_, number, _ := strings.Cut(target, "[")

	inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the link of the %s namespace, %q, contains no inode number: %w", kind, target, err)
	}
	return inode, nil
}

// KillAll kills every process that the given function returns, except this process. It repeats this until the function
// returns no other process, because a process may fork before it dies. If processes still exist after the limit, the
// error lists them.
func KillAll(limit time.Duration, find func() []int) error {
	end := time.Now().Add(limit)
	for {
		remaining := slices.DeleteFunc(find(), func(pid int) bool { return pid == os.Getpid() })
		if len(remaining) == 0 {
			return nil
		}

		for _, pid := range remaining {
			if pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}

		if time.Now().After(end) {
			return fmt.Errorf("the processes %v still run %v after they received SIGKILL", remaining, limit)
		}

		time.Sleep(20 * time.Millisecond)
	}
}

func all() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}

	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
