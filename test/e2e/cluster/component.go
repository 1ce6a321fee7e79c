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
	if !c.Embedded() {
		return nil, fmt.Errorf("cannot suspend %s: only the embedded Kubernetes runs it as a process of this machine: unset TEST_KUBECONFIG", name)
	}

	text, err := c.output(ctx, nil, c.local, "status", "--dir", c.state(), "--output", "json")
	if err != nil {
		return nil, err
	}

	var state struct {
		Components []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return nil, fmt.Errorf("read the cluster's status: %w", err)
	}

	for _, component := range state.Components {
		if component.Name != name || component.PID == 0 {
			continue
		}

		if err := syscall.Kill(component.PID, syscall.SIGSTOP); err != nil {
			return nil, fmt.Errorf("stop %s: %w", name, err)
		}
		return func() { _ = syscall.Kill(component.PID, syscall.SIGCONT) }, nil
	}
	return nil, fmt.Errorf("the cluster has no running component %s", name)
}
