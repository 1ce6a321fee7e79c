// Package isolate gives a cluster with a node its own network, mounts and control groups, and removes them again. This
// isolation keeps the cluster from disturbing the host or another cluster.
package isolate

import (
	"os"
	"os/exec"
	"runtime"
)

// Thread is an OS thread of this process. It runs until Close and may have its own namespaces. Commands that a Thread
// starts run in these namespaces and end with this process.
//
// The kernel kills the commands when the thread that started them ends. Therefore commands must not start from a thread
// that the Go runtime may end.
type Thread struct{ work chan func() }

// NewThread creates a thread and calls the given function on it, unless the function is nil. The function may change
// the thread's namespaces. If it fails, NewThread returns its error.
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

// offMainThread calls f on a thread that ends when f returns. This thread is never the first thread of the process, for
// two reasons: the first thread does not end, and other processes treat its namespaces as the namespaces of the whole
// process.
func offMainThread(f func()) {
	// The thread of f stays locked, so that it ends with its goroutine. A thread that has left the host's namespaces
	// must not run any other goroutine.
	runtime.LockOSThread()

	if ThreadID() != os.Getpid() {
		f()
		return
	}
	// This goroutine occupies the first thread until the next goroutine runs on another thread.
	running := make(chan struct{})
	go offMainThread(func() {
		close(running)
		f()
	})

	<-running
	runtime.UnlockOSThread()
}

// Do calls f on the thread, waits until f returns, and returns the error of f.
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

// Close ends the thread. The kernel kills the commands that the thread started, and removes the thread's namespaces
// when their last process ends.
func (t *Thread) Close() { close(t.work) }
