package cluster

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// platformDefaults returns defaults of every sort that a cluster can use, and a default that looks secret. Only the key
// spark.worker.cleanup.enabled has an origin.
func platformDefaults() *platform.Settings {
	region := []corev1.EnvVar{{Name: "REGION", Value: "eu"}}
	return &platform.Settings{
		Version:   "v1",
		SparkConf: map[string]string{"spark.worker.cleanup.enabled": "true", "spark.ssl.keyPassword": "hunter2"},
		Images:    map[string]string{"4.1": "registry.example.org/spark:{{SPARK_VERSION}}"},
		Driver:    platform.Pod{Labels: map[string]string{"team": "platform"}, Env: region},
		Executor:  platform.Pod{NodeSelector: map[string]string{"pool": "spot"}},
		Origins:   map[string]string{"sparkConf[spark.worker.cleanup.enabled]": "defaults[0] (all)"},
	}
}

// treeOf parses JSON or YAML. An empty text has no tree.
func treeOf(t *testing.T, text string) (tree any) {
	t.Helper()

	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tree
}

// TestDefaultsFillWhatAClusterLeavesOut checks the merge of defaults into a cluster: the resulting sparkConf and
// StatefulSets, and the names of the settings that were written into templates. A merge must not change the user's
// cluster, and a second merge must change nothing.
func TestDefaultsFillWhatAClusterLeavesOut(t *testing.T) {
	const (
		conf   = `{spark.worker.cleanup.enabled: "true", spark.ssl.keyPassword: hunter2}`
		image  = `image: "registry.example.org/spark:4.1.4"`
		region = `env: [{name: REGION, value: eu}]`
		master = `{template: {metadata: {labels: {team: platform}}, spec: {containers: [{name: master, ` + region +
			`, ` + image + `}]}}}`
		worker = `{template: {spec: {nodeSelector: {pool: spot}, containers: [{name: worker, ` + image + `}]}}}`
		all    = "driver.labels[team] driver.env[REGION] images[4.1] executor.nodeSelector[pool] images[4.1]"
	)
	for name, c := range map[string]struct {
		spec                       string
		conf, master, worker, used string
	}{
		"an empty spec": {`{}`, conf, master, worker, all},
		"the user's configuration": {`{sparkConf: {spark.worker.cleanup.enabled: "false", spark.kubernetes.container.image: mine}}`,
			`{spark.worker.cleanup.enabled: "false", spark.ssl.keyPassword: hunter2, spark.kubernetes.container.image: mine}`,
			`{template: {metadata: {labels: {team: platform}}, spec: {containers: [{name: master, ` + region + `}]}}}`,
			`{template: {spec: {nodeSelector: {pool: spot}}}}`,
			"driver.labels[team] driver.env[REGION] executor.nodeSelector[pool]"},
		"the user's templates": {`{masterSpec: {statefulSetSpec: {minReadySeconds: 1, template: {metadata: {labels: {team: mine}}, spec: {containers: [{name: side, image: s}, {name: master, image: mine, env: [{name: REGION}]}]}}}},
			workerSpec: {statefulSetSpec: {template: {spec: {nodeSelector: {pool: mine}, containers: [{name: side, image: s}]}}}}}`, conf,
			`{minReadySeconds: 1, template: {metadata: {labels: {team: mine}}, spec: {containers: [{name: side, image: s}, {name: master, image: mine, env: [{name: REGION}]}]}}}`,
			`{template: {spec: {nodeSelector: {pool: mine}, containers: [{name: worker, ` + image +
				`}, {name: side, image: s}]}}}`, "images[4.1]"},
		"a container without a name is the daemon's": {`{workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: side}, {image: ""}]}}}}}`, conf, master,
			`{template: {spec: {nodeSelector: {pool: spot}, containers: [{name: side}, {` + image + `}]}}}`, all},
		"an empty template": {`{masterSpec: {statefulSetSpec: {template: null}}, workerSpec: {statefulSetSpec: {}}}`,
			conf, master, worker, all},
		"a StatefulSet that is no object": {`{masterSpec: {statefulSetSpec: [1]}}`, conf, `[1]`, worker,
			"executor.nodeSelector[pool] images[4.1]"},
		"a template that is a number": {`{masterSpec: {statefulSetSpec: {template: 3}}}`, conf,
			`{template: 3}`, worker, "executor.nodeSelector[pool] images[4.1]"},
		"a template that is a list": {`{workerSpec: {statefulSetSpec: {template: []}}}`, conf, master,
			`{template: []}`, "driver.labels[team] driver.env[REGION] images[4.1]"},
		"a template that is an empty text": {`{workerSpec: {statefulSetSpec: {template: ""}}}`, conf, master,
			`{template: ""}`, "driver.labels[team] driver.env[REGION] images[4.1]"},
		"a version for which there is no image": {`{runtimeVersions: {sparkVersion: 4.0.1}}`, conf,
			`{template: {metadata: {labels: {team: platform}}, spec: {containers: [{name: master, ` + region + `}]}}}`,
			`{template: {spec: {nodeSelector: {pool: spot}}}}`,
			"driver.labels[team] driver.env[REGION] executor.nodeSelector[pool]"},
		"numbers beyond a float keep their digits": {`{masterSpec: {statefulSetSpec: {future: 9007199254740993}}}`,
			conf, `{future: 9007199254740993, ` + master[1:], worker, all},
	} {
		t.Run(name, func(t *testing.T) {
			sc := sparkCluster()
			if err := yaml.UnmarshalStrict([]byte(c.spec), &sc.Spec); err != nil {
				t.Fatal(err)
			}

			before := sc.DeepCopy()

			merged, used := withDefaults(sc, platformDefaults())
			if diff := cmp.Diff(before, sc); diff != "" {
				t.Errorf("the merge changes the user's cluster:\n%s", diff)
			}

			if diff := cmp.Diff(treeOf(t, c.conf), treeOf(t, textOf(t, merged.Spec.SparkConf))); diff != "" {
				t.Errorf("sparkConf (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(treeOf(t, c.master),
				treeOf(t, string(merged.Spec.MasterSpec.StatefulSetSpec.Raw))); diff != "" {
				t.Errorf("the master (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(treeOf(t, c.worker),
				treeOf(t, string(merged.Spec.WorkerSpec.StatefulSetSpec.Raw))); diff != "" {
				t.Errorf("the workers (-want +got):\n%s", diff)
			}

			if got := strings.Join(used.Filled, " "); got != c.used {
				t.Errorf("used are %s\nwant     %s", got, c.used)
			}

			if strings.Contains(c.spec, "9007199254740993") &&
				!strings.Contains(string(merged.Spec.MasterSpec.StatefulSetSpec.Raw), "9007199254740993") {
				t.Errorf("the number is written as %s", merged.Spec.MasterSpec.StatefulSetSpec.Raw)
			}

			again, more := withDefaults(merged, platformDefaults())
			if diff := cmp.Diff(merged, again); diff != "" || len(more.Filled) > 0 {
				t.Errorf("a second merge uses %q and changes the cluster:\n%s", more.Filled, diff)
			}
		})
	}
}

// textOf returns the JSON of a value.
func textOf(t *testing.T, value any) string {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNoDefaultsNoCopy checks that a cluster without defaults is not copied, and that defaults change nothing except
// sparkConf and the StatefulSets. Empty defaults change nothing at all.
func TestNoDefaultsNoCopy(t *testing.T) {
	sc, before := fullCluster(), fullCluster()
	if merged, used := withDefaults(sc, nil); merged != sc || used.Settings != nil {
		t.Errorf("without defaults the cluster is copied, with %q", used.Filled)
	}

	merged, used := withDefaults(sc, &platform.Settings{Version: "v1"})
	if diff := cmp.Diff(before.Spec, merged.Spec); diff != "" || len(used.Filled) > 0 {
		t.Errorf("with empty defaults, used are %q:\n%s", used.Filled, diff)
	}

	merged, _ = withDefaults(sc, platformDefaults())
	merged.Spec.SparkConf = before.Spec.SparkConf

	merged.Spec.MasterSpec.StatefulSetSpec,
		merged.Spec.WorkerSpec.StatefulSetSpec = before.Spec.MasterSpec.StatefulSetSpec,
		before.Spec.WorkerSpec.StatefulSetSpec
	if diff := cmp.Diff(before.Spec, merged.Spec); diff != "" {
		t.Errorf("defaults change more than sparkConf and the StatefulSets:\n%s", diff)
	}
}

// FuzzDefaultsOfMembers checks that defaults never hide a fault of a StatefulSet: a spec that is rejected without
// defaults is rejected with them, unless the fault is within a template that is an object. Defaults do not make a valid
// spec invalid either, and they change nothing beside the template.
func FuzzDefaultsOfMembers(f *testing.F) {
	for _, text := range []string{
		"", "null", "{}", "[]", "3", `{"template":null}`, `{"template":3}`, `{"template":[]}`, `{"template":{}}`,
		`{"replicas":"x"}`, `{"template":{"spec":{"containers":[null]}}}`, "a: b", `{"template":`,
		`{"replicas":"x","template":{"metadata":{"labels":{"team":"mine"}}}}`,
		`{"minReadySeconds":9,"template":{"spec":{"nodeSelector":{"pool":"mine"}}}}`,
		`{"template":{"spec":{"nodeSelector":[]}}}`,
		`{"template":{"spec":{"containers":[{"name":"log","image":"l"},{"image":""}]}}}`,
		`{"template":{"spec":{"containers":[{"name":"worker","image":3}]}}}`,
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		with := func(spec []byte) *sparkv1.SparkCluster {
			sc := sparkCluster()
			sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(string(spec))}}
			return sc
		}
		sc := with(text)
		merged, used := withDefaults(sc, platformDefaults())

		again, more := withDefaults(merged, platformDefaults())
		if diff := cmp.Diff(merged, again); diff != "" || len(more.Filled) > 0 {
			t.Errorf("a second merge uses %q after %q and changes the cluster:\n%s", more.Filled, used.Filled, diff)
		}

		faults, later := validateCluster(sc), validateCluster(merged)
		if len(faults) == 0 && len(later) > 0 {
			t.Errorf("defaults cause the fault %v", later[0])
		}

		var own, filled map[string]any
		if json.Unmarshal(text, &own) == nil && own != nil {
			if err := json.Unmarshal(merged.Spec.WorkerSpec.StatefulSetSpec.Raw, &filled); err != nil {
				t.Fatal(err)
			}

			if _, isObject := own["template"].(map[string]any); isObject || own["template"] == nil {
				delete(own, "template")
				delete(filled, "template")

				faults = validateCluster(with([]byte(textOf(t, own))))
			}

			if diff := cmp.Diff(own, filled); diff != "" {
				t.Errorf("defaults change a StatefulSet beside its template:\n%s", diff)
			}
		}

		if len(faults) > 0 && len(later) == 0 {
			t.Errorf("defaults hide the fault %v", faults[0])
		}
	})
}

