package apache

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/testkit/worst"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// passes makes the passes of an application's life: the first, the launch, one with a driver that runs and executors, and one after the end.
func passes(a Applications, app *sparkv1.SparkApplication) {
	now, seen := t0, lifecycle.Observed{Confirmed: true}
	for range 2 {
		plan := a.Decide(app, seen, now)
		for _, action := range plan.Do {
			if action.Verb == lifecycle.Create {
				_, _ = a.Render(app, action, now)
			}
		}
		tell(a, app, plan, now)
	}
	_, _ = a.Executor(app, 1, 1, "uid", now)
	seen = lifecycle.Observed{Remains: []int32{1}, Executors: executors(1, 10), Drivers: []lifecycle.Driver{{
		Name: "pi-0-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0, StartedAt: t0, ReadyAt: t0, AppID: "pi-0",
	}}}
	tell(a, app, a.Decide(app, seen, now), now)
	seen.Drivers[0].Phase, seen.Drivers[0].HasExit = lifecycle.DriverSucceeded, true
	tell(a, app, a.Decide(app, seen, now), now)
}

func tell(a Applications, app *sparkv1.SparkApplication, plan lifecycle.Plan, now time.Time) {
	Events(app, plan)
	if s := a.Surroundings(app); s.Told != nil {
		s.Told(standing(s.Objects), now)
	}
	_, _ = json.Marshal(app.Status)
}

func standing[T interface {
	GetName() string
	runtime.Object
}](objects []T) (is []lifecycle.Surrounding) {
	for _, object := range objects {
		is = append(is, lifecycle.Surrounding{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName(), Stands: true})
	}
	return is
}

// raw is a value of a type with a field full of items, less what a fuller object has of itself.
func raw[T any](t *testing.T, field worst.Field, n int, change ...func(*T)) *runtime.RawExtension {
	t.Helper()
	value := new(T)
	field.Fill(value, n)
	for _, c := range change {
		c(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}

// TestListsOfApplicationsCostLinearTime fills every list and map of the kind with thousands of items.
func TestListsOfApplicationsCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[sparkv1.SparkApplication]()) {
		worst.Linear(t, field.Path, func(n int) func() {
			app := pi()
			field.Fill(app, n)
			return func() { passes(trimmed, app.DeepCopy()) }
		})
	}
	for _, field := range worst.Fields(reflect.TypeFor[corev1.PodTemplateSpec]()) {
		worst.Linear(t, "template"+field.Path, func(n int) func() {
			template := &sparkv1.PodTemplate{PodTemplateSpec: raw[corev1.PodTemplateSpec](t, field, n)}
			app := pi(func(app *sparkv1.SparkApplication) { app.Spec.DriverSpec, app.Spec.ExecutorSpec = template, template })
			return func() { passes(trimmed, app.DeepCopy()) }
		})
	}
}

// doorsOf are n entries that expose a driver, each with a Service of its own, or all with one.
func doorsOf(n int, own bool) (all []sparkv1.DriverServiceIngress) {
	for i := range n {
		name := "ui"
		if own {
			name = fmt.Sprint("ui-", i)
		}
		all = append(all, sparkv1.DriverServiceIngress{
			ServiceMetadata: sparkv1.ObjectMetadata{Name: name}, ServiceSpec: &runtime.RawExtension{Raw: []byte(`{"ports":[{"port":4040}]}`)},
			IngressMetadata: sparkv1.ObjectMetadata{Name: fmt.Sprint("ui-", i)}, IngressSpec: &runtime.RawExtension{Raw: []byte(`{}`)},
		})
	}
	return all
}

