package isolate

import (
	"os"
	"syscall"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// AdoptOrphans makes this process the parent of every process below it that loses its own: containers and their shims, mostly. Without, the first
// process of the machine gets them, and that of a container often is a program that never waits for a child, so that the dead pile up.
func AdoptOrphans() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// Reaper takes adopted children away after their death. Children that this process has started itself belong to os/exec, which waits for each
// in a system call: one that is still dead at the next look is an adopted one.
type Reaper struct{ dead map[proc.ID]bool }

// Reap looks once. Call it every second or so.
func (r *Reaper) Reap() {
	now := map[proc.ID]bool{}
	for _, id := range proc.DeadChildren(os.Getpid()) {
		if r.dead[id] {
			_, _ = syscall.Wait4(id.PID, nil, syscall.WNOHANG, nil)
			continue
		}
		now[id] = true
	}
	r.dead = now
}
