package cli

import (
	"strings"
	"sync"
	"testing"

	testkubelet "github.com/sparkoperator/spark-operator/test/kit/kubelet"
)

// kubelet is a kubelet that also forwards ports.
type kubelet struct {
	*testkubelet.Node
	node   string
	mu     sync.Mutex
	behind string // the address of the server to which ports are forwarded
}

// startKubelet creates a node and starts its kubelet.
func startKubelet(t *testing.T, name string) *kubelet {
	t.Helper()

	k := &kubelet{Node: testkubelet.Start(t, name), node: name}
	k.Other = k.portForward
	return k
}

// logs sets the text that the kubelet serves as the log of a pod.
func (k *kubelet) logs(pod, text string) { k.Log(pod, text) }

// asked reports whether the kubelet received a request with the given query option.
func (k *kubelet) asked(option string) bool { return strings.Contains(k.Queries(), option) }
