package draft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

func TestForeignKeysGetOneWarning(t *testing.T) {
	for _, c := range []struct {
		keys int
		want string
	}{
		{1, "x0: is left out: "},
		{3, "x0, x1, x2: are left out: "},
		{40_000, "x0, x1, x2, x3, x4 and 39995 more: are left out: "},
	} {
		r := kit.Minimal()
		for i := range c.keys {
			r.Conf.Set(fmt.Sprint("x", i), "")
		}

		o := kit.Build(t, r)
		if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], c.want) {
			t.Errorf("%d keys give %d warnings, the first %q, want one that begins with %q", c.keys, len(o.Warnings),
				o.Warnings[:1], c.want)
		}

		if _, ok := kit.Props(t, o)["x0"]; ok {
			t.Error("the key is not left out")
		}
	}

	r := kit.Minimal()
	r.Conf.Set(strings.Repeat("x", 1<<19), "")

	if w := kit.Build(t, r).Warnings; len(w) != 1 || len(w[0]) > 500 {
		t.Errorf("a long key gives a warning of %d bytes", len(w[0]))
	}
}

func TestWarningsAreBounded(t *testing.T) {
	for files, want := range map[int]int{19: 19, 20: 20, 21: 21, 5000: 21} {
		r := kit.Minimal()

		r.ConfFiles = map[string]string{}
		for i := range files {
			r.ConfFiles[fmt.Sprintf("%d.jar", i)] = ""
		}

		w := kit.Build(t, r).Warnings
		if len(w) != want {
			t.Fatalf("%d warnings for %d files, want %d", len(w), files, want)
		}

		last := "and " + bounds.Count(files-20, "more warning")
		if got := w[len(w)-1] == last; got != (files > 20) {
			t.Errorf("the last of the warnings for %d files is %q", files, w[len(w)-1])
		}
	}
}

// TestMessagesDoNotShowSecrets checks that no message shows the value of a key that looks like a secret, for each place
// in which Build uses the value.
func TestMessagesDoNotShowSecrets(t *testing.T) {
	const hidden, key = "hunter2", "spark.my.password"
	for _, c := range [][2]string{
		{"spark.kubernetes.container.image.pullPolicy", "${" + key + "}"},
		{"spark.kubernetes.driver.request.cores", "${" + key + "}"},
		{"spark.kubernetes.driver.service.ipFamilyPolicy", "${" + key + "}"},
		{"spark.kubernetes.driver.service.ipFamilies", "IPv4,${" + key + "}"},
		{"spark.kubernetes.driver.pod.featureSteps", "${" + key + "}"},
		{"spark.driver.cores", "${" + key + "}"},
		{"spark.driver.port", "${" + key + "}"},
		{"spark.kubernetes.driver.label.api-token", hidden + " x"},
		{"spark.kubernetes.driver.service.label.api-token", hidden + " x"},
		{"spark.kubernetes.driver.secretKeyRef.A", hidden},
		{"spark.files", hidden + ".token"},
	} {
		_, err := native.Build(kit.With(key, hidden, c[0], c[1]))
		if err == nil || strings.Contains(err.Error(), hidden) || !strings.HasPrefix(err.Error(), c[0]) {
			t.Errorf("%s: the error is %v", c[0], err)
		}
	}

	o := kit.Build(t, kit.With(key, hidden, "spark.kubernetes.driver.pod.excludedFeatureSteps", "${"+key+"}",
		"spark.app.id", "token-"+hidden))

	text := strings.Join(o.Warnings, "; ")
	if len(o.Warnings) != 2 || strings.Contains(text, hidden) || !strings.Contains(text, conf.Redacted) {
		t.Errorf("warnings: %s", text)
	}

	if kit.Props(t, o)[key] != hidden {
		t.Error("the driver should get the value as it is")
	}
}
