package connect

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// onPlatform returns a Connects value with the given defaults.
func onPlatform(s platform.Settings) Connects {
	s.Version = "v1"
	return Connects{Options{Defaults: &s}}
}

// everyDefault returns settings that contain a default of each kind that servers use.
func everyDefault() platform.Settings {
	pod := func() platform.Pod {
		return platform.Pod{
			Labels: map[string]string{"team": "platform"}, Annotations: map[string]string{"note": "platform"},
			NodeSelector: map[string]string{"disk": "platform"},
			Tolerations:  []corev1.Toleration{{Key: "spot"}}, PriorityClassName: "platform",
			Env:                []corev1.EnvVar{{Name: "REGION", Value: "platform"}},
			SecurityContext:    &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)},
			PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(7))},
		}
	}
	return platform.Settings{
		SparkConf: map[string]string{"spark.sql.ansi.enabled": "true", "spark.eventLog.dir": "s3a://platform"},
		Images:    map[string]string{"4.1": "platform:4.1"}, PullSecrets: []string{"platform"}, Driver: pod(),
		Executor: pod(),
	}
}

// rendered returns the pod of a server and one of its executors.
func rendered(t *testing.T, c Connects, sc *v1alpha1.SparkConnect) (server, executor *corev1.Pod) {
	t.Helper()

	objects, err := c.Render(sc, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1},
		connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	if executor, err = c.Executor(sc, 1, 1, "", connectBegan); err != nil {
		t.Fatal(err)
	}
	return objects.Driver, executor
}

// TestDefaultsNeverReplaceAValue checks that a default does not replace a value that the SparkConnect sets in any way,
// and that the default applies without that value.
func TestDefaultsNeverReplaceAValue(t *testing.T) {
	conf := func(pairs ...string) platform.Settings {
		return platform.Settings{SparkConf: map[string]string{pairs[0]: pairs[1]}}
	}
	label := func(_, executor *corev1.Pod) string { return executor.Labels["team"] }
	disk := func(_, executor *corev1.Pod) string { return executor.Spec.NodeSelector["disk"] }
	memory := func(_, executor *corev1.Pod) string {
		return executor.Spec.Containers[0].Resources.Requests.Memory().String()
	}
	variable := func(_, executor *corev1.Pod) (value string) {
		for _, v := range executor.Spec.Containers[0].Env {
			if v.Name == "A" {
				value = v.Value
				if v.ValueFrom != nil {
					value = "a reference"
				}
			}
		}
		return value
	}
	argument := func(key string) func(server, _ *corev1.Pod) string {
		return func(server, _ *corev1.Pod) string {
			for _, arg := range server.Spec.Containers[0].Args {
				if value, ok := strings.CutPrefix(arg, key+"="); ok {
					return value
				}
			}
			return ""
		}
	}
	serverLabel := func(server, _ *corev1.Pod) string { return server.Labels["team"] }

	labels := platform.Settings{Driver: platform.Pod{Labels: map[string]string{"team": "default"}},
		Executor: platform.Pod{Labels: map[string]string{"team": "default"}}}
	for name, test := range map[string]struct {
		defaults     platform.Settings
		own          string // a part of the spec
		got          func(server, executor *corev1.Pod) string
		mine, theirs string
	}{
		"a key of sparkConf": {conf("spark.sql.ansi.enabled", "true"),
			`sparkConf: {spark.sql.ansi.enabled: "false"}`, argument("spark.sql.ansi.enabled"), "false", "true"},
		"a key of hadoopConf": {conf("spark.hadoop.fs.a", "default"), `hadoopConf: {fs.a: mine}`,
			argument("spark.hadoop.fs.a"), "mine", "default"},
		"a size": {conf("spark.executor.memory", "2g"), `executor: {memory: 4g}`, memory,
			"4505Mi", "2432Mi"},
		"the number of executors": {conf("spark.dynamicAllocation.minExecutors", "7"),
			`dynamicAllocation: {enabled: true, minExecutors: 1}`, argument("spark.dynamicAllocation.minExecutors"),
			"1", "7"},
		"dynamic allocation is disabled": {conf("spark.dynamicAllocation.enabled", "true"),
			`dynamicAllocation: {enabled: false}`, argument("spark.dynamicAllocation.enabled"), "", "true"},
		"the factor of both roles": {conf("spark.executor.memoryOverheadFactor", "0.5"),
			`sparkConf: {spark.kubernetes.memoryOverheadFactor: "1"}`, memory, "2Gi", "1536Mi"},
		"a node selector of both roles": {conf("spark.kubernetes.executor.node.selector.disk", "default"),
			`sparkConf: {spark.kubernetes.node.selector.disk: mine}`, disk, "mine", "default"},
		"a node selector of executors": {conf("spark.kubernetes.node.selector.disk", "default"),
			`sparkConf: {spark.kubernetes.executor.node.selector.disk: mine}`, disk, "mine", "default"},
		"a default Secret": {conf("spark.kubernetes.executor.secretKeyRef.A", "s:k"),
			`sparkConf: {spark.executorEnv.A: mine}`, variable, "mine", "a reference"},
		"a Secret": {conf("spark.executorEnv.A", "default"),
			`sparkConf: {spark.kubernetes.executor.secretKeyRef.A: "s:k"}`, variable, "a reference", "default"},
		"a label of a template": {labels, `executor: {template: {metadata: {labels: {team: mine}}}}`, label,
			"mine", "default"},
		"a label of the server": {labels, `server: {template: {metadata: {labels: {team: mine}}}}`,
			serverLabel, "mine", "default"},
		"a label in sparkConf": {labels, `sparkConf: {spark.kubernetes.executor.label.team: mine}`, label,
			"mine", "default"},
		"an empty value counts as set": {labels, `sparkConf: {spark.kubernetes.executor.label.team: ""}`, label, "",
			"default"},
		"a label of the other role alone": {labels, `sparkConf: {spark.kubernetes.driver.label.team: mine}`, label,
			"default", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			for own, want := range map[string]string{test.own: test.mine, "": test.theirs} {
				server, executor := rendered(t, onPlatform(test.defaults), connectOf(t, own))
				if got := test.got(server, executor); got != want {
					t.Errorf("%s: %q, want %q", own, got, want)
				}
			}
		})
	}
	// The labels of the SparkConnect are labels of its pods, so their defaults are not used.
	sc := aConnect(func(sc *v1alpha1.SparkConnect) { sc.Labels = map[string]string{"team": "mine"} })
	for _, defaults := range []platform.Settings{labels, conf("spark.kubernetes.executor.label.team", "default")} {
		if _, executor := rendered(t, onPlatform(defaults), sc); executor.Labels["team"] != "mine" {
			t.Errorf("the label is %q", executor.Labels["team"])
		}
	}
}

