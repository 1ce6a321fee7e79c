package sparkoperator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/testkit/worst"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// costly is a dialect with everything switched on that an application can have.
var costly = Dialect{Options{
	MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second, Batch: Batch{Enabled: true, Default: "volcano"},
	UI: UI{Service: true, Ingress: &UIIngress{URLFormat: "{{$appName}}.example.com"}, Route: &UIRoute{URLFormat: "{{$appName}}.example.com"}},
}}

// passes makes the passes of an application's life: the first, the launch, one with a driver that runs and executors, and one after the end.
func passes(d Dialect, app *v1beta2.SparkApplication) {
	now := t0
	seen := lifecycle.Observed{Confirmed: true}
	for range 2 {
		plan := d.Decide(app, seen, now)
		for _, action := range plan.Do {
			if action.Verb == lifecycle.Create {
				_, _ = d.Render(app, action, now)
			}
		}
		d.told(app, seen, plan, now)
	}
	_, _ = d.Executor(app, 1, 1, "uid", now)
	seen = lifecycle.Observed{Drivers: []lifecycle.Driver{{
		Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0, StartedAt: t0, ReadyAt: t0, AppID: "spark-1",
	}}, Remains: []int32{1}}
	for i := range 10 {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("pi-1-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1", Phase: lifecycle.DriverRunning, CreatedAt: t0,
		})
	}
	d.told(app, seen, d.Decide(app, seen, now), now)
	seen.Drivers[0].Phase, seen.Drivers[0].HasExit = lifecycle.DriverSucceeded, true
	d.told(app, seen, d.Decide(app, seen, now), now)
}

func (d Dialect) told(app *v1beta2.SparkApplication, seen lifecycle.Observed, plan lifecycle.Plan, now time.Time) {
	Events(app, plan)
	s := d.Surroundings(app, seen)
	var is []lifecycle.Surrounding
	for _, object := range s.Objects {
		is = append(is, lifecycle.Surrounding{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName(), Stands: true, Address: "10.0.0.1"})
	}
	if s.Told != nil {
		s.Told(is, now)
	}
	_, _ = json.Marshal(app.Status)
}

// TestListsOfApplicationsCostLinearTime fills every list and map of the kind with thousands of items.
func TestListsOfApplicationsCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[v1beta2.SparkApplication]()) {
		worst.Linear(t, "SparkApplication"+field.Path, func(n int) func() {
			app := sample()
			field.Fill(app, n)
			return func() { passes(costly, app.DeepCopy()) }
		})
	}
}

// TestListsOfServersCostLinearTime does so for SparkConnect.
func TestListsOfServersCostLinearTime(t *testing.T) {
	c := Connects{ConnectOptions{MissingGrace: 10 * time.Second}}
	for _, field := range worst.Fields(reflect.TypeFor[v1alpha1.SparkConnect]()) {
		worst.Linear(t, "SparkConnect"+field.Path, func(n int) func() {
			sc := aConnect()
			field.Fill(sc, n)
			return func() { connectPasses(c, sc.DeepCopy()) }
		})
	}
}

func connectPasses(c Connects, sc *v1alpha1.SparkConnect) {
	now := connectBegan
	seen := lifecycle.Observed{Confirmed: true}
	for range 3 {
		plan := c.Decide(sc, seen, now)
		for _, action := range plan.Do {
			if action.Verb == lifecycle.Create {
				_, _ = c.Render(sc, action, now)
			}
		}
		c.Events(sc, plan)
		s := c.Surroundings(sc)
		var is []lifecycle.Surrounding
		for _, object := range s.Objects {
			is = append(is, lifecycle.Surrounding{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName(), Stands: true})
		}
		if s.Told != nil {
			s.Told(is, now)
		}
		_, _ = json.Marshal(sc.Status)
		seen = lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "hub-server", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: now, StartedAt: now, ReadyAt: now}}}
	}
}

// TestListsOfSchedulesCostLinearTime does so for ScheduledSparkApplication.
func TestListsOfSchedulesCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[v1beta2.ScheduledSparkApplication]()) {
		if strings.HasPrefix(field.Path, ".spec.template.") {
			continue // as an application's own
		}
		worst.Linear(t, "ScheduledSparkApplication"+field.Path, func(n int) func() {
			s := &v1beta2.ScheduledSparkApplication{}
			s.Name, s.Namespace, s.UID, s.Generation = "nightly", "jobs", "11111111-2222-4333-8444-555555555555", 1
			s.Spec.Schedule, s.Spec.Template = "* * * * *", sample().Spec
			field.Fill(s, n)
			return func() {
				s := s.DeepCopy()
				d := Schedules{ScheduleOptions{Applications: costly.Options}}
				for i := range 3 {
					now := t0.Add(time.Duration(i) * time.Hour)
					plan := d.Decide(s, lifecycle.Observed{Confirmed: true}, now)
					for _, action := range plan.Do {
						if action.Verb == lifecycle.Create {
							_, _ = d.RenderRun(s, action)
						}
					}
					d.Events(s, plan)
					_, _ = json.Marshal(s.Status)
				}
			}
		})
	}
}

