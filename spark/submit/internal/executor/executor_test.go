package executor_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// TestExecutorIsSparksOwn in internal/dialect/sparkoperator/application compares executors field by field with pods
// that Spark's own code made. The tests here check single rules, and what holds for every request.

func podOf(t *testing.T, r submit.Request) (*corev1.Pod, corev1.Container) {
	t.Helper()

	pod, err := native.Executor(r, 7, "driver-uid")
	if err != nil {
		t.Fatalf("Executor: %v", err)
	}
	return pod, pod.Spec.Containers[len(pod.Spec.Containers)-1]
}

func TestExecutorMemory(t *testing.T) {
	const heap = "spark.executor.memory"
	for _, c := range []struct {
		name, version, resource string
		conf                    []string
		want                    string
	}{
		{"default", "4.1", "a.jar", nil, "1408Mi"},
		{"overhead of a tenth of a large heap", "4.1", "a.jar", []string{heap, "10g"}, "11Gi"},
		{"fraction of a MiB is cut off", "4.1", "a.jar", []string{heap, "5005m"}, "5505Mi"},
		{"overhead of two fifths for Python", "4.1", "a.py", []string{heap, "2g"}, "2867Mi"},
		{"memory for Python", "4.1", "a.py", []string{heap, "2g", "spark.executor.pyspark.memory", "512"}, "3379Mi"},
		{"memory for Python in a Java application", "4.1", "a.jar", []string{"spark.executor.pyspark.memory", "512"},
			"1408Mi"},
		{"fixed overhead", "4.1", "a.jar", []string{"spark.executor.memoryOverhead", "100m"}, "1124Mi"},
		{"common overhead factor", "4.1", "a.jar",
			[]string{heap, "10g", "spark.kubernetes.memoryOverheadFactor", "0.5"}, "15Gi"},
		{"overhead factor of executors", "4.1", "a.jar",
			[]string{heap, "10g", "spark.kubernetes.memoryOverheadFactor", "0.5", "spark.executor.memoryOverheadFactor",
				"0.2"}, "12Gi"},
		{"smaller minimum overhead", "4.0", "a.jar", []string{"spark.executor.minMemoryOverhead", "200m"}, "1224Mi"},
		{"minimum overhead before 4.0", "3.5", "a.jar", []string{"spark.executor.minMemoryOverhead", "200m"}, "1408Mi"},
		{"off-heap memory", "4.1", "a.jar",
			[]string{"spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "100m"}, "1508Mi"},
		{"off-heap memory in bytes", "4.1", "a.jar",
			[]string{"spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "104857600"}, "1508Mi"},
		{"off-heap memory disabled", "4.1", "a.jar", []string{"spark.memory.offHeap.size", "100m"}, "1408Mi"},
	} {
		r := kit.With(c.conf...)
		r.SparkVersion, r.Resource = c.version, "local:///"+c.resource

		_, spark := podOf(t, r)
		for kind, list := range map[string]corev1.ResourceList{"request": spark.Resources.Requests,
			"limit": spark.Resources.Limits} {
			if got := list.Memory().String(); got != c.want {
				t.Errorf("%s: %s %s, want %s", c.name, kind, got, c.want)
			}
		}
	}
}

func TestExecutorRules(t *testing.T) {
	for _, c := range []struct {
		name, version string
		r             submit.Request
		got           func(*corev1.Pod, corev1.Container) any
		want          any
	}{
		{"default pod name", "4.1", kit.With(), func(p *corev1.Pod, _ corev1.Container) any { return len(p.Name) },
			len("my-app-1-0123456789abcdef-exec-7")},
		{"pod name with the user's prefix", "4.1", kit.With("spark.kubernetes.executor.podNamePrefix", "mine"),
			func(p *corev1.Pod, _ corev1.Container) any { return p.Name }, "mine-exec-7"},
		{"host name of a long pod name", "4.1",
			kit.With("spark.kubernetes.executor.podNamePrefix", strings.Repeat("a", 10)+"-"+strings.Repeat("b", 60)),
			func(p *corev1.Pod, _ corev1.Container) any { return p.Spec.Hostname },
			strings.Repeat("b", 56) + "-exec-7"},
		{"host name without a leading dash", "4.1",
			kit.With("spark.kubernetes.executor.podNamePrefix", strings.Repeat("a", 10)+"-"+strings.Repeat("b", 55)),
			func(p *corev1.Pod, _ corev1.Container) any { return p.Spec.Hostname },
			strings.Repeat("b", 55) + "-exec-7"},
		{"cores", "4.1", kit.With("spark.executor.cores", "3", "spark.kubernetes.executor.limit.cores", "4"), resources,
			"requests cpu=3 memory=1408Mi limits cpu=4 memory=1408Mi"},
		{"CPU request differs from the cores", "4.1",
			kit.With("spark.executor.cores", "3", "spark.kubernetes.executor.request.cores", "100m"), resources,
			"requests cpu=100m memory=1408Mi limits memory=1408Mi"},
		{"devices", "4.1", kit.With("spark.executor.resource.gpu.amount", "2", "spark.executor.resource.gpu.vendor",
			"amd.com"), resources,
			"requests cpu=1 memory=1408Mi limits amd.com/gpu=2 memory=1408Mi"},
		{"driver's account", "4.1", kit.With("spark.kubernetes.authenticate.driver.serviceAccountName", "d"),
			account, "d"},
		{"executors' account", "4.1",
			kit.With("spark.kubernetes.authenticate.driver.serviceAccountName", "d",
				"spark.kubernetes.authenticate.executor.serviceAccountName", "e"), account, "e"},
		{"template's account in the deprecated field", "4.1",
			templated("spec: {serviceAccount: t}", "spark.kubernetes.authenticate.driver.serviceAccountName", "d"),
			account, "t"},
		{"template's account in the current field", "4.1",
			templated("spec: {serviceAccountName: t}", "spark.kubernetes.authenticate.driver.serviceAccountName", "d"),
			account, "d"},
		{"no account", "4.1", kit.With(), account, ""},
		{"restart policy", "4.1", kit.With(), restarts, corev1.RestartPolicyNever},
		{"restart policy in a StatefulSet", "4.1",
			kit.With("spark.kubernetes.allocation.pods.allocator", "statefulset"), restarts,
			corev1.RestartPolicyAlways},
		{"default grace period", "4.1", kit.With(), grace, int64(30)},
		{"configured grace period", "4.1", kit.With("spark.kubernetes.executor.terminationGracePeriodSeconds", "2m"),
			grace, int64(120)},
		{"grace period before 4.1", "4.0", kit.With("spark.kubernetes.executor.terminationGracePeriodSeconds", "2m"),
			grace, int64(-1)},
		{"block manager port", "4.1", kit.With("spark.blockManager.port", "7070"), ports, int32(7070)},
		{"image with a version marker", "4.1",
			kit.With("spark.kubernetes.executor.container.image", "i:{{SPARK_VERSION}}"), image, "i:4.1"},
		{"image with a version marker before 4.1", "4.0",
			kit.With("spark.kubernetes.executor.container.image", "i:{{SPARK_VERSION}}"), image, "i:{{SPARK_VERSION}}"},
		{"a scheduler", "4.1", kit.With("spark.kubernetes.scheduler.name", "s"),
			func(p *corev1.Pod, _ corev1.Container) any { return p.Spec.SchedulerName }, "s"},
		{"ConfigMap disabled", "4.1", kit.With("spark.kubernetes.executor.disableConfigMap", "true"), volumes,
			"spark-local-dir-1"},
		{"ConfigMap enabled", "4.1", kit.With(), volumes, "spark-conf-volume-exec spark-local-dir-1"},
		{"Hadoop ConfigMap", "4.1", kit.With("spark.kubernetes.hadoop.configMapName", "h"), volumes,
			"hadoop-properties spark-conf-volume-exec spark-local-dir-1"},
		{"excluded step", "4.1", kit.With("spark.kubernetes.hadoop.configMapName", "h",
			"spark.kubernetes.executor.pod.excludedFeatureSteps", draft.FeaturePackage+"HadoopConfExecutorFeatureStep"),
			volumes, "spark-conf-volume-exec spark-local-dir-1"},
		{"step excluded by a short name, which Spark ignores", "4.1", kit.With("spark.kubernetes.hadoop.configMapName",
			"h", "spark.kubernetes.executor.pod.excludedFeatureSteps", "HadoopConfExecutorFeatureStep"),
			volumes, "hadoop-properties spark-conf-volume-exec spark-local-dir-1"},
		{"excluded step before 4.1", "4.0",
			kit.With("spark.kubernetes.hadoop.configMapName", "h", "spark.kubernetes.executor.pod.excludedFeatureSteps",
				draft.FeaturePackage+"HadoopConfExecutorFeatureStep"),
			volumes, "hadoop-properties spark-conf-volume-exec spark-local-dir-1"},
		{"driver's local directories", "4.1", kit.With("spark.local.dir", "/a,/b"),
			func(_ *corev1.Pod, c corev1.Container) any { return kit.EnvOf(c)["SPARK_LOCAL_DIRS"] }, "/a,/b"},
		{"ID markers in JVM options", "4.1",
			kit.With("spark.executor.extraJavaOptions", `-Da="{{EXECUTOR_ID}} {{APP_ID}}"`), firstOption,
			"-Da=7 spark-6c48998273294de495e5c9d3a1722dba"},
		{"backslash in JVM options", "4.1", kit.With("spark.executor.extraJavaOptions", `-Da=C:\tmp\x\"y z\"`),
			firstOption, `-Da=C:\tmp\x\y z"`},
		{"form feed in JVM options", "4.1", kit.With("spark.executor.extraJavaOptions", "-Da=b\f-Dc"), firstOption,
			"-Da=b\f-Dc"},
		{"settings that an executor needs at startup", "4.1",
			kit.With("spark.network.timeout", "9s", "spark.driver.port", "7000", "spark.driver.blockManager.port",
				"7001"), jvmOptions,
			"-Dspark.driver.blockManager.port=7001 -Dspark.driver.port=7000 -Dspark.network.timeout=9s"},
		{"secrets are not in the JVM options", "4.1",
			kit.With("spark.authenticate.secret", "s", "spark.ssl.keyPassword", "p", "spark.ssl.enabled", "true"),
			jvmOptions,
			"-Dspark.driver.blockManager.port=7079 -Dspark.driver.port=7078 -Dspark.ssl.enabled=true"},
		{"TLS settings in 3.5", "3.5", kit.With("spark.ssl.enabled", "true"), jvmOptions,
			"-Dspark.driver.blockManager.port=7079 -Dspark.driver.port=7078"},
		{"overlay", "4.1", overlaid(overlay.Overlay{PriorityClassName: "high"}),
			func(p *corev1.Pod, _ corev1.Container) any { return p.Spec.PriorityClassName }, "high"},
		{"driver's configuration files", "4.1", filed("log4j2.properties", "spark.conf"),
			func(p *corev1.Pod, _ corev1.Container) any {
				return fmt.Sprint(p.Spec.Volumes[0].ConfigMap.Items[0].Key, len(p.Spec.Volumes[0].ConfigMap.Items))
			}, "log4j2.properties1"},
	} {
		c.r.SparkVersion = c.version
		if diff := cmp.Diff(c.want, c.got(podOf(t, c.r))); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.name, c.version, diff)
		}
	}
}

func templated(template string, pairs ...string) submit.Request {
	r := kit.With(pairs...)
	r.ExecutorTemplate = []byte(template)
	return r
}

func overlaid(o overlay.Overlay) submit.Request {
	r := kit.With()
	r.Executor = o
	return r
}

func filed(names ...string) submit.Request {
	r := kit.With()

	r.ConfFiles = map[string]string{}
	for _, name := range names {
		r.ConfFiles[name] = "x"
	}
	return r
}

func resources(_ *corev1.Pod, c corev1.Container) any {
	text := func(list corev1.ResourceList) (out string) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			q := list[name]
			out += fmt.Sprintf(" %s=%s", name, q.String())
		}
		return out
	}
	return "requests" + text(c.Resources.Requests) + " limits" + text(c.Resources.Limits)
}

