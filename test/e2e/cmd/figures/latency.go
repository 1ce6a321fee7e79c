package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// driverLatency creates applications one after the other, each on an idle cluster, and reads from the audit log how long the API server had
// stored the application when it stored the driver pod. No node takes the pods, so nothing else happens on the machine.
func driverLatency(ctx context.Context, c *cluster.Cluster, n int) ([]time.Duration, error) {
	for i := range n {
		if err := oneDriver(ctx, c, fmt.Sprintf("latency-%d", i)); err != nil {
			return nil, err
		}
	}
	log, err := os.Open(c.AuditLog())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	waits, err := latencies(log, "latency-")
	if err == nil && len(waits) != n {
		err = fmt.Errorf("the audit log tells of %d applications with a driver, want %d", len(waits), n)
	}
	return waits, err
}

// oneDriver creates an application, waits for its driver pod, and deletes both.
func oneDriver(ctx context.Context, c *cluster.Cluster, name string) error {
	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeJava, Mode: v1beta2.DeployModeCluster, SparkVersion: cluster.SparkVersion, Image: new(cluster.SparkImage),
			MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
		},
	}
	app.Spec.Driver.ServiceAccount = new(cluster.ServiceAccount)
	app.Spec.Driver.NodeSelector = map[string]string{"sparkoperator.dev/figures": "no-such-node"}
	app.Spec.Executor.Instances = new(int32(1))
	if err := c.Client.Create(ctx, app); err != nil {
		return err
	}
	pod := client.ObjectKey{Namespace: app.Namespace, Name: name + "-driver"}
	there := func(want bool) func() (bool, error) {
		return func() (bool, error) {
			err := c.Client.Get(ctx, pod, &corev1.Pod{})
			return apierrors.IsNotFound(err) != want, client.IgnoreNotFound(err)
		}
	}
	if err := until(ctx, name+"'s driver pod", there(true)); err != nil {
		return err
	}
	if err := c.Client.Delete(ctx, app); err != nil {
		return err
	}
	return until(ctx, name+"'s end", there(false))
}

// until asks until the answer is yes, for at most a minute.
func until(ctx context.Context, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		done, err := ask()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// auditEvent is what is read of an audit.k8s.io/v1 Event.
type auditEvent struct {
	Stage          string
	Verb           string
	StageTimestamp time.Time
	ObjectRef      struct{ Resource, Subresource, Name string }
	ResponseStatus struct{ Code int }
}

// latencies reads, for each application whose name has the prefix, the time from its creation to its driver pod's: from one answer of the
// API server to the other.
func latencies(audit io.Reader, prefix string) ([]time.Duration, error) {
	created := map[string]time.Time{} // applications
	var waits []time.Duration
	lines := bufio.NewReaderSize(audit, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return waits, nil // what has no line end yet is still being written
		}
		if err != nil {
			return nil, err
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		name := e.ObjectRef.Name
		if e.Stage != "ResponseComplete" || e.Verb != "create" || e.ResponseStatus.Code != 201 || e.ObjectRef.Subresource != "" || !strings.HasPrefix(name, prefix) {
			continue
		}
		switch e.ObjectRef.Resource {
		case "sparkapplications":
			created[name] = e.StageTimestamp
		case "pods":
			if start, ok := created[strings.TrimSuffix(name, "-driver")]; ok {
				waits = append(waits, e.StageTimestamp.Sub(start))
			}
		}
	}
}

// median of a list that is not empty; of an even number, the mean of the middle two.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
