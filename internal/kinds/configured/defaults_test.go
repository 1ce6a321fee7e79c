package configured

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
)

// TestAdmissionUsesDefaults checks for each kind that admission reviews a custom resource with the defaults of its
// namespace. A custom resource without an image is accepted in a namespace with a default image, and rejected in
// another namespace. Clusters need no default image, so for them the test uses an invalid default, which must cause a
// rejection.
func TestAdmissionUsesDefaults(t *testing.T) {
	cfg := config.Default()
	cfg.Defaults = []platformdefaults.Default{{NamespaceSelector: "tier=batch",
		Images: map[string]string{"4.1": "example.org/spark:4.1"}}}
	labels := func(namespace string) map[string]string { return map[string]string{"tier": namespace} }

	admitted := Admission(labels)
	for i, object := range []client.Object{
		&v1beta2.SparkApplication{Spec: application()},
		&v1beta2.ScheduledSparkApplication{Spec: v1beta2.ScheduledSparkApplicationSpec{Schedule: "@daily",
			Template: application()}},
		&v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4"}},
		&sparkv1.SparkApplication{Spec: sparkv1.ApplicationSpec{MainClass: "a.B", Jars: "local:///a.jar",
			RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}}},
	} {
		object.SetName("pi")
		object.SetUID("11111111-2222-4333-8444-555555555555")

		for namespace, accepted := range map[string]bool{"batch": true, "web": false} {
			object.SetNamespace(namespace)

			faults := admitted[i].Review(cfg, nil, object, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Faults
			if (len(faults) == 0) != accepted {
				t.Errorf("%T in %s: %v", object, namespace, faults)
			}
		}
	}

	object := &sparkv1.SparkCluster{Spec: sparkv1.ClusterSpec{RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}}}
	object.Name, object.Namespace = "c", "batch"

	cfg.Defaults = []platformdefaults.Default{{SparkConf: map[string]string{"spark.master.a": "a\x00b"}}}
	if faults := admitted[4].Review(cfg, nil, object, time.Time{}).Faults; len(faults) != 1 ||
		!strings.Contains(faults[0].Message, "defaults[0]") {
		t.Errorf("a cluster with a default that cannot be used: %v", faults)
	}
}

// TestRulesAndQuotasSeeDefaults checks for each kind that the platform's defaults may set a key that a rule requires.
// It also checks that the pods for the comparison with quotas are rendered with the defaults.
func TestRulesAndQuotasSeeDefaults(t *testing.T) {
	cfg := config.Default()
	cfg.Defaults = []platformdefaults.Default{{SparkConf: map[string]string{"spark.eventLog.enabled": "true"},
		Images: map[string]string{"4.1": "example.org/spark:4.1"}}}

	var err error
	if cfg.Policy, err = policy.Parse(`{rules: [{name: all, sparkConf: {required: {spark.eventLog.enabled: "true"}}}]}`); err != nil {
		t.Fatal(err)
	}

	for i, object := range []client.Object{
		&v1beta2.SparkApplication{Spec: application()},
		&v1beta2.ScheduledSparkApplication{Spec: v1beta2.ScheduledSparkApplicationSpec{Schedule: "@daily",
			Template: application()}},
		&v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4"}},
		&sparkv1.SparkApplication{Spec: sparkv1.ApplicationSpec{MainClass: "a.B", Jars: "local:///a.jar",
			RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"}}},
		&sparkv1.SparkCluster{Spec: sparkv1.ClusterSpec{RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"},
			ClusterTolerations: sparkv1.ClusterTolerations{InstanceConfig: sparkv1.WorkerInstanceConfig{InitWorkers: 1,
				MinWorkers: 1, MaxWorkers: 1}}}},
	} {
		object.SetName("pi")
		object.SetNamespace("batch")
		object.SetUID("11111111-2222-4333-8444-555555555555")

		review := Admission(nil)[i].Review(cfg, nil, object, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		if len(review.Faults) > 0 {
			t.Errorf("%T: %v", object, review.Faults)
			continue
		}

		pods := review.Pods()
		if len(pods) != 2 {
			t.Errorf("%T: %d kinds of pods", object, len(pods))
		}

		for _, pod := range pods {
			if image := pod.Pod.Spec.Containers[0].Image; image != "example.org/spark:4.1" {
				t.Errorf("%T: the %s has the image %s", object, pod.Role, image)
			}
		}
	}
}

// application returns a spec without an image.
func application() v1beta2.SparkApplicationSpec {
	return v1beta2.SparkApplicationSpec{
		Type: v1beta2.SparkApplicationTypeJava, Mode: v1beta2.DeployModeCluster, SparkVersion: "4.1.4",
		MainClass: new("a.B"), MainApplicationFile: "local:///a.jar",
	}
}
