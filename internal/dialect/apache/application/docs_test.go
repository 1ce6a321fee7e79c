package application

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
)

// TestApplicationsPage checks docs/apache-applications.md: its example is a valid application, and the defaults that it
// lists are those of the code.
func TestApplicationsPage(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/apache-applications.md")
	if err != nil {
		t.Fatal(err)
	}

	page := string(text)
	_, rest, _ := strings.Cut(page, "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")

	var app sparkv1.SparkApplication
	if err := yaml.UnmarshalStrict([]byte(example), &app); err != nil {
		t.Fatal(err)
	}

	app.UID = noonUID

	o := rendered(t, Applications{}, &app, 1)
	if len(o.Warnings) > 0 || o.Driver.Name != "pi-0-driver" ||
		o.Driver.Spec.Containers[0].Image != "docker.io/apache/spark:4.1.4" {
		t.Errorf("%s of %s, %q", o.Driver.Name, o.Driver.Spec.Containers[0].Image, o.Warnings)
	}

	got := properties(t, o, "pi-0")
	for _, key := range []string{
		fields.Master, fields.AppID, "spark.authenticate", "spark.io.encryption.enabled",
		"spark.kubernetes.driver.annotateExitException",
		"spark.kubernetes.executor.useDriverPodIP", "spark.kubernetes.executor.deleteOnTermination",
	} {
		if _, set := got[key]; !set || !strings.Contains(page, "| `"+key+"` |") {
			t.Errorf("%s is set: %v, and on the page: %v", key, set, strings.Contains(page, "| `"+key+"` |"))
		}
	}

	_, rest, _ = strings.Cut(rest, "```yaml\n")

	lists, _, _ := strings.Cut(rest, "```")
	if err := yaml.UnmarshalStrict([]byte(lists), &app); err != nil {
		t.Fatal(err)
	}

	if made, wrong := withExposure.auxiliaryObjects(&app, 1); len(made) != 2 || len(wrong) > 0 {
		t.Errorf("%d objects beside the driver, %v", len(made), wrong)
	}

	for _, word := range []string{apache.LabelOperatorName, apache.LabelAppName, apache.LabelScalaVersion,
		apache.LabelJDKVersion, dialect.ConditionExposed, dialect.OwnPrefix, apache.DefaultOperatorName} {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("the page does not tell of %s", word)
		}
	}
}