// TestDefaultImage checks which image the pods of a server run if the platform has a default image. An image of a
// template overrides the default, and it overrides it only for its own role.
func TestDefaultImage(t *testing.T) {
	c := onPlatform(platform.Settings{Images: map[string]string{"4.1": "default:{{SPARK_VERSION}}"}})
	const template = `{template: {spec: {containers: [{name: spark-kubernetes-ROLE, image: template}]}}}`

	server, executor := strings.Replace(template, "ROLE", "driver", 1), strings.Replace(template, "ROLE", "executor", 1)
	for piece, want := range map[string][2]string{
		`image: null`: {"default:4.1.4", "default:4.1.4"},
		`image: ""`:   {"default:4.1.4", "default:4.1.4"},
		`image: mine`: {"mine", "mine"},
		`image: null, sparkConf: {spark.kubernetes.container.image: key}`:                                                    {"key", "key"},
		`image: null, sparkConf: {spark.kubernetes.executor.container.image: key}`:                                           {"default:4.1.4", "key"},
		`image: null, sparkConf: {spark.kubernetes.driver.container.image: d, spark.kubernetes.executor.container.image: e}`: {"d", "e"},
		`image: null, sparkConf: {spark.kubernetes.container.image: ""}`:                                                     {"default:4.1.4", "default:4.1.4"},
		`image: null, server: ` + server:                                                                                     {"template", "default:4.1.4"},
		`image: null, executor: ` + executor:                                                                                 {"default:4.1.4", "template"},
		`image: null, server: ` + server + `, executor: ` +
			executor: {"template", "template"},
	} {
		sc := connectOf(t, piece)
		if sc.Spec.Image != nil && strings.HasPrefix(piece, "image: null") {
			sc.Spec.Image = nil
		}

		s, e := rendered(t, c, sc)
		if got := [2]string{s.Spec.Containers[0].Image, e.Spec.Containers[0].Image}; got != want {
			t.Errorf("%s: server and executors run %q, want %q", piece, got, want)
		}
	}

	sc := aConnect(func(sc *v1alpha1.SparkConnect) { sc.Spec.Image, sc.Spec.SparkVersion = nil, "4.0.1" })
	if wrong := c.invalid(sc); wrong == nil || !strings.HasPrefix(wrong.Message, "spec.image: ") {
		t.Errorf("another line of Spark: %v", wrong)
	}
}

