package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// Review returns the faults and warnings that the operator would report about the cluster before it creates an object.
func (c Clusters) Review(sc *sparkv1.SparkCluster) dialect.Review {
	if faults := dialect.OutOfBounds(sc.OutOfBounds); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}

	made, err := c.objects(sc)
	if err == nil {
		_, err = made.All()
	}

	if err != nil {
		return dialect.Review{Faults: faultsOf(sc, err)}
	}

	if faults := c.ruleFaults(sc, made); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	return dialect.Review{Warnings: clusterWarnings(sc, made), Pods: func() []dialect.Pods { return podsOf(made) }}
}

// podsOf returns the pods of a cluster: its master, and its minimum number of workers.
func podsOf(made standalone.Objects) []dialect.Pods {
	master, workers := made.Master.Spec, made.Workers.Spec

	least := *workers.Replicas
	if made.Autoscaler != nil {
		least = min(least, *made.Autoscaler.Spec.MinReplicas)
	}
	return []dialect.Pods{
		{Role: "master", Pod: &corev1.Pod{Spec: master.Template.Spec}, Count: *master.Replicas},
		{Role: "worker", Pod: &corev1.Pod{Spec: workers.Template.Spec}, Count: least},
	}
}

// clusterWarnings returns warnings about settings of a spec that have no effect.
func clusterWarnings(sc *sparkv1.SparkCluster, made standalone.Objects) []string {
	warnings := append(inClusterFields(made.Warnings), fieldsWithoutEffect(sc, made)...)
	if sc.Spec.MasterSpec != nil {
		warnings = append(warnings, templateWarnings("spec.masterSpec", &sc.Spec.MasterSpec.MemberSpec)...)
	}

	if sc.Spec.WorkerSpec != nil {
		warnings = append(warnings, templateWarnings("spec.workerSpec", &sc.Spec.WorkerSpec.MemberSpec)...)
	}
	return warnings
}

func templateWarnings(field string, member *sparkv1.MemberSpec) []string {
	var statefulSet struct {
		Template *runtime.RawExtension `json:"template"`
	}
	if utiljson.Unmarshal(rawtemplate.Bytes(member.StatefulSetSpec), &statefulSet) != nil {
		return nil // no template, or one that a fault reports
	}
	return rawtemplate.Warnings(field+".statefulSetSpec.template", statefulSet.Template)
}

// RestartWarning returns a warning if the cluster runs and an edit of its spec replaces pods. Otherwise it returns "".
// The arguments are the cluster before and after the edit.
func (c Clusters) RestartWarning(old, edited *sparkv1.SparkCluster) string {
	if status.Memory(old, lifecycle.Observed{}).Phase != lifecycle.Running {
		return ""
	}

	before, _, _ := c.want(old, lifecycle.Observed{})

	after, _, _ := c.want(edited, lifecycle.Observed{})
	if before.Invalid != nil || after.Invalid != nil {
		return ""
	}

	master, workers := before.Made[lifecycle.Master] != after.Made[lifecycle.Master], before.Made[lifecycle.Worker] != after.Made[lifecycle.Worker]
	switch {
	case master && workers:
		return "the cluster is running, and this edit of its spec replaces the pods of its master and workers, one by one"
	case master:
		return "the cluster is running, and this edit of its spec replaces its master's pod"
	case workers:
		return "the cluster is running, and this edit of its spec replaces its workers' pods, one by one"
	}
	return ""
}