// TestDefaultsOfACluster checks with which defaults a cluster is rendered. Those in its status apply as long as it runs
// unedited, so that a change of the defaults does not replace its pods.
func TestDefaultsOfACluster(t *testing.T) {
	begun := metav1.NewMicroTime(clusterNoon)
	stored := &sparkv1.OperatorDefaults{Version: "v0", Settings: `{"sparkConf":{"spark.x":"old"}}`}

	const present, old, none = "v1", "v0", "none"
	for name, c := range map[string]struct {
		status sparkv1.ClusterStatus
		want   string
	}{
		"a new cluster":                       {sparkv1.ClusterStatus{}, present},
		"a cluster of another operator":       {sparkv1.ClusterStatus{CurrentState: &sparkv1.ClusterState{CurrentStateSummary: sparkv1.ClusterRunningHealthy}}, none},
		"whose objects do not all exist":      {sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Generation: 3, Defaults: stored}}, present},
		"that runs":                           {sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Generation: 3, BegunAt: &begun, Defaults: stored}}, old},
		"that runs without defaults":          {sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Generation: 3, BegunAt: &begun}}, none},
		"that was edited":                     {sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Generation: 2, BegunAt: &begun, Defaults: stored}}, present},
		"that was taken over":                 {sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Generation: 3, Adopted: true}}, none},
		"that was taken over and then edited": {sparkv1.ClusterStatus{Operator: &sparkv1.ClusterOperatorStatus{Generation: 2, Adopted: true}}, present},
		"of another operator, with a status of ours": {sparkv1.ClusterStatus{CurrentState: &sparkv1.ClusterState{},
			Operator: &sparkv1.ClusterOperatorStatus{Generation: 3, BegunAt: &begun, Defaults: stored}}, old},
	} {
		sc := sparkCluster(func(sc *sparkv1.SparkCluster) { sc.Generation, sc.Status = 3, c.status })

		got := none
		if settings := (Clusters{Options{Defaults: platformDefaults()}}).settings(sc); settings != nil {
			got = settings.Version
		}

		if got != c.want {
			t.Errorf("%s: defaults %s, want %s", name, got, c.want)
		}
	}

	if settings := (Clusters{}).settings(sparkCluster()); settings != nil {
		t.Errorf("without defaults: %+v", settings)
	}
}

