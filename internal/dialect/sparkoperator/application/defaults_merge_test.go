package application

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// launchedPods returns the driver pod and an executor pod with which the application would be launched.
func launchedPods(t *testing.T, d Dialect, app *v1beta2.SparkApplication) (driver, executor *corev1.Pod) {
	t.Helper()

	objects, _, err := d.buildAttempt(app, 1, sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	if executor, err = d.Executor(app, 1, 1, "", sparkapp.T0); err != nil {
		t.Fatal(err)
	}
	return objects.Driver, executor
}

// TestDefaultsNeverReplaceAValue checks that a default in the platform's sparkConf does not replace a value that the
// application sets in another way than by the same key. Without the value of the application, the default must apply.
func TestDefaultsNeverReplaceAValue(t *testing.T) {
	env := func(name string) func(*corev1.Pod) string {
		return func(pod *corev1.Pod) string { return lastOf(pod.Spec.Containers[0].Env, name) }
	}
	label := func(pod *corev1.Pod) string { return pod.Labels["team"] }
	disk := func(pod *corev1.Pod) string { return pod.Spec.NodeSelector["disk"] }
	scheduler := func(pod *corev1.Pod) string { return pod.Spec.SchedulerName }

	memory := func(pod *corev1.Pod) string { return pod.Spec.Containers[0].Resources.Requests.Memory().String() }
	for name, test := range map[string]struct {
		defaults     map[string]string
		own          string // a part of the spec
		role         string
		got          func(*corev1.Pod) string
		mine, theirs string
	}{
		"a label of the driver": {map[string]string{"spark.kubernetes.driver.label.team": "default"},
			`driver: {labels: {team: mine}}`, "driver", label, "mine", "default"},
		"a label of executors": {map[string]string{"spark.kubernetes.executor.label.team": "default"},
			`executor: {labels: {team: mine}}`, "executor", label, "mine", "default"},
		"a variable in env": {map[string]string{"spark.kubernetes.driverEnv.A": "default"},
			`driver: {env: [{name: A, value: mine}]}`, "driver", env("A"), "mine", "default"},
		"an executors' variable in env": {map[string]string{"spark.executorEnv.A": "default"},
			`executor: {env: [{name: A, value: mine}]}`, "executor", env("A"), "mine", "default"},
		"a variable in envVars": {map[string]string{"spark.executorEnv.A": "default"},
			`executor: {envVars: {A: mine}}`, "executor", env("A"), "mine", "default"},
		"a variable from a Secret": {map[string]string{"spark.kubernetes.driverEnv.A": "default"},
			`driver: {envSecretKeyRefs: {A: {name: s, key: k}}}`, "driver", env("A"), "secretKeyRef", "default"},
		"a default Secret over env": {map[string]string{"spark.kubernetes.driver.secretKeyRef.A": "s:k"},
			`driver: {env: [{name: A, value: mine}]}`, "driver", env("A"), "mine", "secretKeyRef"},
		"a default Secret over envVars": {map[string]string{"spark.kubernetes.driver.secretKeyRef.A": "s:k"},
			`driver: {envVars: {A: mine}}`, "driver", env("A"), "mine", "secretKeyRef"},
		"a default Secret of executors": {map[string]string{"spark.kubernetes.executor.secretKeyRef.A": "s:k"},
			`executor: {envVars: {A: mine}}`, "executor", env("A"), "mine", "secretKeyRef"},
		"a default Secret over a key": {map[string]string{"spark.kubernetes.executor.secretKeyRef.A": "s:k"},
			`sparkConf: {spark.executorEnv.A: mine}`, "executor", env("A"), "mine", "secretKeyRef"},
		"a node selector of both roles": {map[string]string{"spark.kubernetes.driver.node.selector.disk": "default"},
			`nodeSelector: {disk: mine}`, "driver", disk, "mine", "default"},
		"a node selector of executors": {map[string]string{"spark.kubernetes.executor.node.selector.disk": "default"},
			`nodeSelector: {disk: mine}`, "executor", disk, "mine", "default"},
		"a node selector in a key": {map[string]string{"spark.kubernetes.executor.node.selector.disk": "default"},
			`sparkConf: {spark.kubernetes.node.selector.disk: mine}`, "executor", disk, "mine", "default"},
		"a default of both roles": {map[string]string{"spark.kubernetes.node.selector.disk": "default"},
			`executor: {nodeSelector: {disk: mine}}`, "executor", disk, "mine", "default"},
		"a scheduler": {map[string]string{"spark.kubernetes.scheduler.name": "default"},
			`executor: {schedulerName: mine}`, "executor", scheduler, "mine", "default"},
		"a scheduler of both roles": {map[string]string{"spark.kubernetes.executor.scheduler.name": "default"},
			`sparkConf: {spark.kubernetes.scheduler.name: mine}`, "executor", scheduler, "mine", "default"},
		"the memory": {map[string]string{"spark.driver.memory": "2g"}, `driver: {memory: 4g}`,
			"driver", memory, "4505Mi", "2432Mi"},
		"the factor of both roles": {map[string]string{"spark.driver.memoryOverheadFactor": "0.5"},
			`memoryOverheadFactor: "1"`, "driver", memory, "2Gi", "1536Mi"},
		"the factor of executors": {map[string]string{"spark.executor.memoryOverheadFactor": "0.5"},
			`memoryOverheadFactor: "1"`, "executor", memory, "2Gi", "1536Mi"},
		"the factor in a key": {map[string]string{"spark.executor.memoryOverheadFactor": "0.5"},
			`sparkConf: {spark.kubernetes.memoryOverheadFactor: "1"}`, "executor", memory, "2Gi", "1536Mi"},
		"Hadoop's ConfigMap": {map[string]string{"spark.kubernetes.hadoop.configMapName": "default"},
			`hadoopConfigMap: mine`, "driver", env("HADOOP_CONF_DIR"), "/etc/hadoop/conf", "/opt/hadoop/conf"},
		"Hadoop's ConfigMap, executors": {map[string]string{"spark.kubernetes.hadoop.configMapName": "default"},
			`hadoopConfigMap: mine`, "executor", env("HADOOP_CONF_DIR"), "/etc/hadoop/conf", "/opt/hadoop/conf"},
		"an empty value in sparkConf": {map[string]string{"spark.kubernetes.driver.label.team": "default"},
			`sparkConf: {spark.kubernetes.driver.label.team: ""}`, "driver", label, "", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			d := onPlatform(platform.Settings{SparkConf: test.defaults})
			for own, want := range map[string]string{"spec: {" + test.own + "}": test.mine, "{}": test.theirs} {
				driver, executor := launchedPods(t, d, sparkapp.Of(t, own))

				pod := map[string]*corev1.Pod{"driver": driver, "executor": executor}[test.role]
				if got := test.got(pod); got != want {
					t.Errorf("%s: the %s has %q, want %q", own, test.role, got, want)
				}
			}
		})
	}
}

