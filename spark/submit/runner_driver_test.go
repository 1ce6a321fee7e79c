package submit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// bySparkSubmit is the submission that spark-submit would make in a runner's pod: ParseArgs and Build are held to the real one (TestAgainstSparkSubmit),
// so they stand for it, in the pod's environment and with its files. Configs are what the ConfigMaps hold that it mounts, by name.
func bySparkSubmit(t *testing.T, r Request, o Runner, configs map[string]map[string]string) Objects {
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
	if c.Args[0] != sparkSubmit {
		t.Fatalf("it runs %q", c.Args)
	}
	request, _, err := ParseArgs(c.Args[1:], Submitter{
		SparkVersion: r.SparkVersion, Environment: envOf(c),
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
	return build(t, request)
}

// lastEnv is what each variable is in the end.
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

// laidOverDriver is everything that an overlay gives a driver's container.
func laidOverDriver() overlay.Overlay {
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

// TestDriverOfARunner: the driver that spark-submit makes has what the operator's own would have, and what it has not is warned of.
func TestDriverOfARunner(t *testing.T) {
	configs := map[string]map[string]string{
		"spark-files":  {"log4j2.properties": "rootLogger.level = warn", "metrics.properties": "m", "spark-defaults.conf": "spark.x y"},
		"hadoop-files": {"core-site.xml": "<configuration/>"},
	}
	for _, version := range []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"} {
		t.Run(version, func(t *testing.T) {
			r := with("spark.kubernetes.driverEnv.CONF", "2")
			r.SparkVersion, r.Resource, r.MainClass = version, "local:///a.py", ""
			r.Driver = laidOverDriver()
			o := buildRunner(t, r)
			made := bySparkSubmit(t, r, o, configs)
			want, got := sparkContainer(t, build(t, r)), sparkContainer(t, made)

			differ := map[string][2]string{}
			was, is := lastEnv(want), lastEnv(got)
			for _, name := range slices.Sorted(maps.Keys(was)) {
				if was[name] != is[name] {
					differ[name] = [2]string{was[name], is[name]}
				}
			}
			delete(differ, "SPARK_CONF_DIR") // see the files below
			delete(differ, "HADOOP_CONF_DIR")
			var told []string
			for _, warning := range o.Warnings {
				if name, ok := strings.CutPrefix(warning, "Driver.Env["); ok {
					told = append(told, name[:strings.Index(name, "]")])
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(differ)), told); diff != "" {
				t.Errorf("variables that are not as they were asked for: %q\nand those warned of (-lost +told):\n%s", differ, diff)
			}
			for _, dir := range []string{overlay.SparkConfDir, overlay.HadoopConfDir, "/more"} {
				if !slices.ContainsFunc(got.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == dir }) {
					t.Errorf("nothing is mounted at %s", dir)
				}
			}
			// Spark's own directory has the files of the user's: spark-submit found them in the runner.
			if is["SPARK_CONF_DIR"] != confDir {
				t.Errorf("SPARK_CONF_DIR is %s", is["SPARK_CONF_DIR"])
			}
			config := configOf(t, made, "spark.properties")
			for name, text := range configs["spark-files"] {
				if taken := name != "spark-defaults.conf"; taken != (config[name] == text) {
					t.Errorf("%s in SPARK_CONF_DIR is %q", name, config[name])
				}
			}
			// So are Hadoop's, by a ConfigMap of Spark's own.
			if text := configOf(t, made, "core-site.xml")["core-site.xml"]; is["HADOOP_CONF_DIR"] != "/opt/hadoop/conf" || text != configs["hadoop-files"]["core-site.xml"] {
				t.Errorf("HADOOP_CONF_DIR is %s, with %q", is["HADOOP_CONF_DIR"], text)
			}
		})
	}
}

// configOf are the files of the ConfigMap that has one of that name.
func configOf(t *testing.T, o Objects, file string) map[string]string {
	t.Helper()
	for _, object := range o.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data[file] != "" {
			return config.Data
		}
	}
	t.Errorf("there is no ConfigMap with %s", file)
	return nil
}
