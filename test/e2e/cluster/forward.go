package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

var forwarding = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:[0-9]+) -> `)

// Forward opens a connection to a port of a Service, and returns its address on this machine. It runs kubectl
// port-forward, which selects one pod of the Service and ends when that pod ends. The returned function stop closes the
// connection. If Forward fails, the error contains kubectl's output.
func (c *Cluster) Forward(ctx context.Context, namespace, service string, port int) (address string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	name, args := c.kubectl("port-forward", "--namespace", namespace, "service/"+service, ":"+strconv.Itoa(port))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	printed, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("forward to Service %s: %w", service, err)
	}

	lines := bufio.NewScanner(printed)
	for address == "" && lines.Scan() {
		if found := forwarding.FindStringSubmatch(lines.Text()); found != nil {
			address = found[1]
		}
	}

	ended, failure := make(chan struct{}), error(nil)
	go func() {
		defer close(ended)

		for lines.Scan() { // drain the output, because kubectl logs every connection
		}

		failure = cmd.Wait()
	}()

	stop = func() {
		cancel()
		<-ended
	}
	if address == "" {
		stop()
		return "", nil, fmt.Errorf("forward to Service %s: %w\n%s", service, failure, stderr.Bytes())
	}
	return address, stop, nil
}

// Kubectl runs kubectl against the cluster.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) error {
	name, all := c.kubectl(args...)
	return c.run(ctx, nil, name, all...)
}
