package world

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process took so far.
type Usage struct {
	CPU      time.Duration // user and system time since its start, in steps of 10 ms
	Resident int64         // bytes, now
	Peak     int64         // bytes, the most that were ever resident
}

// UsageOf reads what a process took from /proc/PID (proc(5)). It costs that process nothing.
func UsageOf(pid int) (Usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Usage{}, err
	}
	u, err := parseUsage(stat, status)
	if err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return u, nil
}

func parseUsage(stat, status []byte) (u Usage, err error) {
	// The command's name, the second field, may hold blanks and brackets: count from its last bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, errors.New("stat line is not as proc(5) has it")
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(ticks) * (time.Second / 100) // USER_HZ is 100 on every Linux that Go runs on
	}
	for line := range strings.Lines(string(status)) {
		for prefix, into := range map[string]*int64{"VmRSS:": &u.Resident, "VmHWM:": &u.Peak} {
			rest, ok := strings.CutPrefix(line, prefix)
			if !ok {
				continue
			}
			if _, err := fmt.Sscanf(rest, "%d kB", into); err != nil {
				return u, fmt.Errorf("%s %w", prefix, err)
			}
			*into <<= 10
		}
	}
	return u, nil
}

// Components reads what each process of the control plane took so far, by its name: etcd, kube-apiserver, kube-controller-manager and, with Options.Scheduler,
// kube-scheduler.
func (w *World) Components() (map[string]Usage, error) {
	text, err := os.ReadFile(filepath.Join(w.Dir, "state.json"))
	if err != nil {
		return nil, err
	}
	var state struct {
		Components []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, err
	}
	all := map[string]Usage{}
	for _, c := range state.Components {
		if c.PID == 0 {
			return nil, fmt.Errorf("%s does not run; its log is in %s", c.Name, w.Dir)
		}
		if all[c.Name], err = UsageOf(c.PID); err != nil {
			return nil, err
		}
	}
	return all, nil
}
