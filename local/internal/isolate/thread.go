// Package isolate gives a cluster with a node its own network, mounts and control groups, so that it disturbs neither the host nor another
// cluster, and takes them away again.
package isolate

import (
	"os"
	"os/exec"
	"runtime"
)

// Thread is one thread of this process that lives for good, possibly in namespaces of its own. What it starts is started inside them, and
// dies with this process: the kernel sends the death signal when the starting thread ends, so that thread must never be one that the Go
// runtime may take away.
type Thread struct{ work chan func() }

// NewThread makes a thread and calls enter on it first, which may change the thread's namespaces (nil: none). The thread is of no use when
// enter fails.
func NewThread(enter func() error) (*Thread, error) {
	t := &Thread{work: make(chan func())}
	entered := make(chan error)
	go offMainThread(func() {
		if enter != nil {
			if err := enter(); err != nil {
				entered <- err
				return
			}
		}
		entered <- nil
		for f := range t.work {
			f()
		}
	})
	if err := <-entered; err != nil {
		return nil, err
	}
	return t, nil
}

// offMainThread calls f on a thread that ends with it and is not the first of the process: that one never ends, and its namespaces are what the rest
// of the machine sees as the process's.
func offMainThread(f func()) {
	// Never unlocked by f's way out: a thread that has left the host's namespaces must not run any other goroutine.
	runtime.LockOSThread()
	if ThreadID() != os.Getpid() {
		f()
		return
	}
	// While this goroutine keeps the first thread to itself, the next one gets another.
	running := make(chan struct{})
	go offMainThread(func() {
		close(running)
		f()
	})
	<-running
	runtime.UnlockOSThread()
}

// Do calls f on the thread and waits for it.
func (t *Thread) Do(f func() error) error {
	done := make(chan error)
	t.work <- func() { done <- f() }
	return <-done
}

// Launch starts a command from the thread. The command ends with this process.
func (t *Thread) Launch(cmd *exec.Cmd) error {
	dieWithParent(cmd)
	return t.Do(cmd.Start)
}

// Close ends the thread: its namespaces end with the last process in them, and what it has started and still runs is killed.
func (t *Thread) Close() { close(t.work) }