// ofEveryKind is a spec that has maps, lists and templates in all places to which defaults can be added.
const ofEveryKind = `
metadata: {labels: {a: mine}}
spec:
  image: ""
  nodeSelector: {}
  sparkConf: {spark.a: mine, spark.kubernetes.executor.podTemplateContainerName: main}
  timeouts: {runSeconds: 9}
  driver:
    labels: {b: mine}
    env: [{name: A, value: mine}]
    securityContext: {runAsUser: 5}
    podSecurityContext: {runAsGroup: 5}
    template: {metadata: {labels: {c: mine}}, spec: {tolerations: [{key: mine}], containers: [{name: side}, {name: spark-kubernetes-driver, env: [{name: B, value: mine}]}]}}
  executor:
    instances: 2
    envVars: {C: mine}
    template: {spec: {containers: [{name: first}, {name: main, securityContext: {runAsUser: 6}}], imagePullSecrets: [{name: mine}]}}`

// TestMergeLeavesTheApplicationAlone checks that merging changes no map, list or template of the stored application,
// and that the copy for the launch keeps every value of the user.
func TestMergeLeavesTheApplicationAlone(t *testing.T) {
	app := sparkapp.Of(t, ofEveryKind)
	settings := sparkapp.EveryDefault()
	before, defaults := app.DeepCopy(), sparkapp.EveryDefault()
	l := Dialect{Options{Defaults: settings}}.next(app, 1, sparkapp.T0)

	merged := l.Attempt.app
	if diff := cmp.Diff(before, app) + cmp.Diff(defaults, settings); diff != "" {
		t.Errorf("the application or the settings were changed:\n%s", diff)
	}

	if diff := cmp.Diff(before.ObjectMeta, merged.ObjectMeta) + cmp.Diff(before.Status, merged.Status); diff != "" {
		t.Errorf("the copy has other metadata or another status:\n%s", diff)
	}

	driver, executor := rawtemplate.Pod(merged.Spec.Driver.Template), rawtemplate.Pod(merged.Spec.Executor.Template)
	if got := driver.Spec.Containers; len(got) != 2 || got[0].Name != "side" || len(got[0].Env) > 0 ||
		lastOf(got[1].Env, "B") != "mine" || lastOf(got[1].Env, "REGION") != "platform" ||
		got[1].SecurityContext != nil {
		t.Errorf("the driver's containers are %+v", got)
	}

	if got := driver.Spec.Tolerations; len(got) != 2 || got[0].Key != "mine" || got[1].Key != "spot" {
		t.Errorf("the driver's tolerations are %+v", got)
	}

	if c, p := merged.Spec.Driver.SecurityContext, merged.Spec.Driver.PodSecurityContext; *c.RunAsUser != 5 ||
		!*c.ReadOnlyRootFilesystem || *p.RunAsGroup != 5 || *p.FSGroup != 7 || driver.Spec.SecurityContext != nil {
		t.Errorf("the driver's security contexts are %+v, %+v", c, p)
	}

	if got := executor.Spec.Containers; len(got) != 2 || lastOf(got[0].Env, "REGION") != "" ||
		lastOf(got[1].Env, "REGION") != "platform" || *got[1].SecurityContext.RunAsUser != 6 {
		t.Errorf("the executors' containers are %+v", got)
	}

	if got := executor.Spec.ImagePullSecrets; len(got) != 1 || got[0].Name != "mine" {
		t.Errorf("the executors' image pull secrets are %+v", got)
	}

	if l.Attempt.hash() != specification.Hash(&app.Spec) ||
		specification.Hash(&merged.Spec) == specification.Hash(&app.Spec) {
		t.Errorf("the hash of the launch is %s, that of the user's spec is %s", l.Attempt.hash(),
			specification.Hash(&app.Spec))
	}
}

