package runner_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/cmdline"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/spark/submit/runner"
)

// bySparkSubmit returns the objects that spark-submit would build in the runner's pod, from the pod's environment and
// files. The functions cmdline.Parse and native.Build stand in for spark-submit: TestAgainstSparkSubmit compares these
// functions with the real spark-submit. The argument configs maps the names of the mounted ConfigMaps to their data.
func bySparkSubmit(t *testing.T, r submit.Request, o runner.Objects,
	configs map[string]map[string]string) submit.Objects {
	t.Helper()

	c := o.Pod.Spec.Containers[0]

	files := map[string][]byte{}
	for _, m := range c.VolumeMounts {
		i := slices.IndexFunc(o.Pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		switch v := o.Pod.Spec.Volumes[i]; {
		case v.Secret != nil && v.Secret.SecretName == o.Secret.Name:
			for _, item := range v.Secret.Items {
				files[path.Join(m.MountPath, item.Path)] = o.Secret.Data[item.Key]
			}
		case v.ConfigMap != nil:
			for name, text := range configs[v.ConfigMap.Name] {
				files[path.Join(m.MountPath, name)] = []byte(text)
			}
		}
	}

	if c.Args[0] != "/opt/spark/bin/spark-submit" {
		t.Fatalf("it runs %q", c.Args)
	}

	request, _, err := cmdline.Parse(c.Args[1:], cmdline.Submitter{
		SparkVersion: r.SparkVersion, Environment: plainEnv(c),
		ReadFile: func(file string) ([]byte, error) {
			if data, ok := files[file]; ok {
				return data, nil
			}
			return nil, fmt.Errorf("%s is not there", file)
		},
		ReadDir: func(dir string) (map[string][]byte, error) {
			in := map[string][]byte{}
			for file, data := range files {
				if path.Dir(file) == path.Clean(dir) {
					in[path.Base(file)] = data
				}
			}
			return in, nil
		},
	})
	if err != nil {
		t.Fatalf("spark-submit refuses it: %v", err)
	}

	request.AppID, request.ResourceNamePrefix, request.SubmitTime = "spark-of-spark", r.ResourceNamePrefix, r.SubmitTime
	return built(t, request)
}

func built(t *testing.T, r submit.Request) submit.Objects {
	t.Helper()

	o, err := native.Build(r)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return o
}

// sparkContainer returns the Spark container of the driver pod.
func sparkContainer(t *testing.T, o submit.Objects) corev1.Container {
	t.Helper()

	i := slices.IndexFunc(o.Driver.Spec.Containers,
		func(c corev1.Container) bool { return c.Name == "spark-kubernetes-driver" })
	if i < 0 {
		t.Fatal("the driver pod has no container spark-kubernetes-driver")
	}
	return o.Driver.Spec.Containers[i]
}

// plainEnv returns the literal values of the variables by name. The value of a variable with a source is empty.
func plainEnv(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	return env
}

// lastEnv returns the effective value of each variable.
func lastEnv(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			env[v.Name] = fmt.Sprintf("from %v", v.ValueFrom)
		}
	}
	return env
}

// fullDriverOverlay returns an overlay that sets every field that affects a driver's container.
func fullDriverOverlay() overlay.Overlay {
	return overlay.Overlay{
		Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: "1"},
			{Name: "REF", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			{Name: "SPARK_USER", Value: "me"},
			{Name: "SPARK_LOCAL_DIRS", Value: "/scratch"},
			{Name: "PYSPARK_PYTHON", Value: "python3.12"},
			{Name: "SPARK_APPLICATION_ID", Value: "mine"},
			{Name: "SPARK_DRIVER_BIND_ADDRESS", Value: "0.0.0.0"},
		},
		SparkConfigMap: "spark-files", HadoopConfigMap: "hadoop-files",
		ConfigMaps: []overlay.ConfigMap{{Name: "more", Path: "/more"}},
	}
}

