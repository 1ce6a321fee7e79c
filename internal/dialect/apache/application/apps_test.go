package application

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const noonUID = "3f0c8a52-6d1f-4a0e-9b0f-0c6f6f3f9a11"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// plain is a minimal application, like the first example in the documentation of the Apache Spark project's operator.
const plain = `
metadata: {name: pi, namespace: jobs}
spec:
  mainClass: org.apache.spark.examples.SparkPi
  jars: local:///opt/spark/examples/jars/spark-examples.jar
  runtimeVersions: {sparkVersion: 4.2.0, scalaVersion: "2.13", jdkVersion: "21"}
  sparkConf:
    spark.kubernetes.container.image: "docker.io/apache/spark:{{SPARK_VERSION}}"
    spark.kubernetes.authenticate.driver.serviceAccountName: spark
`

// written returns an application from the manifest plain and the texts of overrides. It parses them in this order into
// the same application. Each key of the spec in a text replaces the same key of earlier texts.
func written(t testing.TB, overrides ...string) *sparkv1.SparkApplication {
	t.Helper()

	var app sparkv1.SparkApplication
	for _, text := range append([]string{plain}, overrides...) {
		if err := yaml.UnmarshalStrict([]byte(text), &app); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}

	app.UID = noonUID
	return &app
}

func launchOf(attempt int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: attempt}
}

func rendered(t testing.TB, a Applications, app *sparkv1.SparkApplication, attempt int32) submit.Objects {
	t.Helper()

	objects, err := a.Render(app, launchOf(attempt), noon)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// named returns an object by its type and name. It searches the objects that the operator creates before the driver
// pod.
func named[T submit.Object](t testing.TB, o submit.Objects, name string) T {
	t.Helper()

	i := slices.IndexFunc(o.Before, func(object submit.Object) bool {
		_, ok := object.(T)
		return ok && object.GetName() == name
	})
	if i < 0 {
		none := *new(T)
		t.Fatalf("no %T named %q before the pod", none, name)
		return none
	}
	return o.Before[i].(T)
}

// properties parses the file spark.properties of an attempt's driver.
func properties(t testing.TB, o submit.Objects, id string) map[string]string {
	t.Helper()

	c, err := conf.UnmarshalProperties(named[*corev1.ConfigMap](t, o,
		id+"-spark-drv-conf-map").Data["spark.properties"])
	if err != nil {
		t.Fatal(err)
	}
	return c.Map()
}

// withImage sets the image of an application if the application has none, and returns the application.
func withImage(app *sparkv1.SparkApplication) *sparkv1.SparkApplication {
	if _, ok := app.Spec.SparkConf["spark.kubernetes.container.image"]; !ok {
		app.Spec.SparkConf["spark.kubernetes.container.image"] = "docker.io/apache/spark:{{SPARK_VERSION}}"
	}
	return app
}

func rawOf(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
