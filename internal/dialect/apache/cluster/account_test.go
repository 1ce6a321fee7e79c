package cluster

import (
	"strings"
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestOwnAccountIsRefused checks that no pod in the operator's namespace may use the operator's service account.
func TestOwnAccountIsRefused(t *testing.T) {
	c := Clusters{Options{Own: dialect.ServiceAccount{Namespace: "ns", Name: "operator"}}}
	for field, set := range map[string]func(*sparkv1.ClusterSpec){
		"spec.masterSpec": func(s *sparkv1.ClusterSpec) {
			s.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(`{"template":{"spec":{"serviceAccountName":"operator"}}}`)}}
		},
		"spec.workerSpec": func(s *sparkv1.ClusterSpec) {
			s.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(`{"template":{"spec":{"serviceAccount":"operator"}}}`)}}
		},
	} {
		sc := &sparkv1.SparkCluster{}
		sc.Name, sc.Namespace, sc.UID = "c", "ns", "uid-c"
		sc.Spec.RuntimeVersions.SparkVersion = "4.1.4"
		set(&sc.Spec)

		want, made, _ := c.want(sc, lifecycle.Observed{})
		if want.Invalid == nil || !strings.Contains(want.Invalid.Message,
			field+".statefulSetSpec.template.spec.serviceAccountName: ") || made.Master != nil {
			t.Errorf("%s: %+v", field, want.Invalid)
		}

		sc.Namespace = "elsewhere"
		if want, _, _ := c.want(sc, lifecycle.Observed{}); want.Invalid != nil {
			t.Errorf("%s in another namespace: %+v", field, want.Invalid)
		}
	}
}

// TestRefusedServicesOfClusters checks that a Service with external IPs, an external name, or a type that is reachable
// from outside the cluster is rejected, and that the message names the field.
func TestRefusedServicesOfClusters(t *testing.T) {
	for spec, field := range map[string]string{
		`{"externalIPs":["10.0.0.1"]}`: "externalIPs", `{"externalName":"example.com"}`: "externalName",
		`{"type":"ExternalName"}`: "type", `{"type":"LoadBalancer"}`: "type",
	} {
		sc := &sparkv1.SparkCluster{}
		sc.Name, sc.Namespace, sc.UID = "c", "ns", "uid-c"
		sc.Spec.RuntimeVersions.SparkVersion = "4.1.4"
		sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sparkv1.MemberSpec{ServiceSpec: rawOf(spec)}}

		want, _, _ := Clusters{}.want(sc, lifecycle.Observed{})
		if want.Invalid == nil || !strings.Contains(want.Invalid.Message, "spec.masterSpec.serviceSpec."+field+": ") {
			t.Errorf("%s: %+v", spec, want.Invalid)
		}
	}
}
