// Package change has the changes that sparkctl's verbs and the actions of the web console make to custom resources.
package change

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Change is a change of a stored object.
type Change struct {
	// Patch is the merge patch (RFC 7386) of the object.
	Patch map[string]any
	// Request is the value of the annotation that requests a restart or a run; empty for other changes.
	Request string
}

// JSON returns the merge patch as JSON.
func (c Change) JSON() ([]byte, error) { return json.Marshal(c.Patch) }

// Apply sends the patch with the rights of the user. The object then has the answer of the API server. The error is
// that of the request.
func (c Change) Apply(ctx context.Context, k *kube.Client, object client.Object) error {
	patch, err := c.JSON()
	if err != nil {
		return err
	}
	return k.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// Unchanged returns the change with the condition that the object still has the version that was read. Otherwise the
// API server answers with a conflict.
func (c Change) Unchanged(object client.Object) Change {
	patch := maps.Clone(c.Patch)
	metadata, _ := patch["metadata"].(map[string]any)

	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}

	metadata["uid"], metadata["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	patch["metadata"] = metadata
	return Change{patch, c.Request}
}

// Suspend suspends an object, or resumes it.
func Suspend(suspend bool) Change { return ofSpec(map[string]any{"suspend": suspend}) }

// Restart requests that the operator runs an object again. The time identifies the request, because the operator
// carries out each request once. The error is about a schedule, which cannot be restarted.
func Restart(object client.Object, at time.Time) (Change, error) {
	if _, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
		return Change{}, exit.Errorf(exit.Usage, "%s is a schedule and has no run of its own to restart; %s starts a run now", kube.Title(object), kube.Hint("trigger", object))
	}
	return ofAnnotation(lifecycle.RestartAnnotation, at.UTC().Format("2006-01-02T15:04:05.000000Z")), nil
}

// Trigger requests a run of a schedule. The time identifies the request. The error is about an object of another kind.
func Trigger(object client.Object, at time.Time) (Change, error) {
	if _, ok := object.(*v1beta2.ScheduledSparkApplication); !ok {
		return Change{}, exit.Errorf(exit.Usage, "%s is not a schedule; if a schedule has the same name, write %s", kube.Title(object), "schedule/"+object.GetName())
	}
	return ofAnnotation(v1beta2.RunNowAnnotation, at.UTC().Format("20060102-150405.000")), nil
}

// Scale sets the number of workers of a cluster, or of executors of a Connect server. The error says why the object
// cannot be scaled.
func Scale(object client.Object, replicas int32) (Change, error) {
	switch object := object.(type) {
	case *sparkv1.SparkCluster:
		if scaled := object.Spec.ClusterTolerations.InstanceConfig; scaled.MinWorkers < scaled.MaxWorkers {
			return Change{}, exit.Errorf(exit.Usage, "%s has an autoscaler, which sets the number of workers between %d and %d; edit minWorkers and maxWorkers instead", kube.Title(object), scaled.MinWorkers, scaled.MaxWorkers)
		}
		return ofSpec(map[string]any{"clusterTolerations": map[string]any{"instanceConfig": map[string]any{"initWorkers": replicas}}}), nil
	case *v1alpha1.SparkConnect:
		return ofSpec(map[string]any{"executor": map[string]any{"instances": replicas}}), nil
	}
	return Change{}, exit.Errorf(exit.Usage, "%s cannot be scaled; only a SparkCluster and a SparkConnect can be scaled; for an application, use dynamic allocation", kube.Title(object))
}

func ofSpec(spec map[string]any) Change { return Change{Patch: map[string]any{"spec": spec}} }

func ofAnnotation(name, value string) Change {
	return Change{Patch: map[string]any{"metadata": map[string]any{"annotations": map[string]string{name: value}}}, Request: value}
}

// Delete deletes an object, but no other object of the same name. With unchanged, it also deletes no newer version of
// the object. The error is that of the request.
func Delete(ctx context.Context, c *kube.Client, object client.Object, unchanged bool) error {
	uid, version := object.GetUID(), object.GetResourceVersion()

	only := client.Preconditions{UID: &uid}
	if unchanged {
		only.ResourceVersion = &version
	}
	return c.Delete(ctx, object, only)
}
