package dialect

import (
	"errors"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// request returns a valid request with the given additional configuration.
func request(settings map[string]string) submit.Request {
	c := conf.FromMap(settings)
	c.SetIfMissing("spark.kubernetes.container.image", "apache/spark:4.1.4")
	c.SetIfMissing("spark.kubernetes.executor.podNamePrefix", "pi-1")
	return submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppName: "pi", AppID: "spark-1", ResourceNamePrefix: "pi-1",
		MainClass: "org.example.Pi", Resource: "local:///opt/pi.jar", Conf: c,
		Owner: metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "App", Name: "pi", UID: "1"},
	}
}

// TestRunnerMarksTheDriver checks that the driver pod that spark-submit will create names its runner, that the runner's
// Secret comes first, and that the request is not changed: the same request may be rendered again.
func TestRunnerMarksTheDriver(t *testing.T) {
	r := request(map[string]string{"spark.jars.packages": "org.example:lib:1"})
	r.Driver = overlay.Overlay{Annotations: map[string]string{"team": "a"}}
	before := maps.Clone(r.Driver.Annotations)

	objects, err := Runner(r)
	if err != nil {
		t.Fatal(err)
	}

	if len(objects.Before) != 1 || objects.Driver.Name != "pi-1-submit" ||
		objects.Before[0].GetName() != "pi-1-submit" {
		t.Fatalf("the objects are %v and %s", objects.Before, objects.Driver.Name)
	}

	secret, ok := objects.Before[0].(*corev1.Secret)
	if !ok {
		t.Fatalf("the first object is a %T", objects.Before[0])
	}

	var files strings.Builder
	for _, content := range secret.Data {
		files.Write(content)
	}

	for _, want := range []string{`"sparkoperator.dev/submitted-by": "pi-1-submit"`, `"team": "a"`} {
		if !strings.Contains(files.String(), want) {
			t.Errorf("no file of spark-submit contains %s", want)
		}
	}

	if !maps.Equal(before, r.Driver.Annotations) {
		t.Errorf("the request has the annotations %v", r.Driver.Annotations)
	}

	r.SparkVersion, r.Labels, r.ExecutorPorts = "4.2.0", map[string]string{"app": "pi"}, []int32{9404}
	if objects, err = Runner(r); err != nil || len(objects.Before) != 2 {
		t.Errorf("with a port of the executors: %v, %v", objects.Before, err)
	}
}

func TestRunnerReturnsTheFault(t *testing.T) {
	r := request(nil)
	r.DriverMaster = "spark://master:7077"
	objects, err := Runner(r)

	fault, ok := errors.AsType[*submit.Error](err)
	if !ok || fault.Field != "DriverMaster" || objects.Driver != nil || len(objects.Before) > 0 {
		t.Errorf("%v, %+v", err, objects)
	}
}

func TestSparkSubmitCause(t *testing.T) {
	if got := SparkSubmitCause("the application has packages"); got.Reason != "SparkSubmit" ||
		got.Message != "spark-submit creates the driver pod: the application has packages" {
		t.Errorf("%+v", got)
	}
}
