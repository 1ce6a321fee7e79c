package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Bind is a bind mount of the directory From over the directory To. Both directories must exist.
type Bind struct{ From, To string }

// EnterNamespaces moves the calling thread into a new network namespace and a new mount namespace, and mounts the binds
// there. Call it in the function that is passed to NewThread.
//
// In the mount namespace, /run is empty except for one directory below the host's /run that stays visible. The
// parameter `keep` is its path. Later mounts on the host appear inside the namespace, but mounts inside never appear on
// the host. All processes that are started inside see each other's mounts, because the container runtime and the
// kubelet exchange volumes in this way.
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

// privateRun mounts an empty file system over /run, in which only the given directory of the host's /run stays visible.
// The container runtime uses fixed names below /run for sockets, locks and network namespaces. Without the mount, these
// names would collide with the host's.
func privateRun(keep string) error {
	// The open descriptor still refers to the directory when the new file system covers the path.
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
	// The path must be thread-self, not self, because only this thread is in the namespace.
	return mount(filepath.Join("/proc/thread-self/fd", fmt.Sprint(held.Fd())), keep, "", syscall.MS_BIND)
}

func mount(from, to, kind string, flags uintptr) error {
	if err := syscall.Mount(from, to, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %s over %s: %w", from, to, err)
	}
	return nil
}

// ThreadID returns the ID of the calling thread, under which /proc shows its namespaces.
func ThreadID() int { return syscall.Gettid() }
