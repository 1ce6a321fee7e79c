package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
)

// SuspendComponent suspends a program of the cluster, such as the kubelet. The process continues to exist but does
// nothing, like a program that hangs. The returned function resume lets the process continue, and may be called several
// times. Close also works while a program is suspended.
func (c *Cluster) SuspendComponent(ctx context.Context, name string) (resume func(), err error) {
	pid, err := c.signal(ctx, name, syscall.SIGSTOP)
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }, nil
}

// KillComponent ends a program of the cluster, such as the API server, without a warning. The cluster starts it again
// at once.
func (c *Cluster) KillComponent(ctx context.Context, name string) error {
	_, err := c.signal(ctx, name, syscall.SIGKILL)
	return err
}

// signal sends a signal to a program of the cluster, and returns its process.
func (c *Cluster) signal(ctx context.Context, name string, signal syscall.Signal) (pid int, err error) {
	if !c.Embedded() {
		return 0, fmt.Errorf("cannot suspend or kill %s: only the embedded Kubernetes runs it as a process of this machine: unset TEST_KUBECONFIG", name)
	}

	text, err := c.output(ctx, nil, c.local, "status", "--dir", c.state(), "--output", "json")
	if err != nil {
		return 0, err
	}

	var state struct {
		Components []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return 0, fmt.Errorf("read the cluster's status: %w", err)
	}

	for _, component := range state.Components {
		if component.Name != name || component.PID == 0 {
			continue
		}

		if err := syscall.Kill(component.PID, signal); err != nil {
			return 0, fmt.Errorf("send %v to %s: %w", signal, name, err)
		}
		return component.PID, nil
	}
	return 0, fmt.Errorf("the cluster has no running component %s", name)
}
