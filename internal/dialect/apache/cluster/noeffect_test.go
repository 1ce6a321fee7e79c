package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
)

// TestFieldsWithoutEffectAreReported checks that each field that is valid but has no effect is reported once, as an
// event.
func TestFieldsWithoutEffectAreReported(t *testing.T) {
	sc := fullCluster()
	sc.Spec.WorkerSpec.StatefulSetMetadata = nil
	sc.Spec.MasterSpec.StatefulSetSpec = rawOf(`{"replicas":3,"podManagementPolicy":"OrderedReady"}`)
	sc.Spec.WorkerSpec.StatefulSetSpec = rawOf(`{"replicas":9,"podManagementPolicy":"OrderedReady"}`)
	sc.Spec.RuntimeVersions.ScalaVersion, sc.Spec.RuntimeVersions.JDKVersion = "2.13", "17"

	built, err := testClusters.objects(sc)
	if err != nil {
		t.Fatal(err)
	}
	const image = "has no effect: the image determines the version; choose the image with spec.runtimeVersions.sparkVersion or spec.sparkConf[spark.kubernetes.container.image]"

	want := []string{
		"spec.masterSpec.statefulSetSpec: replicas has no effect: the operator sets 1; a cluster has one master",
		"spec.masterSpec.statefulSetSpec: podManagementPolicy has no effect: the operator sets Parallel; remove the field",
		"spec.workerSpec.statefulSetSpec: replicas has no effect: the operator sets 2; use spec.clusterTolerations.instanceConfig for the number of workers",
		"spec.workerSpec.statefulSetSpec: podManagementPolicy has no effect: the operator sets Parallel; remove the field",
		"spec.runtimeVersions.scalaVersion: " + image,
		"spec.runtimeVersions.jdkVersion: " + image,
	}
	if diff := cmp.Diff(want, fieldsWithoutEffect(sc, built)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	w := newClusterWorld(t, func(sc *sparkv1.SparkCluster) { sc.Spec.RuntimeVersions.ScalaVersion = "2.13" })
	w.pass()
	w.wantEvents(status.EventClusterWarning, status.EventClusterSubmitted)
	w.pass()
	w.wantEvents()
}

// TestFieldsThatSayWhatHoldsAreNotReported checks that a field without effect causes no warning if its value equals the
// value in the built object.
func TestFieldsThatSayWhatHoldsAreNotReported(t *testing.T) {
	sc := fullCluster()
	sc.Spec.MasterSpec.StatefulSetSpec = rawOf(`{"replicas":1,"podManagementPolicy":"Parallel"}`)
	sc.Spec.WorkerSpec.StatefulSetSpec = rawOf(`{"replicas":2,"podManagementPolicy":"Parallel"}`)

	built, err := testClusters.objects(sc)
	if err != nil {
		t.Fatal(err)
	}

	if warnings := fieldsWithoutEffect(sc, built); len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}

	if warnings := fieldsWithoutEffect(sparkCluster(), built); len(warnings) > 0 {
		t.Errorf("warnings of a cluster without templates: %q", warnings)
	}
}