// TestSecretsAreNoDefaultsOfClusters checks that a default that looks secret reaches neither the objects nor the status
// of a cluster, and that the operator's own settings keep it.
func TestSecretsAreNoDefaultsOfClusters(t *testing.T) {
	c := Clusters{Options{Defaults: platformDefaults()}}
	sc := sparkCluster()
	c.Decide(sc, lifecycle.Observed{}, clusterNoon)

	made, err := c.objects(sparkCluster())
	if err != nil {
		t.Fatal(err)
	}

	all, err := made.All()
	if err != nil {
		t.Fatal(err)
	}

	for _, value := range []any{sc.Status, all} {
		if text := textOf(t, value); strings.Contains(text, "hunter2") || strings.Contains(text, "keyPassword") {
			t.Errorf("a secret is in %s", text)
		}
	}

	if got := c.Defaults.SparkConf["spark.ssl.keyPassword"]; got != "hunter2" {
		t.Errorf("the operator's own default is %q now", got)
	}

	if sc.Status.Operator.Defaults == nil || sc.Status.Operator.Defaults.Version != "v1" {
		t.Errorf("the status has the defaults %+v", sc.Status.Operator.Defaults)
	}
}

// TestAClusterKeepsItsDefaults checks that changed defaults replace no pod of a running cluster, and that an edit uses
// the changed ones.
func TestAClusterKeepsItsDefaults(t *testing.T) {
	w := newClusterWorld(t)
	w.c.Defaults = platformDefaults()
	w.pass()
	w.observePods(2)
	w.pass()

	digests := func() map[lifecycle.Role]string {
		want, _, _ := w.c.want(w.sc, lifecycle.Observed{})
		return want.Made
	}
	before, spec := digests(), w.sc.Spec.DeepCopy()
	w.c.Defaults = &platform.Settings{Version: "v2",
		Executor: platform.Pod{NodeSelector: map[string]string{"pool": "other"}}}
	w.pass()

	if diff := cmp.Diff(before, digests()); diff != "" || w.sc.Status.Operator.Defaults.Version != "v1" {
		t.Errorf("changed defaults change the pods, to the version %s:\n%s",
			w.sc.Status.Operator.Defaults.Version, diff)
	}

	w.c.Defaults = nil
	w.pass()

	if diff := cmp.Diff(before, digests()); diff != "" {
		t.Errorf("the removal of the defaults changes the pods:\n%s", diff)
	}

	if diff := cmp.Diff(spec, &w.sc.Spec); diff != "" {
		t.Errorf("the defaults are in the spec:\n%s", diff)
	}

	w.c.Defaults = &platform.Settings{Version: "v2",
		Executor: platform.Pod{NodeSelector: map[string]string{"pool": "other"}}}
	editTo(3, nil)(w.sc)
	w.pass()

	if after := digests(); after[lifecycle.Worker] == before[lifecycle.Worker] ||
		w.sc.Status.Operator.Defaults.Version != "v2" {
		t.Errorf("an edit keeps the old defaults of version %s", w.sc.Status.Operator.Defaults.Version)
	}

	w.now = w.now.Add(time.Minute)
	w.pass()

	if made, err := w.c.objects(w.sc); err != nil || made.Workers.Spec.Template.Spec.NodeSelector["pool"] != "other" {
		t.Errorf("the workers have the node selector %v, %v", made.Workers.Spec.Template.Spec.NodeSelector, err)
	}
}

