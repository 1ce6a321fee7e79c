package main

import (
	"context"
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

// speed is how long applications waited for the operator.
type speed struct {
	driver []time.Duration // from an application's creation to its driver pod's
	status []time.Duration // from a change of a driver pod to the application's status that shows it
}

// measureSpeed creates applications one after the other, each on an idle cluster, and reads from the audit log how long the API server had
// stored what the operator answers to. No node takes the pods, so nothing else happens on the machine.
func measureSpeed(ctx context.Context, c *cluster.Cluster, n int) (speed, error) {
	for i := range n {
		if err := oneDriver(ctx, c, fmt.Sprintf("latency-%d", i)); err != nil {
			return speed{}, err
		}
	}
	log, err := os.Open(c.AuditLog())
	if err != nil {
		return speed{}, err
	}
	defer log.Close()
	got, err := readSpeed(log, "latency-")
	if err == nil && (len(got.driver) != n || len(got.status) < 2*n) { // the scheduler, which finds no node, changes the pods too
		err = fmt.Errorf("the audit log tells of %d applications with a driver and of %d changes, want %d and at least twice as many", len(got.driver), len(got.status), n)
	}
	return got, err
}

// oneDriver creates an application, plays its driver's life to the operator as a kubelet would tell it, and deletes both.
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
	if err := playDriver(ctx, c, app); err != nil {
		return err
	}
	if err := c.Client.Delete(ctx, app); err != nil {
		return err
	}
	return until(ctx, name+"'s end", there(false))
}

// playDriver lets an application's driver run and end well, as its status tells. Each is waited for until the application shows it.
func playDriver(ctx context.Context, c *cluster.Cluster, app *v1beta2.SparkApplication) error {
	shows := func(state v1beta2.ApplicationStateType) error {
		return until(ctx, fmt.Sprintf("%s to be %s", app.Name, state), func() (bool, error) {
			err := c.Client.Get(ctx, client.ObjectKeyFromObject(app), app)
			return app.Status.AppState.State == state, err
		})
	}
	play := func(phase corev1.PodPhase, container corev1.ContainerState) error {
		pod := &corev1.Pod{}
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-driver"}, pod); err != nil {
			return err
		}
		before := pod.DeepCopy()
		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: container}}
		return c.Client.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	now := metav1.Now()
	if err := shows(v1beta2.ApplicationStateSubmitted); err != nil {
		return err
	}
	if err := play(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}); err != nil {
		return err
	}
	if err := shows(v1beta2.ApplicationStateRunning); err != nil {
		return err
	}
	if err := play(corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: now, FinishedAt: now}}); err != nil {
		return err
	}
	return shows(v1beta2.ApplicationStateCompleted)
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

// readSpeed reads the log of the applications whose names have the prefix. What is measured is from one answer of the API server to the other.
func readSpeed(audit io.Reader, prefix string) (speed, error) {
	var got speed
	created := map[string]time.Time{} // applications
	changed := map[string]time.Time{} // drivers, by their applications, while no status shows it
	err := cluster.ReadAudit(audit, func(e cluster.Request) {
		name := e.ObjectRef.Name
		if !e.Done() || !strings.HasPrefix(name, prefix) {
			return
		}
		application := strings.TrimSuffix(name, "-driver")
		switch e.Verb + " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource {
		case "create sparkapplications/":
			created[name] = e.StageTimestamp
		case "create pods/":
			if start, ok := created[application]; ok {
				got.driver = append(got.driver, e.StageTimestamp.Sub(start))
			}
		case "patch pods/status":
			changed[application] = e.StageTimestamp
		case "patch sparkapplications/status":
			if start, ok := changed[name]; ok {
				got.status = append(got.status, e.StageTimestamp.Sub(start))
				delete(changed, name)
			}
		}
	})
	return got, err
}

// median of a list that is not empty; of an even number, the mean of the middle two.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
