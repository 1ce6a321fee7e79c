package doctor

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

const (
	kueueGroup = "kueue.x-k8s.io"
	queueLabel = dialect.QueueLabel
)

func wantsQueue(object client.Object) bool { return object.GetLabels()[queueLabel] != "" }

// kueueConfiguration shows the configuration of Kueue's manager, where its manifests and its chart put it.
const kueueConfiguration terminal.Command = "kubectl -n kueue-system edit configmap kueue-manager-config"

// workloads are the owners of Kueue's Workloads. Kueue, or the operator, creates a Workload for each object in a queue.
type workloads map[types.UID]bool

// readWorkloads reads the owners of the Workloads of a namespace, or of all namespaces if the name is empty.
func (d *doctor) readWorkloads(ctx context.Context, namespace string) (workloads, error) {
	var group metav1.APIGroup
	if err := d.readInto(ctx, "/apis/"+kueueGroup, &group); err != nil {
		return nil, d.Explain(err)
	}

	path := "/apis/" + group.PreferredVersion.GroupVersion
	if namespace != metav1.NamespaceAll {
		path += "/namespaces/" + namespace
	}

	list, err := paged.Items[metav1.PartialObjectMetadata](ctx, d.Client, path+"/workloads")
	if err != nil {
		return nil, d.Explain(err)
	}

	owners := workloads{}
	for i := range list {
		for _, owner := range list[i].OwnerReferences {
			owners[owner.UID] = true
		}
	}
	return owners, nil
}

// lacks reports whether an object names a queue and has no Workload, although it has run or waited for longer than
// patience. Schedules are left out, because Kueue queues their runs.
func (w workloads) lacks(object client.Object) bool {
	s := kube.Summarize(object)
	return wantsQueue(object) && s.Kind.Kind != "ScheduledSparkApplication" && !s.Over() && (!s.Held || s.Queued()) && object.GetDeletionTimestamp() == nil &&
		time.Since(object.GetCreationTimestamp().Time) > patience && !w[object.GetUID()]
}

// checkQueues reports, once for each kind, the objects that name a queue and have no Workload. They run outside of the
// quota of their queue, or do not start.
func (d *doctor) checkQueues(ctx context.Context) {
	asked := map[*kinds.Kind][]client.Object{}
	for _, object := range d.objects {
		if workloads(nil).lacks(object) {
			kind := kinds.Of(object)
			asked[kind] = append(asked[kind], object)
		}
	}

	if len(asked) == 0 || !d.groups[kueueGroup] {
		return
	}

	known, err := d.readWorkloads(ctx, d.namespace)
	if err != nil {
		d.unchecked("queues", err)
		return
	}

	for _, kind := range kinds.All {
		first, n := "", 0
		for _, object := range asked[kind] {
			if known.lacks(object) {
				if n++; first == "" {
					first = object.GetNamespace() + "/" + object.GetName()
				}
			}
		}

		if n > 0 {
			why, fix := d.whyUnqueued(kind)
			d.Add(findings.Error, "queues", fix, "the label %s of %s %s has no effect, because Kueue has no Workload for it: %s", queueLabel, kind.Kind, more(first, n), why)
		}
	}
}

// Unqueued returns the findings about an object that names a queue and has no Workload, or nil if it needs none.
func Unqueued(ctx context.Context, c *kube.Client, object client.Object) []findings.Finding {
	if !workloads(nil).lacks(object) {
		return nil
	}

	d := &doctor{Client: c, namespace: object.GetNamespace(), objects: []client.Object{object}}
	if d.readGroups(ctx) == nil {
		d.examineOperators(ctx)
		d.checkQueues(ctx)
	}
	return slices.DeleteFunc(d.Findings, func(f findings.Finding) bool { return f.Check != "queues" })
}

// whyUnqueued returns why the objects of a kind are in no queue, and a fix.
func (d *doctor) whyUnqueued(kind *kinds.Kind) (why string, fix terminal.Command) {
	if kind == kinds.SparkApplication {
		return "Kueue queues this kind itself, but its integration is off; switch on the feature gate SparkApplicationIntegration, " +
			"add sparkoperator.k8s.io/sparkapplication to integrations.frameworks, and create the objects again", kueueConfiguration
	}

	for i := range d.operators {
		if o := &d.operators[i]; !o.Other && o.Wanted > 0 && o.config != nil && !o.config.Kueue.Enabled {
			return o.String() + " queues this kind, but its integration of Kueue is off", upgrade(o, "controller.kueue.enable=true")
		}
	}
	return "the operator has not requested quota for it; the condition Ready of the object, and the operator's log, may say why", listOperators
}
