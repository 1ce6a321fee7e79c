package cluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// fieldsWithoutEffect returns a warning for each field that is set but does not change the cluster's objects. It
// returns no warning for the fields about which standalone.Build warns. If the objects could not be built, it returns
// nil.
func fieldsWithoutEffect(sc *sparkv1.SparkCluster, built standalone.Objects) (warnings []string) {
	if built.Master == nil || built.Workers == nil {
		return nil
	}

	if master := sc.Spec.MasterSpec; master != nil {
		warnings = append(warnings, setWithoutEffect(clusterFields["Master.StatefulSet"], master.StatefulSetSpec, built.Master,
			"a cluster has one master")...)
	}

	if workers := sc.Spec.WorkerSpec; workers != nil {
		warnings = append(warnings, setWithoutEffect(clusterFields["Workers.StatefulSet"], workers.StatefulSetSpec, built.Workers,
			"use spec.clusterTolerations.instanceConfig for the number of workers")...)
	}

	for _, version := range []struct{ field, value string }{
		{"scalaVersion", sc.Spec.RuntimeVersions.ScalaVersion}, {"jdkVersion", sc.Spec.RuntimeVersions.JDKVersion},
	} {
		if version.value != "" {
			warnings = append(warnings, fmt.Sprintf("spec.runtimeVersions.%s: has no effect: the image determines the version; choose the image with "+
				"spec.runtimeVersions.sparkVersion or spec.sparkConf[spark.kubernetes.container.image]", version.field))
		}
	}
	return warnings
}

// setWithoutEffect returns warnings about the fields replicas and podManagementPolicy of a statefulSetSpec. The
// operator ignores these fields, so it warns if the user's value differs from the value in the built StatefulSet. The
// argument field is the path of the statefulSetSpec. The argument replicas is a text that ends the warning about the
// field replicas. It says how to set the number of pods.
func setWithoutEffect(field string, spec *runtime.RawExtension, built *appsv1.StatefulSet, replicas string) (warnings []string) {
	var written struct {
		Replicas            *int32                         `json:"replicas"`
		PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy"`
	}
	if utiljson.Unmarshal(rawtemplate.Bytes(spec), &written) != nil {
		return nil // empty, or rejected by standalone.Build
	}

	if written.Replicas != nil && *written.Replicas != *built.Spec.Replicas {
		warnings = append(warnings, fmt.Sprintf("%s: replicas has no effect: the operator sets %d; %s", field, *built.Spec.Replicas, replicas))
	}

	if policy := built.Spec.PodManagementPolicy; written.PodManagementPolicy != "" && written.PodManagementPolicy != policy {
		warnings = append(warnings, fmt.Sprintf("%s: podManagementPolicy has no effect: the operator sets %s; remove the field", field, policy))
	}
	return warnings
}
