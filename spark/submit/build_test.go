package submit

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

var update = flag.Bool("update", false, "write the golden files anew")

// minimal returns the Request of a minimal application: a Java class in a jar of the image.
func minimal() Request {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	return Request{
		SparkVersion:       "4.1.4",
		Namespace:          "ns1",
		AppName:            "My App_1",
		AppID:              "spark-6c48998273294de495e5c9d3a1722dba",
		ResourceNamePrefix: "my-app-1-c05dd8a1fbc0dc03",
		SubmitTime:         time.UnixMilli(1795225082480),
		MainClass:          "org.apache.spark.examples.SparkPi",
		Resource:           "local:///opt/spark/examples/jars/spark-examples.jar",
		Conf:               c,
		Owner:              metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "App", Name: "my-app", UID: "uid-1"},
		Labels:             map[string]string{"example.org/app": "my-app"},
	}
}

// with returns the Request of minimal with additional configuration. The arguments are keys and values, alternately.
func with(pairs ...string) Request {
	r := minimal()
	for i := 0; i < len(pairs); i += 2 {
		r.Conf.Set(pairs[i], pairs[i+1])
	}
	return r
}

func build(t *testing.T, r Request) Objects {
	t.Helper()
	o, err := Build(r)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return o
}

// props parses the driver's spark.properties.
func props(t *testing.T, o Objects) map[string]string {
	t.Helper()
	cm := find[*corev1.ConfigMap](t, o, "spark-drv-my-app-1-c05dd8a1fbc0dc03-conf-map")
	c, err := conf.UnmarshalProperties(cm.Data["spark.properties"])
	if err != nil {
		t.Fatalf("spark.properties: %v", err)
	}
	return c.Map()
}

// find returns the object with this type and name among the objects that are created before the pod.
func find[T Object](t *testing.T, o Objects, name string) T {
	t.Helper()
	for _, object := range o.Before {
		if typed, ok := object.(T); ok && object.GetName() == name {
			return typed
		}
	}
	none := *new(T)
	t.Fatalf("no %T named %q before the pod", none, name)
	return none
}

// sparkContainer returns the Spark container of the driver pod.
func sparkContainer(t *testing.T, o Objects) corev1.Container {
	t.Helper()
	for _, c := range o.Driver.Spec.Containers {
		if c.Name == "spark-kubernetes-driver" {
			return c
		}
	}
	t.Fatal("the driver pod has no container spark-kubernetes-driver")
	return corev1.Container{}
}

func TestBuildGolden(t *testing.T) {
	python := minimal()
	python.MainClass, python.Resource = "", "local:///opt/app/pi.py"
	python.Arguments = []string{"10", "a b", "$(HOME)", ""}
	python.Conf.Set("spark.executor.instances", "2")

	heavy := heavyRequest()
	heavy43 := heavyRequest()
	heavy43.SparkVersion = "4.3.0"
	for name, r := range map[string]Request{"java-4.1": minimal(), "python-4.1": python, "heavy-4.1": heavy, "heavy-4.3": heavy43} {
		t.Run(name, func(t *testing.T) {
			o := build(t, r)
			var got []byte
			for _, object := range append(o.Before, o.Driver) {
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				got = append(append(got, "---\n"...), text...)
			}
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("objects differ from %s (-want +got; run with -update to accept):\n%s", path, diff)
			}
		})
	}
}
