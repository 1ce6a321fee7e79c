package draft_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestConfFiles(t *testing.T) {
	r := kit.Minimal()
	r.ConfFiles = map[string]string{"log4j2.properties": "a", "spark-env.sh": "b", "metrics.properties": "c",
		"spark-defaults.conf": "x",
		"spark.properties":    "x", "spark-myconf": "x", "binary": "\xff", "x.template": "x", "x.zip": "x",
		"x.jar": "x",
		"x.gz":  "x", "x.tar": "x"}
	o := kit.Build(t, r)
	cm := kit.Find[*corev1.ConfigMap](t, o, "spark-drv-my-app-1-c05dd8a1fbc0dc03-conf-map")
	want := []string{"log4j2.properties", "metrics.properties", "spark-env.sh", "spark.properties"}

	var items []string
	for _, item := range kit.VolumeOf(t, o, "spark-conf-volume-driver").ConfigMap.Items {
		items = append(items, item.Key)
	}

	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(slices.Insert(slices.Clone(want), 3, "spark.kubernetes.namespace"),
		slices.Sorted(maps.Keys(cm.Data))); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}

	if len(o.Warnings) != 9 {
		t.Errorf("a warning for every file left out: %q", o.Warnings)
	}
}

func TestConfFilesStopAtTheLimit(t *testing.T) {
	r := kit.With("spark.kubernetes.configMap.maxSize", "20")
	// Sizes include the name: 4 and 6 and 11. The limit counts characters, but the files are sorted by their size in
	// bytes.
	r.ConfFiles = map[string]string{"a": "123", "bb": "äöüß", "c": "1234567890"}
	o := kit.Build(t, r)

	cm := kit.Find[*corev1.ConfigMap](t, o, "spark-drv-my-app-1-c05dd8a1fbc0dc03-conf-map")
	if cm.Data["a"] == "" || cm.Data["bb"] == "" || cm.Data["c"] != "" || len(o.Warnings) != 1 {
		t.Errorf("data has %v; warnings %q", slices.Sorted(maps.Keys(cm.Data)), o.Warnings)
	}
}