// TestMergingTwiceEqualsMergingOnce checks that a second merge adds nothing, and that an application without defaults
// is not copied.
func TestMergingTwiceEqualsMergingOnce(t *testing.T) {
	for _, piece := range []string{"{}", ofEveryKind} {
		app := sparkapp.Of(t, piece)
		specification.Merge(&app.Spec, app.Labels, sparkapp.EveryDefault())
		once := app.DeepCopy()

		filled := specification.Merge(&app.Spec, app.Labels, sparkapp.EveryDefault())
		if diff := cmp.Diff(once, app); diff != "" {
			t.Errorf("a second merge changes the spec:\n%s", diff)
		}
		// Timeouts are not written into the spec, so the application still uses their defaults.
		if i := slices.IndexFunc(filled, func(s string) bool { return !strings.HasPrefix(s, "time") }); i >= 0 {
			t.Errorf("a second merge uses %s", filled[i])
		}
	}

	plain := sparkapp.Sample()
	if a := (Dialect{}).next(plain, 1, sparkapp.T0).Attempt; a.app != plain || a.defaults.Settings != nil {
		t.Error("without defaults, the application is copied")
	}
}

// TestDefaultsOfALaunchedAttempt checks which defaults count in decisions about an attempt: those in the status if our
// operator launched it, none if another operator did, and the present ones before the first launch.
func TestDefaultsOfALaunchedAttempt(t *testing.T) {
	present := &platform.Settings{Version: "v2", SparkConf: map[string]string{"spark.ui.port": "2"},
		Timeouts: platform.Timeouts{RunSeconds: new(int64(2))}, TimeToLiveSeconds: new(int64(20))}
	stored := (&platform.Settings{Version: "v1",
		SparkConf: map[string]string{"spark.ui.port": "1", "spark.sql.ansi.enabled": "true"},
		Timeouts:  platform.Timeouts{RunSeconds: new(int64(1))}}).Remember()
	status := func(attempt int32, defaults *statusv1.OperatorDefaults) v1beta2.SparkApplicationStatus {
		return v1beta2.SparkApplicationStatus{Operator: &statusv1.OperatorStatus{Attempt: attempt, Defaults: defaults}}
	}
	theirs := v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateRunning}}

	limit := lifecycle.Deadlines{Run: time.Hour, DriverStart: time.Minute}
	for name, test := range map[string]struct {
		defaults *platform.Settings
		status   v1beta2.SparkApplicationStatus
		port     string
		run, ttl time.Duration
	}{
		"before the first pass": {present, v1beta2.SparkApplicationStatus{}, "2", 2 * time.Second,
			20 * time.Second},
		"before the first attempt":            {present, status(0, nil), "2", 2 * time.Second, 20 * time.Second},
		"an attempt with other defaults":      {present, status(3, stored), "1", time.Second, 20 * time.Second},
		"an attempt without defaults":         {present, status(3, nil), "", time.Hour, 20 * time.Second},
		"an attempt, the defaults are gone":   {nil, status(3, stored), "1", time.Second, 5 * time.Second},
		"an attempt, without defaults at all": {nil, status(3, nil), "", time.Hour, 5 * time.Second},
		"an attempt of another operator":      {present, theirs, "", time.Hour, 20 * time.Second},
		"nothing":                             {nil, v1beta2.SparkApplicationStatus{}, "", time.Hour, 5 * time.Second},
	} {
		for _, own := range []map[string]string{nil, {"spark.a": "mine"}, {"spark.ui.port": "mine"}} {
			app := sparkapp.Sample(func(app *v1beta2.SparkApplication) {
				app.Spec.SparkConf,
					app.Status = maps.Clone(own), test.status
			})
			before := app.DeepCopy()
			a := Dialect{Options{Defaults: test.defaults, Limits: limit,
				DefaultTTL: 5 * time.Second}}.present(app).Attempt

			port := test.port
			if text, set := own["spark.ui.port"]; set {
				port = text
			}

			if a.app.Spec.SparkConf["spark.ui.port"] != port || a.app.Spec.SparkConf["spark.a"] != own["spark.a"] {
				t.Errorf("%s: the configuration is %v", name, a.app.Spec.SparkConf)
			}

			wanted := a.wanted()
			if wanted.Deadlines.Run != test.run || wanted.Deadlines.DriverStart != time.Minute ||
				*wanted.TTL != test.ttl || wanted.SpecHash != specification.Hash(&before.Spec) {
				t.Errorf("%s: deadlines %+v, time to live %v, hash %s", name, wanted.Deadlines, *wanted.TTL,
					wanted.SpecHash)
			}

			if diff := cmp.Diff(before, app); diff != "" {
				t.Errorf("%s: the application was changed:\n%s", name, diff)
			}
		}
	}
}

