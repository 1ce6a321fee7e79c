package node

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/test/kit/nodecert"
)

// listen opens the port of the kubelet. All nodes have the same kubelet.
func (c *Cluster) listen(ctx context.Context) (net.Listener, error) {
	certificate, err := nodecert.Request(ctx, c.core, nodeName(0))
	if err != nil {
		return nil, err
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}), nil
}

// serve serves the API of the kubelet until the context ends.
func (c *Cluster) serve(ctx context.Context, listener net.Listener) {
	server := &http.Server{Handler: http.HandlerFunc(c.log), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()

	_ = server.Serve(listener) // ends with an error when the server is closed
}

// log answers a request for the log of a pod: /containerLogs/NAMESPACE/POD/CONTAINER. Only drivers have a log. A
// request for a part of a log is answered with an error, so that a scenario does not measure a whole log instead.
func (c *Cluster) log(w http.ResponseWriter, r *http.Request) {
	parts, query := strings.Split(strings.Trim(r.URL.Path, "/"), "/"), r.URL.Query()
	if len(parts) != 4 || parts[0] != "containerLogs" {
		http.NotFound(w, r)
		return
	}

	if query.Has("follow") || query.Has("timestamps") || query.Has("sinceTime") || query.Has("tailLines") {
		http.Error(w, "the simulated kubelet has only whole logs", http.StatusNotImplemented)
		return
	}

	x, _, _ := c.pods.GetByKey(parts[1] + "/" + parts[2])

	pod, ok := x.(*corev1.Pod)
	if !ok {
		http.NotFound(w, r)
		return
	}

	program, err := load.ReadProgram(pod.Spec.Containers[0].Args)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	c.logs.Add(1)

	_ = program.WriteLog(w) // fails if the client has closed the connection
}

// Logs returns the number of logs that were requested.
func (c *Cluster) Logs() int { return int(c.logs.Load()) }