// TestDoorsCostLinearTime exposes a driver by thousands of entries, right ones and ones that clash. 10,000 took 72 s in every pass.
func TestDoorsCostLinearTime(t *testing.T) {
	for name, change := range map[string]func([]sparkv1.DriverServiceIngress){
		"right":    func([]sparkv1.DriverServiceIngress) {},
		"one name": func(all []sparkv1.DriverServiceIngress) { all[len(all)-1].IngressMetadata.Name = "ui-0" },
		"all clash": func(all []sparkv1.DriverServiceIngress) {
			for i := range all {
				all[i].IngressMetadata.Name = "ui"
			}
		},
		"first is long": func(all []sparkv1.DriverServiceIngress) {
			all[0].ServiceSpec.Raw = []byte(fmt.Sprintf(`{"ports":[{"port":4040}],"externalIPs":["1"%s]}`, strings.Repeat(`,"1"`, 10*len(all))))
			for i := range all {
				all[i].ServiceMetadata.Name = "ui"
			}
		},
	} {
		for _, own := range []bool{true, false} {
			worst.Linear(t, fmt.Sprint(name, " ", own), func(n int) func() {
				app := pi(func(app *sparkv1.SparkApplication) { app.Spec.DriverServiceIngressList = doorsOf(n, own) })
				change(app.Spec.DriverServiceIngressList)
				return func() { passes(trimmed, app.DeepCopy()) }
			})
		}
	}
	for _, field := range worst.Fields(reflect.TypeFor[networkingv1.IngressSpec]()) {
		worst.Linear(t, "ingress"+field.Path, func(n int) func() {
			app := pi(func(app *sparkv1.SparkApplication) { app.Spec.DriverServiceIngressList = doorsOf(1, true) })
			app.Spec.DriverServiceIngressList[0].IngressSpec = raw[networkingv1.IngressSpec](t, field, n)
			return func() { passes(trimmed, app.DeepCopy()) }
		})
	}
}

// clusterPasses decides about a cluster twice, and about what is made of it.
func clusterPasses(sc *sparkv1.SparkCluster) {
	for range 2 {
		plan := testClusters.Decide(sc, lifecycle.Observed{}, clusterNoon)
		s := testClusters.Surroundings(sc, lifecycle.Observed{})
		if s.Decides != nil {
			s.Decides(standing(s.Objects), clusterNoon)
		}
		testClusters.Events(sc, plan)
		_, _ = json.Marshal(sc.Status)
	}
}

// TestListsOfClustersCostLinearTime fills every list and map of the kind, and of the specs inside of it.
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
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: raw[appsv1.StatefulSetSpec](t, field, n)}}
			sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sc.Spec.WorkerSpec.MemberSpec}
		})
	}
	for _, field := range worst.Fields(reflect.TypeFor[corev1.ServiceSpec]()) {
		measure("serviceSpec"+field.Path, func(sc *sparkv1.SparkCluster, n int) {
			sc.Spec.MasterSpec = &sparkv1.MasterSpec{MemberSpec: sparkv1.MemberSpec{ServiceSpec: raw[corev1.ServiceSpec](t, field, n)}}
		})
	}
	for _, field := range worst.Fields(reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerSpec]()) {
		measure("autoscaler"+field.Path, func(sc *sparkv1.SparkCluster, n int) {
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{HorizontalPodAutoscalerSpec: raw[autoscalingv2.HorizontalPodAutoscalerSpec](t, field, n)}
		})
	}
}

// TestRedactionIsBounded gives patterns that are much work for the text that they are matched with: 20 KB took 34 s.
func TestRedactionIsBounded(t *testing.T) {
	for name, pattern := range map[string]string{
		"long":        strings.Repeat("a?", 10_000),
		"repetitions": "(?:.{0,900})x",
		"nested":      "(a+)+(a+)+(a+)+$",
		"classes":     strings.Repeat(`(?i)[\pL\pN]*`, 200),
		"usual":       "(?i)secret|password|token|access[.]?key|credential|pin",
	} {
		sc := sparkCluster(func(sc *sparkv1.SparkCluster) {
			sc.Spec.SparkConf = map[string]string{"spark.redaction.regex": pattern, "spark.a": strings.Repeat("a", 400<<10), "spark.master.rest.enabled": "true"}
		})
		if took := worst.CPU(2, func() { clusterPasses(sc.DeepCopy()) }); took > 500*time.Millisecond {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}
