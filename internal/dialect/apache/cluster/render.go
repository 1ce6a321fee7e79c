package cluster

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// objects renders all objects of a cluster. An error is a *dialect.FieldError. The method finds the same faults of a
// spec as validateCluster, and two more: a fault that one of the platform's defaults causes, and pods that would use
// the operator's own service account.
func (c Clusters) objects(cluster *sparkv1.SparkCluster) (standalone.Objects, error) {
	return c.objectsWith(cluster, c.settings(cluster))
}

// objectsWith renders the objects with the given defaults of the platform, which may be nil.
func (c Clusters) objectsWith(cluster *sparkv1.SparkCluster, s *platform.Settings) (standalone.Objects, error) {
	cluster, defaults := withDefaults(cluster, s)
	r := c.request(cluster)

	objects, err := standalone.Build(r)
	if err != nil {
		return objects, defaults.ExplainError(asClusterError(err))
	}

	defaults.AnnotateObject(objects.Config, r.Conf)
	return objects, cmp.Or(
		c.Own.Reject(clusterFields["Master.StatefulSet"]+".template.spec.serviceAccountName", cluster.Namespace, &objects.Master.Spec.Template.Spec),
		c.Own.Reject(clusterFields["Workers.StatefulSet"]+".template.spec.serviceAccountName", cluster.Namespace, &objects.Workers.Spec.Template.Spec),
	)
}

// request converts a SparkCluster into a request to build its objects.
func (c Clusters) request(cluster *sparkv1.SparkCluster) standalone.Request {
	spec := &cluster.Spec
	workers := spec.ClusterTolerations.InstanceConfig

	r := standalone.Request{
		Name:             cluster.Name,
		Namespace:        cluster.Namespace,
		SparkVersion:     spec.RuntimeVersions.SparkVersion,
		OperatorName:     cmp.Or(c.OperatorName, apache.DefaultOperatorName),
		ClusterDomain:    c.ClusterDomain,
		Submitters:       c.Submitters,
		Conf:             conf.FromMap(spec.SparkConf),
		InitWorkers:      workers.InitWorkers,
		MinWorkers:       workers.MinWorkers,
		MaxWorkers:       workers.MaxWorkers,
		Owner:            *metav1.NewControllerRef(cluster, sparkv1.GroupVersion.WithKind("SparkCluster")),
		Labels:           map[string]string{apache.LabelAppUID: string(cluster.UID), apache.LabelManaged: "true"},
		Reserved:         dialect.OwnPrefix,
		DigestAnnotation: lifecycle.SpecHashAnnotation,
		Restart:          restartOf(cluster),
	}
	if spec.MasterSpec != nil {
		r.Master = memberOf(&spec.MasterSpec.MemberSpec)
	}

	if spec.WorkerSpec != nil {
		r.Workers = memberOf(&spec.WorkerSpec.MemberSpec)

		r.Autoscaler = rawtemplate.Bytes(spec.WorkerSpec.HorizontalPodAutoscalerSpec)
		if p := spec.WorkerSpec.NetworkPolicy; p != nil {
			r.Metrics = standalone.MetricsAccess{Port: p.MetricsPort, From: p.MetricsIngress}
		}
	}
	return r
}

// restartOf returns the last restart request of a cluster, from the annotation. If a user has removed the annotation,
// it returns the request that the status stores, because the removal must not replace the pods.
func restartOf(cluster *sparkv1.SparkCluster) string {
	request := lifecycle.RestartRequest(cluster.Annotations)
	if o := cluster.Status.Operator; request == "" && o != nil {
		return o.RestartRequest
	}
	return request
}

func memberOf(m *sparkv1.MemberSpec) standalone.Member {
	return standalone.Member{
		StatefulSet: rawtemplate.Bytes(m.StatefulSetSpec), Service: rawtemplate.Bytes(m.ServiceSpec),
		StatefulSetMeta: metadataOf(m.StatefulSetMetadata), ServiceMeta: metadataOf(m.ServiceMetadata),
	}
}

func metadataOf(m *sparkv1.ObjectMetadata) standalone.Metadata {
	if m == nil {
		return standalone.Metadata{}
	}
	return standalone.Metadata{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations}
}

// clusterFields maps the fields of a standalone.Request to the fields of a SparkCluster that set them.
var clusterFields = map[string]string{
	"Name":                    "metadata.name",
	"Namespace":               "metadata.namespace",
	"SparkVersion":            "spec.runtimeVersions.sparkVersion",
	"Conf":                    "spec.sparkConf",
	"InitWorkers":             "spec.clusterTolerations.instanceConfig.initWorkers",
	"MinWorkers":              "spec.clusterTolerations.instanceConfig.minWorkers",
	"MaxWorkers":              "spec.clusterTolerations.instanceConfig.maxWorkers",
	"Master.StatefulSet":      "spec.masterSpec.statefulSetSpec",
	"Master.StatefulSetMeta":  "spec.masterSpec.statefulSetMetadata",
	"Master.Service":          "spec.masterSpec.serviceSpec",
	"Master.ServiceMeta":      "spec.masterSpec.serviceMetadata",
	"Workers.StatefulSet":     "spec.workerSpec.statefulSetSpec",
	"Workers.StatefulSetMeta": "spec.workerSpec.statefulSetMetadata",
	"Workers.Service":         "spec.workerSpec.serviceSpec",
	"Workers.ServiceMeta":     "spec.workerSpec.serviceMetadata",
	"Autoscaler":              "spec.workerSpec.horizontalPodAutoscalerSpec",
	"Metrics.Port":            "spec.workerSpec.networkPolicy.metricsPort",
	"Metrics.From":            "spec.workerSpec.networkPolicy.metricsIngress",
}

// clusterField returns the field of a SparkCluster that sets the given configuration key. If key is "", it returns the
// field of the SparkCluster that sets the given field of a standalone.Request.
func clusterField(key, field string) string {
	if key != "" {
		return "spec.sparkConf[" + conf.Shorten(key) + "]"
	}

	for name := field; name != ""; {
		if known, ok := clusterFields[name]; ok {
			return known + field[len(name):]
		}

		name = name[:max(0, strings.LastIndexAny(name, ".["))]
	}
	return "spec"
}

// asClusterError converts an error of standalone.Build into an error that names the field of the custom resource.
func asClusterError(err error) error {
	if wrong, ok := errors.AsType[*standalone.Error](err); ok {
		return &dialect.FieldError{Field: clusterField(wrong.Key, wrong.Field), Message: wrong.Message, Incomplete: wrong.Missing}
	}
	return err
}

// inClusterFields returns the warnings of standalone.Build as texts that name fields of a SparkCluster, without
// duplicates.
func inClusterFields(warnings []standalone.Warning) []string {
	var out []string
	for _, w := range warnings {
		if text := clusterField(w.Key, w.Field) + ": " + w.Text; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
