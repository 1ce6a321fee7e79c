package steps_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

const groupName = "spark-6c48998273294de495e5c9d3a1722dba-podgroup"

func TestPodGroup(t *testing.T) {
	ours := func(more map[string]any, spec map[string]any) map[string]any {
		metadata := map[string]any{
			"name": groupName, "namespace": "ns1", "labels": map[string]any{"example.org/app": "my-app"},
			"ownerReferences": []any{map[string]any{"apiVersion": "example.org/v1", "kind": "App", "name": "my-app",
				"uid": "uid-1", "controller": true}},
		}
		maps.Copy(metadata, more)
		return map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata,
			"spec": spec}
	}

	const jsonKey = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
	for what, c := range map[string]struct {
		version, json, template string
		want                    map[string]any
		warnings                int
	}{
		"no template": {"4.1.4", "", "", ours(nil, map[string]any{}), 0},
		"JSON": {"4.2.1", `{"spec":{"queue":"q","minMember":3}}`, "",
			ours(nil, map[string]any{"queue": "q", "minMember": int64(3)}), 0},
		"JSON before 4.2": {"4.1.4", `{"spec":{"queue":"q"}}`, "", ours(nil, map[string]any{}), 1},
		"file overrides JSON": {"4.2.1", `{"spec":{"queue":"json"}}`, "spec: {queue: file}",
			ours(nil, map[string]any{"queue": "file"}), 0},
		"null spec": {"4.2.1", `{"spec":null}`, "", ours(nil, map[string]any{}), 0},
		"unknown fields": {"3.5.9", "",
			`{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","spec":{"new":{"a":[1.5]}},"status":{"phase":"x"}}`,
			ours(nil, map[string]any{"new": map[string]any{"a": []any{1.5}}}), 0},
		"metadata": {"4.3.0", "", `{"metadata":{"name":"x","namespace":"kube-system","uid":"u","finalizers":["f"],"ownerReferences":[{"uid":"z"}],
			"labels":{"team":"a","example.org/app":"theirs"},"annotations":{"n":"1"}}}`,
			ours(map[string]any{"labels": map[string]any{"team": "a", "example.org/app": "my-app"},
				"annotations": map[string]any{"n": "1"}}, map[string]any{}), 0},
	} {
		t.Run(what, func(t *testing.T) {
			r := kit.Gang()

			r.SparkVersion, r.PodGroupTemplate = c.version, []byte(c.template)
			if c.json != "" {
				r.Conf.Set(jsonKey, c.json)
			}

			o := kit.Build(t, r)

			group, ok := o.Before[0].(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("the first object is %T, want the PodGroup", o.Before[0])
			}

			if diff := cmp.Diff(c.want, group.Object); diff != "" {
				t.Errorf("PodGroup (-want +got):\n%s", diff)
			}

			if got := o.Driver.Annotations["scheduling.k8s.io/group-name"]; got != groupName {
				t.Errorf("the driver is in the group %q", got)
			}

			if len(o.Warnings) != c.warnings {
				t.Errorf("warnings are %q", o.Warnings)
			}

			if got := kit.Props(t, o)["spark.kubernetes.driver.pod.featureSteps"]; got != "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep" {
				t.Errorf("spark.properties names the steps %q", got)
			}
		})
	}
}

func TestNoPodGroupWithoutTheStep(t *testing.T) {
	r := kit.With("spark.kubernetes.scheduler.volcano.podGroupTemplateFile", "/x",
		"spark.kubernetes.scheduler.volcano.podGroupTemplateJson", "{",
		"spark.kubernetes.scheduler.name", "volcano")

	o := kit.Build(t, r)
	if len(o.Before) != 2 || o.Driver.Annotations != nil {
		t.Errorf("%d objects, annotations %v", len(o.Before), o.Driver.Annotations)
	}

	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0],
		"spark.kubernetes.scheduler.volcano.podGroupTemplateFile: has no effect") {
		t.Errorf("warnings are %q", o.Warnings)
	}

	excluded := kit.Gang("spark.kubernetes.driver.pod.excludedFeatureSteps",
		"org.apache.spark.deploy.k8s.features.VolcanoFeatureStep")
	if o := kit.Build(t, excluded); slices.ContainsFunc(o.Before,
		func(x submit.Object) bool { return x.GetName() == groupName }) {
		t.Error("an excluded step is taken")
	}
}

