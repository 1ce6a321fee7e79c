// Package kit has requests, and functions that read what was built from them, for the tests of spark/submit.
package kit

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// Update is the flag with which golden files are written anew.
var Update = flag.Bool("update", false, "write the golden files anew")

// Minimal returns the Request of a minimal application: a Java class in a jar of the image.
func Minimal() submit.Request {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	return submit.Request{
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

// With returns the Request of minimal with additional configuration. The arguments are keys and values, alternately.
func With(pairs ...string) submit.Request {
	r := Minimal()
	for i := 0; i < len(pairs); i += 2 {
		r.Conf.Set(pairs[i], pairs[i+1])
	}
	return r
}

// Build returns the objects of r, which native.Build must accept.
func Build(t *testing.T, r submit.Request) submit.Objects {
	t.Helper()

	o, err := native.Build(r)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return o
}

// Props parses the driver's spark.properties.
func Props(t *testing.T, o submit.Objects) map[string]string {
	t.Helper()
	cm := Find[*corev1.ConfigMap](t, o, "spark-drv-my-app-1-c05dd8a1fbc0dc03-conf-map")

	c, err := conf.UnmarshalProperties(cm.Data["spark.properties"])
	if err != nil {
		t.Fatalf("spark.properties: %v", err)
	}
	return c.Map()
}

// Find returns the object with this type and name among the objects that are created before the pod.
func Find[T submit.Object](t *testing.T, o submit.Objects, name string) T {
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

// SparkContainer returns the Spark container of the driver pod.
func SparkContainer(t *testing.T, o submit.Objects) corev1.Container {
	t.Helper()

	for _, c := range o.Driver.Spec.Containers {
		if c.Name == "spark-kubernetes-driver" {
			return c
		}
	}

	t.Fatal("the driver pod has no container spark-kubernetes-driver")
	return corev1.Container{}
}

// RefusedFor checks that Build rejects r with an error whose key or field is name and whose message contains text.
func RefusedFor(t *testing.T, r submit.Request, name, text string) {
	t.Helper()

	o, err := native.Build(r)

	wrong, ok := errors.AsType[*submit.Error](err)
	if !ok {
		t.Errorf("Build gave %d objects and the error %v, want one about %s", len(o.Before), err, name)
		return
	}

	if (wrong.Key == "") == (wrong.Field == "") {
		t.Errorf("an error should have a key or a field, but is %+v", wrong)
	}

	if got := wrong.Key + wrong.Field; got != name || !strings.Contains(wrong.Message, text) {
		t.Errorf("refused for %q: %s\nwant %q and a message with %q", got, wrong.Message, name, text)
	}

	if o.Driver != nil || len(o.Before) > 0 {
		t.Error("a refused request gave objects")
	}
}

// EnvOf returns the values of a container's variables. If a name occurs twice, the last value counts, as in Kubernetes.
func EnvOf(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	return env
}

// MountsOf returns a map from the names of a container's volumes to the paths at which they are mounted.
func MountsOf(c corev1.Container) map[string]string {
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	return mounts
}

// VolumeOf returns the volume of the driver pod with the given name.
func VolumeOf(t *testing.T, o submit.Objects, name string) corev1.Volume {
	t.Helper()

	i := slices.IndexFunc(o.Driver.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("the driver pod has no volume %q", name)
	}
	return o.Driver.Spec.Volumes[i]
}

// ServiceOf returns the driver's Service.
func ServiceOf(t *testing.T, o submit.Objects) *corev1.Service {
	t.Helper()

	for _, object := range o.Before {
		if s, ok := object.(*corev1.Service); ok {
			return s
		}
	}

	t.Fatal("there is no Service")
	return nil
}

// FullTemplate is a pod template that sets a value at every place to which Spark writes.
const FullTemplate = `{
	"apiVersion": "v1", "kind": "Pod",
	"metadata": {"name": "theirs", "namespace": "elsewhere", "labels": {"spark-role": "x", "mine": "1"}, "annotations": {"a": "1"}},
	"spec": {
		"serviceAccountName": "templated", "schedulerName": "templated", "restartPolicy": "Always", "hostNetwork": true,
		"nodeSelector": {"zone": "t", "disk": "ssd"}, "imagePullSecrets": [{"name": "theirs"}],
		"initContainers": [{"name": "init", "image": "i"}],
		"volumes": [{"name": "v", "emptyDir": {}}],
		"containers": [
			{"name": "side", "image": "s"},
			{"name": "main", "image": "theirs", "imagePullPolicy": "Always", "command": ["tini"], "args": ["before"],
			 "env": [{"name": "SPARK_USER", "value": "theirs"}, {"name": "T", "value": "1"}],
			 "ports": [{"containerPort": 1, "name": "p"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}],
			 "resources": {"limits": {"cpu": "3", "memory": "9Gi", "ephemeral-storage": "1Gi"}, "requests": {"cpu": "2", "memory": "9Gi"}},
			 "terminationMessagePolicy": "File"},
			{"name": "last", "image": "l"}
		]}}`

// Gang returns the Request of an application that names Spark's Volcano step.
func Gang(pairs ...string) submit.Request {
	return With(append([]string{"spark.kubernetes.driver.pod.featureSteps", "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"}, pairs...)...)
}

// VolumeConf returns the configuration of one volume as alternating keys and values. Each setting in pairs gets the
// key prefix of the role, the kind and the volume's name.
func VolumeConf(role, kind string, pairs ...string) []string {
	prefix := "spark.kubernetes." + role + ".volumes." + kind + ".v."

	out := []string{prefix + "mount.path", "/v"}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, prefix+pairs[i], pairs[i+1])
	}
	return out
}
