// Pause holds the namespaces of a pod. It is the first process of every pod and does nothing until it receives SIGTERM
// or SIGINT. If the containers of the pod share a process namespace, the first process inherits their orphaned
// processes. It must reap them, because otherwise they stay as zombies.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)

	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		// One SIGCHLD may stand for several children.
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
				break
			}
		}
	}
}