func TestPodGroupRefused(t *testing.T) {
	const json, file = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson",
		"spark.kubernetes.scheduler.volcano.podGroupTemplateFile"

	template := func(text string) func(*submit.Request) {
		return func(r *submit.Request) { r.PodGroupTemplate = []byte(text) }
	}
	for what, c := range map[string]struct {
		change     func(*submit.Request)
		name, text string
		notNative  bool
	}{
		"invalid JSON": {func(r *submit.Request) { r.Conf.Set(json, "{") }, json, "not a PodGroup", false},
		"YAML instead of JSON": {func(r *submit.Request) { r.Conf.Set(json, "spec:\n  queue: q\n") }, json,
			"begin with a brace; YAML is not accepted", false},
		"too large JSON": {func(r *submit.Request) {
			r.Conf.Set(json,
				`{"spec":{"queue":"`+strings.Repeat("q", 64<<10)+`"}}`)
		}, json, "the limit is 65536 bytes", false},
		"too deep JSON": {func(r *submit.Request) {
			r.Conf.Set(json, strings.Repeat(`{"spec":`, 200)+"0"+strings.Repeat("}", 200))
		}, json, "nested more than 100 lists and objects deep", false},
		"an alias of itself": {template("spec: &a\n  queue: *a\n"), "PodGroupTemplate",
			"has an alias to a value that contains the alias", false},
		"a list": {template("- a"), "PodGroupTemplate", "not a PodGroup", false},
		"another kind": {template("kind: Pod"), "PodGroupTemplate", "has another kind",
			false},
		"another version": {template("apiVersion: v1"), "PodGroupTemplate",
			"has another apiVersion", false},
		"spec that is text": {template("spec: x"), "PodGroupTemplate", "spec should be an object",
			false},
		"metadata that is a list": {template("metadata: []"), "PodGroupTemplate",
			"metadata should be an object", false},
		"invalid label name": {template(`{"metadata":{"labels":{"a b":"c"}}}`), "PodGroupTemplate",
			"not a valid label name", false},
		"application ID that is not a valid name": {func(r *submit.Request) { r.AppID = "Spark_1" }, "AppID",
			"PodGroup", false},
		"key that names a file": {func(r *submit.Request) { r.Conf.Set(file, "/x") }, file,
			"does not read files", true},
		"another feature step": {func(r *submit.Request) {
			r.Conf.Set("spark.kubernetes.driver.pod.featureSteps", draft.VolcanoClass+", x.Y")
		}, "spark.kubernetes.driver.pod.featureSteps", `"x.Y"`, true},
	} {
		t.Run(what, func(t *testing.T) {
			r := kit.Gang()
			r.SparkVersion = "4.2.1"
			c.change(&r)
			kit.RefusedFor(t, r, c.name, c.text)

			_, err := native.Build(r)
			if wrong, ok := errors.AsType[*submit.Error](err); !ok || wrong.NotNative != c.notNative {
				t.Errorf("%v: NotNative is not %t", err, c.notNative)
			}
		})
	}
}

func TestExecutorsVolcanoStepOfAnOldLine(t *testing.T) {
	for version, warned := range map[string]bool{"3.5.9": true, "4.1.4": true, "4.2.1": false, "4.3.0": false} {
		r := kit.With("spark.kubernetes.executor.pod.featureSteps", "x.Y,"+draft.VolcanoClass)

		r.SparkVersion = version
		if w := kit.Build(t, r).Warnings; (len(w) == 1 && strings.Contains(w[0], "from 4.2 only")) != warned {
			t.Errorf("Spark %s: warnings are %q", version, w)
		}
	}

	if w := kit.Build(t, kit.With("spark.kubernetes.executor.pod.featureSteps", "x.Y")).Warnings; len(w) > 0 {
		t.Errorf("a step of the user's is the driver's to find: %q", w)
	}
}
