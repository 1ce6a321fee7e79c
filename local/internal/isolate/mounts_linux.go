package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Bind puts one directory over another, which both exist.
type Bind struct{ From, To string }

// EnterNamespaces gives the calling thread a network and a mount namespace of its own. Call it first on a NewThread.
//
// In the mount namespace /run is empty but for keep, a directory below the host's /run that stays visible; and binds are put in place. Mounts made
// later on the host appear inside, mounts made inside never appear on the host, and are shared with what is started inside: the container runtime
// and the kubelet need that for volumes.
func EnterNamespaces(keep string, binds []Bind) error {
	if err := syscall.Unshare(syscall.CLONE_NEWNET | syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	if err := mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC); err != nil {
		return err
	}
	for _, b := range binds {
		if err := mount(b.From, b.To, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	if err := privateRun(keep); err != nil {
		return err
	}
	return mount("", "/", "", syscall.MS_SHARED|syscall.MS_REC)
}

// privateRun empties /run: sockets, locks and network namespace files of the container runtime have fixed names there.
func privateRun(keep string) error {
	// A descriptor holds the directory while a file system covers it.
	held, err := os.Open(keep)
	if err != nil {
		return fmt.Errorf("directory of sockets: %w", err)
	}
	defer func() { _ = held.Close() }()
	if err := mount("tmpfs", "/run", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV); err != nil {
		return err
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return fmt.Errorf("directory of sockets: %w", err)
	}
	// The path is looked up by this thread, the only one inside: thread-self, not self.
	return mount(filepath.Join("/proc/thread-self/fd", fmt.Sprint(held.Fd())), keep, "", syscall.MS_BIND)
}

func mount(from, to, kind string, flags uintptr) error {
	if err := syscall.Mount(from, to, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %s over %s: %w", from, to, err)
	}
	return nil
}

// ThreadID is the calling thread's id, under which /proc shows its namespaces.
func ThreadID() int { return syscall.Gettid() }
