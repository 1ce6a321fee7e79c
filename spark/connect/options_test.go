package connect

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// order returns the configuration keys among the server's arguments, in the order of the arguments.
func order(t *testing.T, o Objects) []string {
	t.Helper()
	var keys []string

	args := o.Server.Spec.Containers[0].Args
	for i, arg := range args {
		if arg == "--conf" {
			key, _, _ := strings.Cut(args[i+1], "=")
			keys = append(keys, key)
		}
	}
	return keys
}

func TestOrderOfTheOptions(t *testing.T) {
	r := minimal("spark.b", "1", "spark.a", "2", "spark.driver.port", "7000")
	r.ExecutorTemplate = []byte("{}")
	o := build(t, r)

	want := []string{
		"spark.kubernetes.namespace", "spark.kubernetes.container.image", "spark.kubernetes.executor.container.image",
		"spark.b", "spark.a", "spark.driver.port",
		"spark.kubernetes.driver.label.example.org/attempt", "spark.kubernetes.driver.label.example.org/server",
		"spark.driver.bindAddress", "spark.kubernetes.executor.useDriverPodIP", "spark.driver.blockManager.port",
		"spark.kubernetes.driver.pod.name",
		"spark.kubernetes.executor.label.example.org/attempt", "spark.kubernetes.executor.label.example.org/server",
		"spark.kubernetes.executor.podNamePrefix", "spark.kubernetes.executor.podTemplateFile",
		"spark.kubernetes.executor.podTemplateContainerName",
		"spark.app.name", "spark.authenticate", "spark.network.crypto.enabled", "spark.network.crypto.saslFallback",
		"spark.network.crypto.authEngineVersion", "spark.network.crypto.cipher",
	}
	if diff := cmp.Diff(want, order(t, o)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestReservedKeysWarn(t *testing.T) {
	theirs := map[string]string{
		"spark.master": "local", "spark.submit.deployMode": "cluster", "spark.kubernetes.namespace": "x",
		"spark.driver.host": "x", "spark.driver.bindAddress": "127.0.0.1",
		"spark.kubernetes.executor.useDriverPodIP": "true",
		"spark.kubernetes.driver.pod.name":         "x", "spark.kubernetes.executor.podNamePrefix": "x",
		"spark.kubernetes.executor.podTemplateFile":          "/x",
		"spark.kubernetes.executor.label.example.org/server": "x",
		"spark.kubernetes.driver.label.example.org/attempt":  "9",
	}
	r := minimal()

	r.ExecutorTemplate = []byte("{}")
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		r.Conf.Set(key, theirs[key])
	}

	o := build(t, r)

	got := settings(t, o)
	for key, value := range theirs {
		if got[key] == value {
			t.Errorf("%s is the user's, %q", key, value)
		}
	}

	warned(t, o, slices.Sorted(maps.Keys(theirs))...)

	for _, key := range []string{"spark.master", "spark.submit.deployMode", "spark.driver.host"} {
		if value, ok := got[key]; ok {
			t.Errorf("%s is there twice, as %q", key, value)
		}
	}
}

func TestReservedKeysWithRightValuesDoNotWarn(t *testing.T) {
	r := minimal("spark.master", submit.DefaultMaster, "spark.submit.deployMode", "client",
		"spark.kubernetes.namespace", "ns", "spark.driver.bindAddress", "0.0.0.0",
		"spark.kubernetes.driver.pod.name", "sc-server", "spark.kubernetes.executor.podNamePrefix", "sc",
		"spark.kubernetes.executor.label.example.org/server", "sc")
	warned(t, build(t, r))
}

func TestUsersKeysAreKept(t *testing.T) {
	theirs := map[string]string{
		"spark.app.name": "mine", "spark.driver.port": "1", "spark.driver.blockManager.port": "2",
		"spark.kubernetes.executor.podTemplateContainerName": "mine",
		"spark.kubernetes.executor.label.mine":               "1", "spark.executor.instances": "0",
		"spark.connect.grpc.binding.port": "3",
	}
	r := minimal()

	r.ExecutorTemplate = []byte("{}")
	for key, value := range theirs {
		r.Conf.Set(key, value)
	}

	o := build(t, r)
	warned(t, o)

	got := settings(t, o)
	for key, value := range theirs {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
}

func TestForeignKeysAreDropped(t *testing.T) {
	o := build(t, minimal("hadoop.x", "1", "spark.x", "2", "--class", "3", "sparkles", "4"))
	warned(t, o, "hadoop.x: is left out", "--class: is left out", "sparkles: is left out")

	if got := settings(t, o); got["hadoop.x"] != "" || got["spark.x"] != "2" || got["--class"] != mainClass {
		t.Errorf("settings are %v", got)
	}
}

func TestNoConfigurationAtAll(t *testing.T) {
	r := minimal()
	r.Conf, r.Labels, r.ObjectLabels, r.Selector = nil, nil, nil, nil

	o := build(t, r)
	if got := settings(t, o); got["spark.app.name"] != "sc" {
		t.Errorf("settings are %v", got)
	}
}

func TestMaster(t *testing.T) {
	r := minimal()

	r.Master = "k8s://https://10.0.0.1:443"
	if got := settings(t, build(t, r))["--master"]; got != r.Master {
		t.Errorf("the master is %q", got)
	}
}

// TestExecutorPrefix checks that the prefix of executors' names follows Spark's rule. Spark refuses to start with any
// other prefix.
func TestExecutorPrefix(t *testing.T) {
	seen := map[string]string{}
	for n := 1; n <= 56; n++ {
		for _, name := range []string{strings.Repeat("a", n),
			"a" + strings.Repeat("-", max(0, n-2)) + strings.Repeat("b", min(1, n-1))} {
			prefix := executorPrefix(name)
			if other, ok := seen[prefix]; ok && other != name {
				t.Errorf("%q and %q have the prefix %q", name, other, prefix)
			}

			seen[prefix] = name
			if len(prefix) > 47 || len(validation.IsDNS1123Label(prefix)) > 0 {
				t.Errorf("%q has the prefix %q, which Spark refuses", name, prefix)
			}

			if n <= 47 && prefix != name {
				t.Errorf("%q has the prefix %q", name, prefix)
			}
		}
	}
}

// TestTrimmedIsSparks checks that trimmed contains the characters that Spark's Utils.trimExceptCRLF removes, and no
// others.
func TestTrimmedIsSparks(t *testing.T) {
	for c := range 256 {
		want := c <= ' ' && c != '\r' && c != '\n'
		if got := strings.ContainsRune(trimmed, rune(c)); got != want {
			t.Errorf("character %d is taken away: %t, want %t", c, got, want)
		}
	}
}

// TestTheScriptIsNotExpanded checks that the script contains nothing that Kubernetes would expand.
func TestTheScriptIsNotExpanded(t *testing.T) {
	args := build(t, minimal()).Server.Spec.Containers[0].Args
	if args[0] != script || expand(args[0], map[string]string{"POD_IP": "x", "host": "x"}) != script {
		t.Errorf("the script becomes %q", expand(args[0], nil))
	}
}

func TestServiceReadsThePorts(t *testing.T) {
	c := conf.New()
	c.Set("spark.ui.port", "0")

	r := minimal()
	r.Conf = c

	_, err := Service(r, nil)
	if wrong := refused(t, err); wrong.Key != "spark.ui.port" {
		t.Errorf("the error is %v", err)
	}
}
