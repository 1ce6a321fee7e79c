package isolate

import (
	"os"
	"syscall"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// AdoptOrphans makes this process the parent of every descendant whose own parent ends. These descendants are mostly
// containers and their shims. Without AdoptOrphans, the machine's first process would become their parent. If the
// machine is a container, its first process often never waits for its children, so zombies would accumulate.
func AdoptOrphans() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}

// Reaper reaps adopted children. The package os/exec reaps the children that this process started itself, as soon as
// they end. A child that is a zombie in two consecutive calls of Reap is therefore an adopted child.
type Reaper struct{ dead map[proc.ID]bool }

// Reap reaps the children that were already zombies at the previous call. Call it about once a second.
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