// TestMergedDefaults checks the spec that results from defaults of each kind, and that the stored SparkConnect and the
// settings do not change.
func TestMergedDefaults(t *testing.T) {
	sc := connectOf(t, `image: "", sparkConf: {spark.eventLog.dir: mine}, executor: {template: {spec: {tolerations: [{key: mine}], containers: [{name: main}]}}}`)
	sc.Spec.SparkConf["spark.kubernetes.executor.podTemplateContainerName"] = "main"
	before, settings := sc.DeepCopy(), everyDefault()
	a := onPlatform(settings).next(sc, 1).Attempt

	merged := a.sc
	if diff := cmp.Diff(before, sc) + cmp.Diff(everyDefault(), settings); diff != "" {
		t.Errorf("the SparkConnect or the settings were changed:\n%s", diff)
	}

	want := map[string]string{
		"spark.eventLog.dir": "mine", "spark.sql.ansi.enabled": "true",
		"spark.kubernetes.container.image":                   "platform:4.1",
		"spark.kubernetes.executor.podTemplateContainerName": "main",
	}
	if diff := cmp.Diff(want, merged.Spec.SparkConf); diff != "" {
		t.Errorf("sparkConf (-want +got):\n%s", diff)
	}

	spec := corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "platform"}, Tolerations: []corev1.Toleration{{Key: "spot"}},
		PriorityClassName: "platform",
		SecurityContext:   &corev1.PodSecurityContext{FSGroup: new(int64(7))},
		ImagePullSecrets:  []corev1.LocalObjectReference{{Name: "platform"}},
		Containers: []corev1.Container{{
			Name: "spark-kubernetes-driver", Env: []corev1.EnvVar{{Name: "REGION", Value: "platform"}},
			SecurityContext: &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)},
		}},
	}

	server, executor := rawtemplate.Pod(merged.Spec.Server.Template), rawtemplate.Pod(merged.Spec.Executor.Template)
	if diff := cmp.Diff(spec, server.Spec); diff != "" {
		t.Errorf("the server's template (-want +got):\n%s", diff)
	}

	spec.Tolerations, spec.Containers[0].Name = []corev1.Toleration{{Key: "mine"}, {Key: "spot"}}, "main"
	if diff := cmp.Diff(spec, executor.Spec); diff != "" {
		t.Errorf("the executors' template (-want +got):\n%s", diff)
	}

	used := slices.Compact(slices.Sorted(slices.Values(a.defaults.Filled)))

	wantUsed := []string{
		"driver.annotations[note]", "driver.env[REGION]", "driver.labels[team]", "driver.nodeSelector[disk]",
		"driver.podSecurityContext.fsGroup", "driver.priorityClassName",
		"driver.securityContext.readOnlyRootFilesystem", "driver.tolerations",
		"executor.annotations[note]", "executor.env[REGION]", "executor.labels[team]", "executor.nodeSelector[disk]",
		"executor.podSecurityContext.fsGroup",
		"executor.priorityClassName", "executor.securityContext.readOnlyRootFilesystem", "executor.tolerations",
		"imagePullSecrets", "images[4.1]",
	}
	if diff := cmp.Diff(wantUsed, used); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}

	if a.hash() != hash(&sc.Spec) || hash(&merged.Spec) == hash(&sc.Spec) {
		t.Errorf("the hash of the launch is %s, that of the user's spec is %s", a.hash(), hash(&sc.Spec))
	}

	again := merged.DeepCopy()
	if filled := merge(&again.Spec, again.Labels, a.Defaults); len(filled) > 0 || cmp.Diff(merged, again) != "" {
		t.Errorf("a second merge uses %v and changes\n%s", filled, cmp.Diff(merged, again))
	}

	if plain := (Connects{}).next(sc, 1).Attempt; plain.sc != sc || plain.defaults.Settings != nil {
		t.Error("without defaults, the SparkConnect is copied")
	}
}