// TestOriginsOfAClustersDefaults checks that the ConfigMap of a cluster has the origins of exactly those defaults that
// the cluster uses.
func TestOriginsOfAClustersDefaults(t *testing.T) {
	c := Clusters{Options{Defaults: platformDefaults()}}
	pods := map[string]string{"driver.labels[team]": "defaults", "driver.env[REGION]": "defaults",
		"executor.nodeSelector[pool]": "defaults", "images[4.1]": "defaults"}
	withKey := map[string]string{"sparkConf[spark.worker.cleanup.enabled]": "defaults[0] (all)"}
	maps.Copy(withKey, pods)

	for name, test := range map[string]struct {
		conf, want map[string]string
	}{
		"no sparkConf":                         {nil, withKey},
		"a key that the user sets":             {map[string]string{"spark.worker.cleanup.enabled": "false"}, pods},
		"a key that the user sets to the same": {map[string]string{"spark.worker.cleanup.enabled": "true"}, pods},
	} {
		made, err := c.objects(sparkCluster(func(sc *sparkv1.SparkCluster) { sc.Spec.SparkConf = test.conf }))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(test.want, platform.Origins(made.Config.Annotations)); diff != "" ||
			made.Config.Annotations["sparkoperator.dev/defaults"] != "v1" {
			t.Errorf("%s, version %q (-want +got):\n%s", name,
				made.Config.Annotations["sparkoperator.dev/defaults"], diff)
		}
	}

	made, err := testClusters.objects(sparkCluster())
	if err != nil {
		t.Fatal(err)
	}

	if version, ok := made.Config.Annotations["sparkoperator.dev/defaults"]; ok {
		t.Errorf("without defaults, the ConfigMap has the version %q", version)
	}
}

