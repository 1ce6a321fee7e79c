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

// speed holds the delays between an event and the operator's reaction.
type speed struct {
	driver []time.Duration // from the application's creation to the driver pod's
	status []time.Duration // from a change of a driver pod to the matching status of the application
}

// measureSpeed creates n applications one after the other on an idle cluster, and reads the operator's reaction times
// from the audit log. No node runs the pods, so they do not slow down the machine.
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
	// The scheduler also changes the pods, because it finds no node for them.
	if err == nil && (len(got.driver) != n || len(got.status) < 2*n) {
		err = fmt.Errorf("the audit log has %d applications with a driver and %d changes of drivers, want %d applications and at least twice as many changes", len(got.driver), len(got.status), n)
	}
	return got, err
}

// oneDriver creates an application, simulates the kubelet's status updates for its driver pod, and deletes the
// application.
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

	exists := func(want bool) func() (bool, error) {
		return func() (bool, error) {
			err := c.Client.Get(ctx, pod, &corev1.Pod{})
			return apierrors.IsNotFound(err) != want, client.IgnoreNotFound(err)
		}
	}
	if err := waitFor(ctx, name+"'s driver pod", exists(true)); err != nil {
		return err
	}

	if err := playDriver(ctx, c, app); err != nil {
		return err
	}

	if err := c.Client.Delete(ctx, app); err != nil {
		return err
	}
	return waitFor(ctx, name+"'s end", exists(false))
}

// playDriver sets the status of the driver pod to running and then to succeeded, in place of a kubelet. After each of
// these changes it waits until the application's status shows the new state.
func playDriver(ctx context.Context, c *cluster.Cluster, app *v1beta2.SparkApplication) error {
	shows := func(state v1beta2.ApplicationStateType) error {
		return waitFor(ctx, fmt.Sprintf("%s to be %s", app.Name, state), func() (bool, error) {
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

// waitFor calls poll until it returns true. After a minute it returns an error.
func waitFor(ctx context.Context, goal string, poll func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	for {
		done, err := poll()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", goal, err)
		}

		if done {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", goal, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readSpeed reads the operator's delays from the audit log, for applications whose names have the prefix. Each delay is
// the time between two responses of the API server.
func readSpeed(audit io.Reader, prefix string) (speed, error) {
	var got speed
	created := map[string]time.Time{} // keyed by application
	changed := map[string]time.Time{} // time of a driver's change that no status shows yet, keyed by application
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

// median returns the median of a list that is not empty. For an even number of values, it is the mean of the middle
// two.
func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