// TestDefaultsOfACreatedServer checks which defaults count in decisions about a server: those in the status if our
// operator created it, none if another operator did, and the present ones before the first server.
func TestDefaultsOfACreatedServer(t *testing.T) {
	present := &platform.Settings{Version: "v2",
		SparkConf: map[string]string{"spark.executor.instances": "2", "spark.dynamicAllocation.enabled": "true"}}
	stored := (&platform.Settings{Version: "v1",
		SparkConf: map[string]string{"spark.executor.instances": "1", "spark.sql.ansi.enabled": "true"}}).Remember()

	status := func(attempt int32, defaults *statusv1.OperatorDefaults) v1alpha1.SparkConnectStatus {
		return v1alpha1.SparkConnectStatus{Operator: &v1alpha1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{Attempt: attempt, Defaults: defaults}}}
	}
	for name, test := range map[string]struct {
		defaults *platform.Settings
		status   v1alpha1.SparkConnectStatus
		want     string // spark.executor.instances
	}{
		"before the first pass":           {present, v1alpha1.SparkConnectStatus{}, "2"},
		"before the first server":         {present, status(0, nil), "2"},
		"a server with other defaults":    {present, status(3, stored), "1"},
		"a server without defaults":       {present, status(3, nil), ""},
		"a server, the defaults are gone": {nil, status(3, stored), "1"},
		"a server of another operator": {present,
			v1alpha1.SparkConnectStatus{State: v1alpha1.SparkConnectStateReady}, ""},
		"a server, without defaults at all": {nil, status(3, nil), ""},
	} {
		for _, own := range []map[string]string{nil, {"spark.a": "mine"}, {"spark.executor.instances": "mine"}} {
			for _, disabled := range []bool{false, true} {
				sc := aConnect(func(sc *v1alpha1.SparkConnect) {
					sc.Spec.SparkConf, sc.Status = maps.Clone(own), test.status
					if disabled {
						sc.Spec.DynamicAllocation = &v1alpha1.DynamicAllocation{}
					}
				})
				before := sc.DeepCopy()
				a := Connects{Options{Defaults: test.defaults}}.present(sc)

				want := test.want
				if text, set := own["spark.executor.instances"]; set {
					want = text
				}

				dynamic := ""
				if test.want == "2" && !disabled {
					dynamic = "true"
				}

				got := a.sc.Spec.SparkConf
				if got["spark.executor.instances"] != want || got["spark.dynamicAllocation.enabled"] != dynamic ||
					got["spark.a"] != own["spark.a"] {
					t.Errorf("%s, disabled: %t: the configuration is %v", name, disabled, got)
				}

				if a.hash() != hash(&before.Spec) {
					t.Errorf("%s: the hash is not that of the user's spec", name)
				}

				if diff := cmp.Diff(before, sc); diff != "" {
					t.Errorf("%s: the SparkConnect was changed:\n%s", name, diff)
				}
			}
		}
	}
}