// TestDefaultsAreStoredAtTheLaunch checks that a decision stores the defaults only if it launches an attempt, and that
// an attempt without defaults removes those of the previous attempt.
func TestDefaultsAreStoredAtTheLaunch(t *testing.T) {
	old := &statusv1.OperatorDefaults{Version: "v0"}
	for name, test := range map[string]struct {
		defaults     *platform.Settings
		before, next int32
		want         string
	}{
		"a launch":                  {sparkapp.EveryDefault(), 1, 2, "v1"},
		"no launch":                 {sparkapp.EveryDefault(), 2, 2, "v0"},
		"a launch without defaults": {nil, 1, 2, ""},
	} {
		app := sparkapp.Sample()
		app.Status.Operator = &statusv1.OperatorStatus{Defaults: old}
		launch.Remember(test.defaults, app.Status.Operator, lifecycle.Memory{Attempt: test.before},
			lifecycle.Memory{Attempt: test.next})

		got := ""
		if app.Status.Operator.Defaults != nil {
			got = app.Status.Operator.Defaults.Version
		}

		if got != test.want {
			t.Errorf("%s: stored is %q, want %q", name, got, test.want)
		}
	}

	foreign := sparkapp.Sample()
	launch.Remember(sparkapp.EveryDefault(), foreign.Status.Operator, lifecycle.Memory{}, lifecycle.Memory{Attempt: 1})

	if foreign.Status.Operator != nil {
		t.Errorf("the status of another operator has %+v", foreign.Status.Operator)
	}
}

