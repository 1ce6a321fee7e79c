package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
)

// StopComponent stops a program of the cluster, such as the kubelet, as one that hangs: its process is there and does nothing. What it returns
// lets the program go on; it may be called more than once. A stopped program does not keep the cluster from being ended.
func (c *Cluster) StopComponent(ctx context.Context, name string) (goOn func(), err error) {
	if !c.Embedded() {
		return nil, fmt.Errorf("%s cannot be stopped: the cluster's programs are not ours", name)
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
		return nil, fmt.Errorf("the cluster's status: %w", err)
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
	return nil, fmt.Errorf("no component %s runs in the cluster", name)
}