// TestOriginsOfDefaults checks the annotations of a server's ConfigMap and pod, and that a fault of a default names the
// entry of the operator's configuration.
func TestOriginsOfDefaults(t *testing.T) {
	s := platform.Settings{
		SparkConf: map[string]string{"spark.sql.ansi.enabled": "true", "spark.eventLog.dir": "default"},
		Driver:    platform.Pod{Labels: map[string]string{"team": "x", "own": "x"}},
		Origins: map[string]string{"sparkConf[spark.sql.ansi.enabled]": "defaults[1] (sql)",
			"driver.labels[team]": "defaults[0] (all)"},
	}
	sc := connectOf(t, `sparkConf: {spark.eventLog.dir: default}`) // as the default, but the user's own
	sc.Labels = map[string]string{"own": "x"}

	objects, err := onPlatform(s).Render(sc,
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	want := map[string]string{"sparkConf[spark.sql.ansi.enabled]": "defaults[1] (sql)",
		"driver.labels[team]": "defaults[0] (all)"}
	if diff := cmp.Diff(want, platform.Origins(objects.Before[0].GetAnnotations())); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}

	for _, object := range []map[string]string{objects.Before[0].GetAnnotations(), objects.Driver.Annotations} {
		if object[platform.VersionAnnotation] != "v1" {
			t.Errorf("annotations without the version: %v", object)
		}
	}

	if objects.Driver.Annotations[lifecycle.SpecHashAnnotation] != hash(&sc.Spec) {
		t.Error("the pod has not the hash of the user's spec")
	}

	s.SparkConf = map[string]string{"spark.executor.memory": "2gb2"}
	if wrong := onPlatform(s).invalid(aConnect()); wrong == nil ||
		!strings.HasPrefix(wrong.Message, "spec.sparkConf[spark.executor.memory]: ") ||
		!strings.Contains(wrong.Message,
			"(the value is a default of the operator's configuration, defaults; set the key in spec.sparkConf to override it)") {
		t.Errorf("a fault of a default: %v", wrong)
	}

	if wrong := onPlatform(s).invalid(connectOf(t, `sparkConf: {spark.executor.memory: 2gb2}`)); wrong == nil ||
		strings.Contains(wrong.Message, "default") {
		t.Errorf("a fault of the user: %v", wrong)
	}

	plain, err := Connects{}.Render(sc,
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	if _, has := plain.Before[0].GetAnnotations()[platform.VersionAnnotation]; has ||
		plain.Driver.Annotations[platform.VersionAnnotation] != "" {
		t.Error("without defaults, the objects have their version")
	}
}

// TestExecutorOfOtherDefaults checks that no executor is rendered if the defaults have changed since the server was
// created. For another attempt, the present defaults count.
func TestExecutorOfOtherDefaults(t *testing.T) {
	for name, test := range map[string]struct {
		defaults *platform.Settings
		stored   *statusv1.OperatorDefaults
		attempt  int32
		changed  bool
	}{
		"the same version": {&platform.Settings{Version: "v1"},
			&statusv1.OperatorDefaults{Version: "v1"}, 1, false},
		"another version": {&platform.Settings{Version: "v2"},
			&statusv1.OperatorDefaults{Version: "v1"}, 1, true},
		"another version, a next attempt": {&platform.Settings{Version: "v2"},
			&statusv1.OperatorDefaults{Version: "v1"}, 2, false},
		"removed defaults": {nil, &statusv1.OperatorDefaults{Version: "v1"}, 1, true},
		"new defaults":     {&platform.Settings{Version: "v1"}, nil, 1, true},
		"no defaults":      {nil, nil, 1, false},
	} {
		sc := aConnect(func(sc *v1alpha1.SparkConnect) {
			sc.Status.Operator = &v1alpha1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{Attempt: 1,
				Defaults: test.stored}}
		})

		pod, err := Connects{Options{Defaults: test.defaults}}.Executor(sc, test.attempt, 1, "", connectBegan)
		if (errors.Is(err, launch.ErrDefaultsChanged)) != test.changed || (pod == nil) != test.changed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefaultsAreStoredWithTheServer checks that a decision stores the defaults only if it creates a server.
func TestDefaultsAreStoredWithTheServer(t *testing.T) {
	for name, test := range map[string]struct {
		c            Connects
		before, next int32
		want         string
	}{
		"a server":                  {onPlatform(everyDefault()), 1, 2, "v1"},
		"no server":                 {onPlatform(everyDefault()), 2, 2, "v0"},
		"a server without defaults": {Connects{}, 1, 2, ""},
	} {
		sc := aConnect(func(sc *v1alpha1.SparkConnect) {
			sc.Status.Operator = &v1alpha1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{Defaults: &statusv1.OperatorDefaults{Version: "v0"}}}
		})
		launch.Remember(test.c.Defaults, stored(sc), lifecycle.Memory{Attempt: test.before},
			lifecycle.Memory{Attempt: test.next})

		got := ""
		if sc.Status.Operator.Defaults != nil {
			got = sc.Status.Operator.Defaults.Version
		}

		if got != test.want {
			t.Errorf("%s: stored is %q, want %q", name, got, test.want)
		}
	}
}

// FuzzMerge checks for any template and any key that merging keeps the user's key, that a valid template stays valid,
// and that merging twice equals merging once.
func FuzzMerge(f *testing.F) {
	for _, template := range []string{
		``, `null`, `{}`, `[]`, `{"spec":7}`, `{"spec":{"containers":[7,null,{}]}}`,
		`{"metadata":{"labels":{"team":null}},"spec":{"containers":[{"image":""}]}}`,
	} {
		f.Add([]byte(template), "spark.eventLog.dir", "x")
	}

	f.Add([]byte(`{}`), "spark.kubernetes.container.image", "mine")
	f.Fuzz(func(t *testing.T, template []byte, key, value string) {
		sc := aConnect(func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Image, sc.Spec.SparkConf = nil, map[string]string{key: value}
			sc.Spec.Server.Template = &runtime.RawExtension{Raw: slices.Clone(template)}
		})
		before := sc.DeepCopy()

		launched := onPlatform(everyDefault()).next(sc, 1).Attempt.sc
		if diff := cmp.Diff(before, sc); diff != "" {
			t.Fatalf("the SparkConnect was changed:\n%s", diff)
		}

		if got := launched.Spec.SparkConf[key]; got != value && (key != platform.ImageKey || value != "") {
			t.Errorf("%q is %q, want %q", key, got, value)
		}

		was, is := sparkoperator.CheckTemplate("t", sc.Spec.Server.Template),
			sparkoperator.CheckTemplate("t", launched.Spec.Server.Template)
		if len(was) == 0 && len(is) > 0 {
			t.Errorf("the template %s becomes %s: %v", template, launched.Spec.Server.Template.Raw, is)
		}

		again := launched.DeepCopy()
		merge(&again.Spec, again.Labels, onPlatform(everyDefault()).Defaults)

		if diff := cmp.Diff(launched, again); diff != "" {
			t.Errorf("a second merge changes the spec:\n%s", diff)
		}
	})
}
