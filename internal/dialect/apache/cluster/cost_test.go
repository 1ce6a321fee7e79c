package cluster

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

func standing[T interface {
	GetName() string
	runtime.Object
}](objects []T) (states []lifecycle.AuxiliaryObject) {
	for _, object := range objects {
		states = append(states, lifecycle.AuxiliaryObject{Kind: object.GetObjectKind().GroupVersionKind().Kind,
			Name: object.GetName(), Current: true})
	}
	return states
}

// clusterPasses runs two passes over a cluster and its objects.
func clusterPasses(sc *sparkv1.SparkCluster) {
	for range 2 {
		plan := testClusters.Decide(sc, lifecycle.Observed{}, clusterNoon)

		s := testClusters.AuxiliaryObjects(sc, lifecycle.Observed{})
		if s.Decide != nil {
			s.Decide(standing(s.Objects), clusterNoon)
		}

		Events(plan)

		_, _ = json.Marshal(sc.Status)
	}
}

// TestListsOfClustersCostLinearTime checks that the cost of a cluster grows linearly with the number of items in each
// list and map, also in embedded Kubernetes specs.
func TestListsOfClustersCostLinearTime(t *testing.T) {
	measure := func(name string, change func(sc *sparkv1.SparkCluster, n int)) {
		worst.Linear(t, name, func(n int) func() {
			sc := sparkCluster(autoscaledCluster(1, 5))
			change(sc, n)
			return func() { clusterPasses(sc.DeepCopy()) }
		})
	}
	for _, field := range worst.Fields(reflect.TypeFor[sparkv1.SparkCluster]()) {
		measure(field.Path, func(sc *sparkv1.SparkCluster, n int) { field.Fill(sc, n) })
	}

	for _, field := range worst.Fields(reflect.TypeFor[appsv1.StatefulSetSpec]()) {
		measure("statefulSetSpec"+field.Path, func(sc *sparkv1.SparkCluster, n int) {
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: worst.Raw[appsv1.StatefulSetSpec](t, field, n)}}
			sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sc.Spec.WorkerSpec.MemberSpec}
		})
	}

	for _, field := range worst.Fields(reflect.TypeFor[corev1.ServiceSpec]()) {
		measure("serviceSpec"+field.Path, func(sc *sparkv1.SparkCluster, n int) {
			sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sparkv1.MemberSpec{ServiceSpec: worst.Raw[corev1.ServiceSpec](t, field, n)}}
		})
	}

	for _, field := range worst.Fields(reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerSpec]()) {
		measure("autoscaler"+field.Path, func(sc *sparkv1.SparkCluster, n int) {
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{HorizontalPodAutoscalerSpec: worst.Raw[autoscalingv2.HorizontalPodAutoscalerSpec](t, field, n)}
		})
	}
}

// TestRedactionIsBounded checks that redaction patterns that are expensive to match cost at most half a second. In an
// earlier version, 20 KB took 34 s.
func TestRedactionIsBounded(t *testing.T) {
	for name, pattern := range map[string]string{
		"long":        strings.Repeat("a?", 10_000),
		"repetitions": "(?:.{0,900})x",
		"nested":      "(a+)+(a+)+(a+)+$",
		"classes":     strings.Repeat(`(?i)[\pL\pN]*`, 200),
		"usual":       "(?i)secret|password|token|access[.]?key|credential|pin",
	} {
		sc := sparkCluster(func(sc *sparkv1.SparkCluster) {
			sc.Spec.SparkConf = map[string]string{"spark.redaction.regex": pattern,
				"spark.a": strings.Repeat("a", 400<<10), "spark.master.rest.enabled": "true"}
		})
		if took := worst.CPU(2, func() { clusterPasses(sc.DeepCopy()) }); took > 500*time.Millisecond {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}