// TestDriverOfARunner checks that the driver that spark-submit builds equals the driver that Build builds, except for
// differences about which runner.Build warns.
func TestDriverOfARunner(t *testing.T) {
	configs := map[string]map[string]string{
		"spark-files": {"log4j2.properties": "rootLogger.level = warn", "metrics.properties": "m",
			"spark-defaults.conf": "spark.x y"},
		"hadoop-files": {"core-site.xml": "<configuration/>"},
	}
	for _, version := range []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"} {
		t.Run(version, func(t *testing.T) {
			r := submit.Request{
				SparkVersion: version, Namespace: "ns1", AppName: "My App_1",
				AppID:              "spark-6c48998273294de495e5c9d3a1722dba",
				ResourceNamePrefix: "my-app-1-c05dd8a1fbc0dc03", SubmitTime: time.UnixMilli(1795225082480),
				Resource: "local:///a.py",
				Conf: conf.FromMap(map[string]string{
					"spark.kubernetes.container.image": "docker.io/apache/spark:4.1.4",
					"spark.kubernetes.driverEnv.CONF":  "2",
				}),
				Owner:  metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "App", Name: "my-app", UID: "uid-1"},
				Labels: map[string]string{"example.org/app": "my-app"}, Driver: fullDriverOverlay(),
			}

			o, err := runner.Build(r)
			if err != nil {
				t.Fatalf("Build: %v", err)
			}

			made := bySparkSubmit(t, r, o, configs)
			want, got := sparkContainer(t, built(t, r)), sparkContainer(t, made)

			differ := map[string][2]string{}

			wantEnv, gotEnv := lastEnv(want), lastEnv(got)
			for _, name := range slices.Sorted(maps.Keys(wantEnv)) {
				if wantEnv[name] != gotEnv[name] {
					differ[name] = [2]string{wantEnv[name], gotEnv[name]}
				}
			}

			delete(differ, "SPARK_CONF_DIR") // see the files below
			delete(differ, "HADOOP_CONF_DIR")

			var warned []string
			for _, warning := range o.Warnings {
				if name, ok := strings.CutPrefix(warning, "the driver's env of "); ok {
					warned = append(warned, name[:strings.Index(name, " ")])
				}
			}

			if diff := cmp.Diff(slices.Sorted(maps.Keys(differ)), warned); diff != "" {
				t.Errorf("variables that are not as they were asked for: %q\nand those warned of (-lost +warned):\n%s",
					differ, diff)
			}

			for _, dir := range []string{overlay.SparkConfDir, overlay.HadoopConfDir, "/more"} {
				if !slices.ContainsFunc(got.VolumeMounts,
					func(m corev1.VolumeMount) bool { return m.MountPath == dir }) {
					t.Errorf("nothing is mounted at %s", dir)
				}
			}
			// Spark's own directory contains the user's files: spark-submit found them in the runner.
			if gotEnv["SPARK_CONF_DIR"] != "/opt/spark/conf" {
				t.Errorf("SPARK_CONF_DIR is %s", gotEnv["SPARK_CONF_DIR"])
			}

			config := configOf(t, made, "spark.properties")
			for name, text := range configs["spark-files"] {
				if taken := name != "spark-defaults.conf"; taken != (config[name] == text) {
					t.Errorf("%s in SPARK_CONF_DIR is %q", name, config[name])
				}
			}
			// Hadoop's files are in a ConfigMap that spark-submit creates.
			if text := configOf(t, made,
				"core-site.xml")["core-site.xml"]; gotEnv["HADOOP_CONF_DIR"] != "/opt/hadoop/conf" ||
				text != configs["hadoop-files"]["core-site.xml"] {
				t.Errorf("HADOOP_CONF_DIR is %s, with %q", gotEnv["HADOOP_CONF_DIR"], text)
			}
		})
	}
}

// configOf returns the files of the ConfigMap that contains a file with this name.
func configOf(t *testing.T, o submit.Objects, file string) map[string]string {
	t.Helper()

	for _, object := range o.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data[file] != "" {
			return config.Data
		}
	}

	t.Errorf("there is no ConfigMap with %s", file)
	return nil
}