// TestFaultOfAClustersDefaultNamesItsOrigin checks that a message about a default names the entry of the operator's
// configuration, in a pass and in a review. A message about the user's own value does not.
func TestFaultOfAClustersDefaultNamesItsOrigin(t *testing.T) {
	const origin = " (the value is a default of the operator's configuration, defaults[3] (bad); set the key in spec.sparkConf to override it)"

	c := Clusters{Options{Defaults: &platform.Settings{SparkConf: map[string]string{"spark.x": "a\x00"},
		Origins: map[string]string{"sparkConf[spark.x]": "defaults[3] (bad)"}}}}
	for conf, want := range map[string]bool{"": true, "b\x00": false} {
		sc := sparkCluster(func(sc *sparkv1.SparkCluster) {
			if conf != "" {
				sc.Spec.SparkConf = map[string]string{"spark.x": conf}
			}
		})
		wanted, _, _ := c.want(sc, lifecycle.Observed{})

		review := c.Review(sc)
		if wanted.Invalid == nil || len(review.Faults) != 1 {
			t.Fatalf("%q: the pass reports %v, the review %v", conf, wanted.Invalid, review.Faults)
		}

		for by, message := range map[string]string{"the pass": wanted.Invalid.Message,
			"the review": review.Faults[0].Error()} {
			if !strings.HasPrefix(message, "spec.sparkConf[spark.x]: ") || strings.HasSuffix(message, origin) != want {
				t.Errorf("%q, by %s: %s", conf, by, message)
			}
		}
	}
}
