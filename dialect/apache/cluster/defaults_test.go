package cluster

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect/platform"
)

// platformDefaults returns defaults of every sort that a cluster can use, and one that looks secret. Only one of them
// has an origin.
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
		master = `{template: {metadata: {labels: {team: platform}}, spec: {containers: [{name: master, ` + region + `, ` + image + `}]}}}`
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
			`{template: {metadata: {labels: {team: platform}}, spec: {containers: [{name: master, ` + region + `}]}}}`, `{template: {spec: {nodeSelector: {pool: spot}}}}`,
			"driver.labels[team] driver.env[REGION] executor.nodeSelector[pool]"},
		"the user's templates": {`{masterSpec: {statefulSetSpec: {minReadySeconds: 1, template: {metadata: {labels: {team: mine}}, spec: {containers: [{name: side, image: s}, {name: master, image: mine, env: [{name: REGION}]}]}}}},
			workerSpec: {statefulSetSpec: {template: {spec: {nodeSelector: {pool: mine}, containers: [{name: side, image: s}]}}}}}`, conf,
			`{minReadySeconds: 1, template: {metadata: {labels: {team: mine}}, spec: {containers: [{name: side, image: s}, {name: master, image: mine, env: [{name: REGION}]}]}}}`,
			`{template: {spec: {nodeSelector: {pool: mine}, containers: [{name: worker, ` + image + `}, {name: side, image: s}]}}}`, "images[4.1]"},
		"a container without a name is the daemon's": {`{workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: side}, {image: ""}]}}}}}`, conf, master,
			`{template: {spec: {nodeSelector: {pool: spot}, containers: [{name: side}, {` + image + `}]}}}`, all},
		"an empty template":                        {`{masterSpec: {statefulSetSpec: {template: null}}, workerSpec: {statefulSetSpec: {}}}`, conf, master, worker, all},
		"a StatefulSet that is no object":          {`{masterSpec: {statefulSetSpec: [1]}}`, conf, `[1]`, worker, "executor.nodeSelector[pool] images[4.1]"},
		"a template that is a number":              {`{masterSpec: {statefulSetSpec: {template: 3}}}`, conf, `{template: 3}`, worker, "executor.nodeSelector[pool] images[4.1]"},
		"a template that is a list":                {`{workerSpec: {statefulSetSpec: {template: []}}}`, conf, master, `{template: []}`, "driver.labels[team] driver.env[REGION] images[4.1]"},
		"a template that is an empty text":         {`{workerSpec: {statefulSetSpec: {template: ""}}}`, conf, master, `{template: ""}`, "driver.labels[team] driver.env[REGION] images[4.1]"},
		"a version for which there is no image":    {`{runtimeVersions: {sparkVersion: 4.0.1}}`, conf, `{template: {metadata: {labels: {team: platform}}, spec: {containers: [{name: master, ` + region + `}]}}}`, `{template: {spec: {nodeSelector: {pool: spot}}}}`, "driver.labels[team] driver.env[REGION] executor.nodeSelector[pool]"},
		"numbers beyond a float keep their digits": {`{masterSpec: {statefulSetSpec: {future: 9007199254740993}}}`, conf, `{future: 9007199254740993, ` + master[1:], worker, all},
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
			if diff := cmp.Diff(treeOf(t, c.master), treeOf(t, string(merged.Spec.MasterSpec.StatefulSetSpec.Raw))); diff != "" {
				t.Errorf("the master (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(treeOf(t, c.worker), treeOf(t, string(merged.Spec.WorkerSpec.StatefulSetSpec.Raw))); diff != "" {
				t.Errorf("the workers (-want +got):\n%s", diff)
			}
			if got := strings.Join(used, " "); got != c.used {
				t.Errorf("used are %s\nwant     %s", got, c.used)
			}
			if strings.Contains(c.spec, "9007199254740993") && !strings.Contains(string(merged.Spec.MasterSpec.StatefulSetSpec.Raw), "9007199254740993") {
				t.Errorf("the number is written as %s", merged.Spec.MasterSpec.StatefulSetSpec.Raw)
			}
			again, more := withDefaults(merged, platformDefaults())
			if diff := cmp.Diff(merged, again); diff != "" || len(more) > 0 {
				t.Errorf("a second merge uses %q and changes the cluster:\n%s", more, diff)
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

// FuzzDefaultsOfMembers checks that defaults never hide a fault of a StatefulSet: a spec that is rejected without
// defaults is rejected with them, unless the fault is within the template itself.
func FuzzDefaultsOfMembers(f *testing.F) {
	for _, text := range []string{"", "null", "{}", "[]", "3", `{"template":null}`, `{"template":3}`, `{"template":[]}`, `{"template":{}}`, `{"replicas":"x"}`, `{"template":{"spec":{"containers":[null]}}}`, "a: b", `{"template":`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sc := sparkCluster()
		sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: rawOf(string(text))}}
		merged, used := withDefaults(sc, platformDefaults())
		again, more := withDefaults(merged, platformDefaults())
		if diff := cmp.Diff(merged, again); diff != "" || len(more) > 0 {
			t.Errorf("a second merge uses %q after %q and changes the cluster:\n%s", more, used, diff)
		}
		var fields map[string]json.RawMessage
		wellFormed := json.Unmarshal(text, &fields) == nil
		var template map[string]any
		if raw, ok := fields["template"]; wellFormed && ok && json.Unmarshal(raw, &template) == nil {
			return
		}
		if len(ValidateCluster(sc)) > 0 && len(ValidateCluster(merged)) == 0 {
			t.Errorf("defaults hide the fault %v", ValidateCluster(sc)[0])
		}
	})
}
