package cli

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

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

// logs sets the text that the kubelet serves as the log of a pod. If a request wants the times of the lines, each
// line is a second later than the one before it.
func (k *kubelet) logs(pod, text string) {
	k.Serve(pod, func(w http.ResponseWriter, r *http.Request) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for line := range strings.Lines(text) {
			if r.URL.Query().Get("timestamps") == "true" {
				line = at.Format(time.RFC3339Nano) + " " + line
			}

			_, _ = io.WriteString(w, line)
			at = at.Add(time.Second)
		}
	})
}

// asked reports whether the kubelet received a request with the given query option.
func (k *kubelet) asked(option string) bool { return strings.Contains(k.Queries(), option) }