func account(p *corev1.Pod, _ corev1.Container) any { return p.Spec.DeprecatedServiceAccount }

func image(_ *corev1.Pod, c corev1.Container) any { return c.Image }

func ports(_ *corev1.Pod, c corev1.Container) any { return c.Ports[0].ContainerPort }

// firstOption returns the first JVM option of an executor after the module options (see ownOptions).
func firstOption(_ *corev1.Pod, c corev1.Container) any { return ownOptions(c)[0] }

func restarts(p *corev1.Pod, _ corev1.Container) any {
	return p.Spec.RestartPolicy
}

func grace(p *corev1.Pod, _ corev1.Container) any {
	if p.Spec.TerminationGracePeriodSeconds == nil {
		return int64(-1)
	}
	return *p.Spec.TerminationGracePeriodSeconds
}

func volumes(p *corev1.Pod, _ corev1.Container) any {
	var names []string
	for _, v := range p.Spec.Volumes {
		names = append(names, v.Name)
	}

	slices.Sort(names)
	return strings.Join(names, " ")
}

// jvmOptions returns the JVM options of an executor without the module options (see ownOptions), in alphabetical order.
func jvmOptions(_ *corev1.Pod, c corev1.Container) any {
	all := ownOptions(c)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// ownOptions returns the JVM options without the module options that every executor gets first (ModuleOptions).
func ownOptions(c corev1.Container) []string {
	env := kit.EnvOf(c)

	var all []string
	for i := 0; env[fmt.Sprint("SPARK_JAVA_OPT_", i)] != ""; i++ {
		all = append(all, env[fmt.Sprint("SPARK_JAVA_OPT_", i)])
	}

	modules := 0
	for i, option := range all {
		for _, start := range []string{"-Djava.net.prefer", "-XX:+IgnoreUnrecognized", "--add-", "-Djdk.reflect.",
			"-Dio.netty.", "--enable-native-access", "--sun-misc-unsafe-"} {
			if strings.HasPrefix(option, start) && modules == i {
				modules++
			}
		}
	}
	return all[modules:]
}

// TestExecutorsOfEveryRequest checks that Executor returns a pod for every request that Build accepts. The pod is the
// same each time, and has a name, labels, an owner and the volumes that it mounts. Executor does not change the
// request.
func TestExecutorsOfEveryRequest(t *testing.T) {
	kit.ForAll(t, func(t *testing.T, r submit.Request, o submit.Objects) {
		before := r.Conf.Clone()
		pod, spark := podOf(t, r)

		again, _ := podOf(t, r)
		if diff := cmp.Diff(pod, again) + cmp.Diff(before.Map(), r.Conf.Map()); diff != "" {
			t.Errorf("not the same twice:\n%s", diff)
		}

		if errs := validation.IsDNS1123Subdomain(pod.Name); len(errs) > 0 && len(r.AppName) < 200 {
			t.Errorf("%q is no name: %v", pod.Name, errs)
		}

		want := map[string]string{submit.RoleLabel: submit.RoleExecutor, submit.SelectorLabel: r.AppID,
			submit.ExecutorIDLabel: "7", submit.VersionLabel: o.Driver.Labels[submit.VersionLabel]}
		maps.Copy(want, r.Labels)

		for key, value := range want {
			if pod.Labels[key] != value {
				t.Errorf("label %s is %q, want %q", key, pod.Labels[key], value)
			}
		}

		owner := pod.OwnerReferences[len(pod.OwnerReferences)-1]
		if owner.UID != "driver-uid" || owner.Name != o.Driver.Name || owner.Kind != "Pod" || !*owner.Controller {
			t.Errorf("the owner is %+v", owner)
		}

		if spark.Args[0] != "executor" || pod.Namespace != r.Namespace {
			t.Errorf("it runs %v in %s", spark.Args, pod.Namespace)
		}

		named := map[string]bool{}
		for _, v := range pod.Spec.Volumes {
			named[v.Name] = true
		}

		for _, m := range spark.VolumeMounts {
			if !named[m.Name] {
				t.Errorf("it mounts %s, which is no volume", m.Name)
			}
		}
	})
}

// TestExecutorRefuses checks that Executor accepts a request whose driver only a JVM can build, and rejects requests
// that could never work.
func TestExecutorRefuses(t *testing.T) {
	r := kit.With("spark.kubernetes.driver.podTemplateFile", "s3a://bucket/pod.yaml")
	if _, err := native.Build(r); err == nil {
		t.Error("Build takes a file of the user's word")
	}

	if pod, _ := podOf(t, r); pod.Name == "" {
		t.Error("no executor")
	}

	for key, value := range map[string]string{
		"spark.kubernetes.authenticate.submission.oauthToken": "t", "spark.executor.memory": "much",
		"spark.kubernetes.executor.request.cores": "few",
		"spark.executor.pyspark.memory":           "9g9", "spark.memory.offHeap.enabled": "maybe",
		"spark.decommission.enabled": "maybe", "spark.kubernetes.executor.terminationGracePeriodSeconds": "soon",
		"spark.executor.minMemoryOverhead": "-", "spark.executor.memoryOverhead": "-",
		"spark.executor.memoryOverheadFactor": "-", "spark.blockManager.port": "x",
		"spark.kubernetes.executor.disableConfigMap": "x", "spark.executorEnv.a=b": "x",
		"spark.executor.resource.gpu.amount": "1",
	} {
		r := kit.With(key, value)
		r.Resource = "local:///a.py"

		_, err := native.Executor(r, 1, "")
		if wrong, ok := errors.AsType[*submit.Error](err); !ok ||
			!strings.Contains(wrong.Error(), strings.TrimSuffix(key, ".amount")) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}

	_, err := native.Executor(kit.With("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "8000p",
		"spark.executor.memory", "8000000000g"), 1, "")
	if err == nil {
		t.Error("more memory than there can be is taken")
	}

	pod, err := native.Executor(kit.With(), 1, "")
	if err != nil || len(pod.OwnerReferences) > 0 {
		t.Errorf("without a driver it is owned: %v, %v", pod, err)
	}
}

// FuzzExecutor checks that no configuration makes Executor panic, and that every error is an *Error.
func FuzzExecutor(f *testing.F) {
	f.Add("spark.executor.memory", "2g", "4.1.4", `{"spec":{"containers":[{"name":"x"}]}}`)
	f.Add("spark.kubernetes.executor.podNamePrefix", "-.-", "3.5", "")
	f.Add("spark.executor.memoryOverheadFactor", "1e400", "4.3", `{"spec":{"containers":[]}}`)
	f.Add("spark.memory.offHeap.size", "-1", "", "{}")
	f.Fuzz(func(t *testing.T, key, value, version, template string) {
		r := kit.With(key, value, "spark.memory.offHeap.enabled", "true")
		r.SparkVersion, r.ExecutorTemplate = version, []byte(template)

		pod, err := native.Executor(r, 1, "u")
		if err != nil {
			if _, ok := errors.AsType[*submit.Error](err); !ok {
				t.Errorf("the error is not one of ours: %v", err)
			}
			return
		}

		if memory := pod.Spec.Containers[len(pod.Spec.Containers)-1].Resources.Limits.Memory(); memory.Sign() <= 0 {
			t.Errorf("its memory is %s", memory)
		}
	})
}