// keyFamilies are keys of Spark's configuration of which an application may have many, each with a value.
var keyFamilies = map[string]string{
	"spark.kubernetes.driverEnv.E%d":                          "v",
	"spark.kubernetes.driver.label.l%d":                       "v",
	"spark.kubernetes.driver.annotation.a%d":                  "{{APP_ID}}",
	"spark.kubernetes.driver.service.label.l%d":               "v",
	"spark.kubernetes.driver.service.annotation.a%d":          "v",
	"spark.kubernetes.driver.secrets.s%d":                     "/secrets/%d",
	"spark.kubernetes.driver.secretKeyRef.E%d":                "secret:key",
	"spark.kubernetes.driver.volumes.emptyDir.v%d.mount.path": "/mnt/%d",
	"spark.kubernetes.driver.volumes.hostPath.v%d.mount.path": "/mnt/%d",
	"spark.kubernetes.node.selector.n%d":                      "v",
	"spark.kubernetes.driver.node.selector.n%d":               "v",
	"spark.kubernetes.executor.label.l%d":                     "v",
	"spark.kubernetes.executor.annotation.a%d":                "v",
	"spark.kubernetes.executor.secrets.s%d":                   "/secrets/%d",
	"spark.kubernetes.executor.secretKeyRef.E%d":              "secret:key",
	"spark.kubernetes.executor.volumes.nfs.v%d.mount.path":    "/mnt/%d",
	"spark.executorEnv.E%d":                                   "v",
	"spark.driver.resource.gpu%d.amount":                      "1",
	"spark.executor.resource.gpu%d.amount":                    "1",
	"spark.network.n%d":                                       "v",
	"spark.k%d":                                               "${spark.driver.memory}",
	"spark.x%d.password":                                      "v",
	"foreign.k%d":                                             "v",
	"spark.jars":                                              "local:///jar-%d.jar",
	"spark.files":                                             "local:///file-%d",
	"spark.archives":                                          "local:///a-%d.zip",
	"spark.submit.pyFiles":                                    "local:///a-%d.py",
	"spark.jars.packages":                                     "g:a%d:1",
	"spark.local.dir":                                         "/dir-%d",
	"spark.kubernetes.container.image.pullSecrets":            "secret-%d",
	"spark.kubernetes.driver.pod.featureSteps":                "org.example.Step%d",
	"spark.kubernetes.driver.pod.excludedFeatureSteps":        "org.example.Step%d",
	"spark.kubernetes.executor.pod.excludedFeatureSteps":      "org.example.Step%d",
	"spark.kubernetes.driver.service.ipFamilies":              "IPv4",
	"spark.driver.extraJavaOptions":                           "-Da%d=b",
	"spark.executor.extraJavaOptions":                         "-Da%d=b ${env:X}",
	"spark.driver.defaultJavaOptions":                         "${spark.driver.memory} ${env:X}",
	"spark.kubernetes.memoryOverheadFactor":                   "0%d",
	"spark.driver.memory":                                     "${spark.driver.cores}",
}

// keysOf returns n keys of a family, or one key with a list of n.
func keysOf(key, value string, n int) map[string]string {
	numbered := func(text string, i int) string { return strings.ReplaceAll(text, "%d", fmt.Sprint(i)) }
	out := map[string]string{}
	if !strings.Contains(key, "%d") {
		items := make([]string, n)
		for i := range items {
			items[i] = numbered(value, i)
		}
		separator := ","
		if strings.Contains(key, "Options") {
			separator = " "
		}
		out[key] = strings.Join(items, separator)
		return out
	}
	for i := range n {
		out[numbered(key, i)] = numbered(value, i)
	}
	return out
}

// TestConfigurationsCostLinearTime gives an application many keys of each family that is read.
func TestConfigurationsCostLinearTime(t *testing.T) {
	for key, value := range keyFamilies {
		worst.Linear(t, "sparkConf "+key, func(n int) func() {
			app := sample()
			app.Spec.SparkConf = keysOf(key, value, n)
			return func() { passes(costly, app.DeepCopy()) }
		})
		worst.Linear(t, "connect sparkConf "+key, func(n int) func() {
			sc := aConnect()
			sc.Spec.SparkConf = keysOf(key, value, n)
			return func() { connectPasses(Connects{}, sc.DeepCopy()) }
		})
	}
}

// TestTemplatesCostLinearTime gives the pod templates of both roles long lists.
func TestTemplatesCostLinearTime(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[corev1.PodTemplateSpec]()) {
		template := func(n int) *runtime.RawExtension {
			pod := corev1.PodTemplateSpec{}
			field.Fill(&pod, n)
			text, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			return &runtime.RawExtension{Raw: text}
		}
		worst.Linear(t, "SparkApplication template"+field.Path, func(n int) func() {
			app := sample()
			app.Spec.Driver.Template, app.Spec.Executor.Template = template(n), template(n)
			return func() { passes(costly, app.DeepCopy()) }
		})
		worst.Linear(t, "SparkConnect template"+field.Path, func(n int) func() {
			sc := aConnect()
			sc.Spec.Server.Template, sc.Spec.Executor.Template = template(n), template(n)
			return func() { connectPasses(Connects{}, sc.DeepCopy()) }
		})
	}
}