// FuzzMerge checks for any template and any key that merging keeps the user's key, that it leaves invalid templates as
// they are, and that merging twice equals merging once.
func FuzzMerge(f *testing.F) {
	for _, template := range []string{
		``, `null`, `{}`, `[]`, `{"spec":7}`, `{"spec":{"containers":[]}}`, `{"spec":{"containers":[7,null,{}]}}`,
		`{"spec":{"containers":{}},"metadata":[]}`,
		`{"metadata":{"labels":{"team":null}},"spec":{"tolerations":"x","containers":[{"name":"spark-kubernetes-driver","env":[{"name":"REGION"}]}]}}`,
		`{"spec":{"securityContext":{"fsGroup":1},"priority":0,"imagePullSecrets":[]}}`,
	} {
		f.Add([]byte(template), "spark.eventLog.dir", "x")
	}

	f.Add([]byte(`{}`), "spark.kubernetes.driver.podTemplateContainerName", "other")
	f.Add([]byte(`{}`), "spark.kubernetes.driver.label.team", "")
	f.Fuzz(func(t *testing.T, template []byte, key, value string) {
		app := sparkapp.Sample()
		app.Spec.SparkConf, app.Spec.Driver.Template = map[string]string{key: value},
			&runtime.RawExtension{Raw: slices.Clone(template)}
		before := app.DeepCopy()

		launched := Dialect{Options{Defaults: sparkapp.EveryDefault()}}.next(app, 1, sparkapp.T0).Attempt.app
		if diff := cmp.Diff(before, app); diff != "" {
			t.Fatalf("the application was changed:\n%s", diff)
		}

		if got, set := launched.Spec.SparkConf[key]; !set || got != value {
			t.Errorf("%q is %q, want %q", key, got, value)
		}

		was, is := sparkoperator.CheckTemplate("t", app.Spec.Driver.Template),
			sparkoperator.CheckTemplate("t", launched.Spec.Driver.Template)
		if len(was) == 0 && len(is) > 0 {
			t.Errorf("the template %s becomes %s: %v", template, launched.Spec.Driver.Template.Raw, is)
		}

		again := launched.DeepCopy()
		specification.Merge(&again.Spec, again.Labels, sparkapp.EveryDefault())

		if diff := cmp.Diff(launched, again); diff != "" {
			t.Errorf("a second merge changes the spec:\n%s", diff)
		}
	})
}
