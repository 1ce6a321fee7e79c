package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // the type of client-go's port-forward
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	streamhttp "k8s.io/streaming/pkg/httpstream"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// tunnel forwards a local port to a port of a pod.
type tunnel struct {
	local int
	done  chan error // receives the reason for which the tunnel ended
}

// open opens a tunnel from a local port of this machine to a port of a pod. If the number of the local port is 0, the
// tunnel uses the same number as the pod's port or, if that local port is taken, any free port. The tunnel is closed
// when the context is canceled.
func open(ctx context.Context, c *kube.Client, pod *corev1.Pod, local, remote int) (*tunnel, error) {
	if local != 0 {
		return openAt(ctx, c, pod, local, remote)
	}

	t, err := openAt(ctx, c, pod, remote, remote)
	if err != nil && strings.Contains(err.Error(), "unable to listen") {
		return openAt(ctx, c, pod, 0, remote)
	}
	return t, err
}

func openAt(ctx context.Context, c *kube.Client, pod *corev1.Pod, local, remote int) (*tunnel, error) {
	dialer, err := dialerOf(c, pod)
	if err != nil {
		return nil, c.Explain(err)
	}

	ready, complaints := make(chan struct{}), &bytes.Buffer{}

	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("%d:%d", local, remote)}, ready, io.Discard, complaints)
	if err != nil {
		return nil, err
	}

	t := &tunnel{done: make(chan error, 1)}
	go func() { t.done <- forwarder.ForwardPorts() }()

	select {
	case <-ready:
	case err := <-t.done:
		if ctx.Err() != nil {
			return nil, context.Canceled
		}

		if strings.Contains(err.Error(), "unable to listen") {
			return nil, exit.Errorf(exit.Usage, "unable to listen on port %d of this machine; choose another port with --port", local)
		}
		return nil, c.Explain(err)
	}

	ports, err := forwarder.GetPorts()
	if err != nil {
		return nil, err
	}

	t.local = int(ports[0].Local)
	return t, nil
}

// dialerOf returns a dialer for the port-forward of a pod. The dialer uses a websocket. If the API server does not
// support websockets for port-forwards, the dialer uses SPDY.
func dialerOf(c *kube.Client, pod *corev1.Pod) (httpstream.Dialer, error) {
	config := c.Config()

	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}

	address := core.RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()

	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}

	overSPDY := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)

	overWebsocket, err := portforward.NewSPDYOverWebsocketDialer(address, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialer(overWebsocket, overSPDY, func(err error) bool {
		return streamhttp.IsUpgradeFailure(err) || streamhttp.IsHTTPSProxyError(err) || httpstream.IsUpgradeFailure(err)
	}), nil
}

// wait waits until the user interrupts the program or the connection to the pod is lost.
func (t *tunnel) wait(ctx context.Context, pod *corev1.Pod) error {
	select {
	case <-ctx.Done():
		return context.Canceled
	case err := <-t.done:
		if ctx.Err() != nil {
			return context.Canceled
		}

		if err == nil || errors.Is(err, portforward.ErrLostConnectionToPod) {
			return exit.Errorf(exit.Cluster, "the connection to pod %s/%s was lost; %s shows whether the application, server or cluster has ended", pod.Namespace, pod.Name, terminal.Hint("list -n %s", pod.Namespace))
		}
		return err
	}
}
