package steps_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestMinimalPropertiesAreThoseOfSpark(t *testing.T) {
	r := kit.Minimal()
	r.Labels = nil

	want := []string{
		"spark.app.id", "spark.app.name", "spark.app.submitTime", "spark.driver.blockManager.port", "spark.driver.host", "spark.driver.port",
		"spark.jars", "spark.kubernetes.container.image", "spark.kubernetes.driver.pod.name", "spark.kubernetes.memoryOverheadFactor",
		"spark.kubernetes.namespace", "spark.kubernetes.resource.type", "spark.kubernetes.submitInDriver", "spark.master",
		"spark.submit.deployMode", "spark.submit.pyFiles",
	}
	for _, version := range submit.SupportedVersions() {
		r.SparkVersion = version
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(kit.Props(t, kit.Build(t, r))))); diff != "" {
			t.Errorf("Spark %s (-want +got):\n%s", version, diff)
		}
	}
}

func TestImages(t *testing.T) {
	o := kit.Build(t, kit.With("spark.kubernetes.driver.container.image", "${spark.repo}/driver:1", "spark.repo", "r.example", "spark.kubernetes.container.image.pullPolicy", "Always",
		"spark.kubernetes.container.image.pullSecrets", " a ,b"))

	spark := kit.SparkContainer(t, o)
	if spark.Image != "r.example/driver:1" || spark.ImagePullPolicy != corev1.PullAlways {
		t.Errorf("image %q, policy %q", spark.Image, spark.ImagePullPolicy)
	}

	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}}, o.Driver.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull secrets (-want +got):\n%s", diff)
	}

	if got := kit.Props(t, o)["spark.kubernetes.driver.container.image"]; got != "${spark.repo}/driver:1" {
		t.Errorf("spark.properties should hold the raw text, but has %q", got)
	}
}

func TestPorts(t *testing.T) {
	r := kit.With("spark.driver.port", "1", "spark.blockManager.port", "2", "spark.ui.port", "3", "spark.connect.grpc.binding.port", "4")
	o := kit.Build(t, r)

	var container []int32
	for _, p := range kit.SparkContainer(t, o).Ports {
		container = append(container, p.ContainerPort)
	}

	if diff := cmp.Diff([]int32{1, 2, 3, 4}, container); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}
	// Spark ignores spark.blockManager.port for the Service.
	want := []corev1.ServicePort{
		{Name: "driver-rpc-port", Port: 1, TargetPort: intstr.FromInt32(1)}, {Name: "blockmanager", Port: 7079, TargetPort: intstr.FromInt32(7079)},
		{Name: "spark-ui", Port: 3, TargetPort: intstr.FromInt32(3)}, {Name: "spark-connect", Port: 4, TargetPort: intstr.FromInt32(4)},
	}
	if diff := cmp.Diff(want, kit.ServiceOf(t, o).Spec.Ports); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}

	if p := kit.Props(t, o); p["spark.driver.port"] != "1" || p["spark.driver.blockManager.port"] != "7079" {
		t.Errorf("properties: %v", p)
	}
}

func TestService(t *testing.T) {
	const prefix = "spark.kubernetes.driver.service."
	r := kit.With(prefix+"ipFamilyPolicy", "RequireDualStack", prefix+"ipFamilies", "IPv6,IPv4", prefix+"label.team", "a", prefix+"label.example.org/app", "b",
		prefix+"annotation.note", "n", prefix+"publishNotReadyAddresses", "true", "spark.kubernetes.driver.label.team", "t")
	r.SparkVersion = "4.3.0"

	s := kit.ServiceOf(t, kit.Build(t, r))
	if s.Spec.ClusterIP != corev1.ClusterIPNone || *s.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyRequireDualStack || !s.Spec.PublishNotReadyAddresses {
		t.Errorf("spec is %+v", s.Spec)
	}

	if diff := cmp.Diff([]corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, s.Spec.IPFamilies); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"spark-app-selector": r.AppID, "team": "a", "example.org/app": "my-app"}, s.Labels); diff != "" {
		t.Errorf("labels; the Request's win (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"note": "n"}, s.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}

	if s.Spec.Selector["team"] != "t" || s.Spec.Selector["spark-app-selector"] != r.AppID {
		t.Errorf("selector is %v", s.Spec.Selector)
	}

	r.SparkVersion = "4.2.0"
	if kit.ServiceOf(t, kit.Build(t, r)).Spec.PublishNotReadyAddresses {
		t.Error("publishNotReadyAddresses came with 4.3")
	}
}

func TestEnvironmentOrder(t *testing.T) {
	r := kit.With("spark.kubernetes.driverEnv.B", "1", "spark.kubernetes.driverEnv.SPARK_USER", "mine", "spark.kubernetes.driverEnv.A", "${env:HOME}",
		"spark.kubernetes.driver.secretKeyRef.S", "sec:key")

	var got []string
	for _, v := range kit.SparkContainer(t, kit.Build(t, r)).Env {
		got = append(got, v.Name+"="+v.Value)
	}

	want := []string{"SPARK_USER=spark", "SPARK_APPLICATION_ID=" + r.AppID, "B=1", "SPARK_USER=mine", "A=${env:HOME}", "SPARK_DRIVER_BIND_ADDRESS=", "S=",
		"SPARK_LOCAL_DIRS=/var/data/spark-6c489982-7329-4de4-95e5-c9d3a1722dba", "SPARK_CONF_DIR=/opt/spark/conf"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestCommand(t *testing.T) {
	const file = "/opt/spark/conf/spark.properties"
	for name, c := range map[string]struct {
		change func(*submit.Request)
		want   []string
		kind   string
		jars   string
	}{
		"Java": {func(r *submit.Request) { r.Arguments = []string{"", "--name", `"q"`, "a b"} },
			[]string{"driver", "--properties-file", file, "--class", "org.apache.spark.examples.SparkPi", "local:///opt/spark/examples/jars/spark-examples.jar", "", "--name", `"q"`, "a b"},
			"java", "local:///opt/spark/examples/jars/spark-examples.jar"},
		"additional jars": {func(r *submit.Request) { r.Conf.Set("spark.jars", "https://h/a.jar"); r.Resource = "s3a://b/x.jar" },
			[]string{"driver", "--properties-file", file, "--class", "org.apache.spark.examples.SparkPi", "s3a://b/x.jar"}, "java", "https://h/a.jar,s3a://b/x.jar"},
		"no resource": {func(r *submit.Request) { r.Resource = "" },
			[]string{"driver", "--properties-file", file, "--class", "org.apache.spark.examples.SparkPi", "spark-internal"}, "java", ""},
		"proxy user": {func(r *submit.Request) { r.ProxyUser = "eve" },
			[]string{"driver", "--proxy-user", "eve", "--properties-file", file, "--class", "org.apache.spark.examples.SparkPi", "local:///opt/spark/examples/jars/spark-examples.jar"},
			"java", "local:///opt/spark/examples/jars/spark-examples.jar"},
		"Python": {func(r *submit.Request) { r.Resource, r.MainClass = "https://h/a.py", "ignored" },
			[]string{"driver", "--properties-file", file, "--class", "org.apache.spark.deploy.PythonRunner", "https://h/a.py"}, "python", "-"},
		"R": {func(r *submit.Request) { r.Resource, r.MainClass = "local:///a.R", "" },
			[]string{"driver", "--properties-file", file, "--class", "org.apache.spark.deploy.RRunner", "local:///a.R"}, "r", "-"},
		"variables": {func(r *submit.Request) { r.Arguments = []string{"$(HOME)", "$HOME", "a$$b", "$", "$é"} },
			[]string{"driver", "--properties-file", file, "--class", "org.apache.spark.examples.SparkPi", "local:///opt/spark/examples/jars/spark-examples.jar",
				"$(HOME)", "$HOME", "a$$b", "$", "$é"}, "java", "local:///opt/spark/examples/jars/spark-examples.jar"},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.Minimal()
			c.change(&r)

			o := kit.Build(t, r)
			if diff := cmp.Diff(c.want, kit.SparkContainer(t, o).Args); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}

			p := kit.Props(t, o)
			if p["spark.kubernetes.resource.type"] != c.kind {
				t.Errorf("type is %q", p["spark.kubernetes.resource.type"])
			}

			if jars, ok := p["spark.jars"]; c.jars != "-" && jars != c.jars || ok == (c.jars == "-") {
				t.Errorf("spark.jars is %q (%v), want %q", jars, ok, c.jars)
			}
		})
	}
}

func TestPythonInterpreters(t *testing.T) {
	const worker, driver = "spark.pyspark.python", "spark.pyspark.driver.python"
	for _, c := range []struct {
		pairs        []string
		env          map[string]string
		wantW, wantD string
	}{
		{nil, nil, "", ""},
		{[]string{worker, "w"}, nil, "w", "w"},
		{[]string{driver, "d"}, nil, "", "d"},
		{[]string{worker, "w", driver, "d"}, map[string]string{"PYSPARK_PYTHON": "ew", "PYSPARK_DRIVER_PYTHON": "ed"}, "w", "d"},
		{[]string{worker, "w"}, map[string]string{"PYSPARK_DRIVER_PYTHON": "ed"}, "w", "w"},
		{nil, map[string]string{"PYSPARK_PYTHON": "ew"}, "ew", "ew"},
		{nil, map[string]string{"PYSPARK_DRIVER_PYTHON": "ed"}, "", "ed"},
		{nil, map[string]string{"PYSPARK_PYTHON": "ew", "PYSPARK_DRIVER_PYTHON": "ed"}, "ew", "ed"},
	} {
		r := kit.With(c.pairs...)
		r.Resource, r.Environment = "local:///a.py", c.env

		env := kit.EnvOf(kit.SparkContainer(t, kit.Build(t, r)))
		if env["PYSPARK_PYTHON"] != c.wantW || env["PYSPARK_DRIVER_PYTHON"] != c.wantD {
			t.Errorf("%v, %v: workers %q, driver %q, want %q and %q", c.pairs, c.env, env["PYSPARK_PYTHON"], env["PYSPARK_DRIVER_PYTHON"], c.wantW, c.wantD)
		}

		if _, ok := env["PYSPARK_PYTHON"]; ok && c.wantW == "" {
			t.Errorf("%v, %v: an unset interpreter should be left out", c.pairs, c.env)
		}
	}
}

func TestSparkUser(t *testing.T) {
	for _, c := range []struct{ version, user, proxy, want string }{
		{"4.1.0", "", "", "spark"}, {"4.1.0", "me", "", "me"}, {"4.1.0", "", "eve", "eve"}, {"4.1.0", "me", "eve", "me"}, {"4.3.0", "me", "eve", "eve"},
		{"4.3.0", "me", "", "me"},
	} {
		r := kit.Minimal()

		r.SparkVersion, r.User, r.ProxyUser = c.version, c.user, c.proxy
		if got := kit.EnvOf(kit.SparkContainer(t, kit.Build(t, r)))["SPARK_USER"]; got != c.want {
			t.Errorf("%+v: SPARK_USER is %q", c, got)
		}
	}
}

func TestVolumes(t *testing.T) {
	const prefix = "spark.kubernetes.driver.volumes."

	o := kit.Build(t, kit.With(
		prefix+"hostPath.h.mount.path", "/h", prefix+"hostPath.h.options.path", "/x", prefix+"hostPath.h.options.type", "Directory",
		prefix+"emptyDir.e.mount.path", "/e", prefix+"emptyDir.e.options.medium", "Memory", prefix+"emptyDir.e.options.sizeLimit", "1Gi",
		prefix+"nfs.n.mount.path", "/n", prefix+"nfs.n.mount.readOnly", "true", prefix+"nfs.n.mount.subPath", "s", prefix+"nfs.n.options.path", "/y", prefix+"nfs.n.options.server", "srv",
		prefix+"persistentVolumeClaim.p.mount.path", "/p", prefix+"persistentVolumeClaim.p.mount.readOnly", "true", prefix+"persistentVolumeClaim.p.options.claimName", "fixed",
	))
	if v := kit.VolumeOf(t, o, "h").HostPath; v == nil || v.Path != "/x" || *v.Type != corev1.HostPathDirectory {
		t.Errorf("hostPath is %+v", v)
	}

	if v := kit.VolumeOf(t, o, "e").EmptyDir; v == nil || v.Medium != corev1.StorageMediumMemory || v.SizeLimit.String() != "1Gi" {
		t.Errorf("emptyDir is %+v", v)
	}

	if v := kit.VolumeOf(t, o, "n").NFS; v == nil || v.Server != "srv" || v.Path != "/y" || v.ReadOnly {
		t.Errorf("nfs is %+v", v)
	}

	if v := kit.VolumeOf(t, o, "p").PersistentVolumeClaim; v == nil || v.ClaimName != "fixed" || !v.ReadOnly {
		t.Errorf("claim is %+v", v)
	}

	spark := kit.SparkContainer(t, o)

	i := slices.IndexFunc(spark.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "n" })
	if diff := cmp.Diff(corev1.VolumeMount{Name: "n", MountPath: "/n", ReadOnly: true, SubPath: "s"}, spark.VolumeMounts[i]); diff != "" {
		t.Errorf("mount (-want +got):\n%s", diff)
	}

	if len(o.Before) != 2 {
		t.Errorf("nothing but Service and ConfigMap should come before the pod, but %d objects do", len(o.Before))
	}
}

func TestClaims(t *testing.T) {
	const prefix = "spark.kubernetes.driver.volumes.persistentVolumeClaim."
	settings := func(name, claim string) []string {
		return []string{prefix + name + ".mount.path", "/" + name, prefix + name + ".options.claimName", claim,
			prefix + name + ".options.storageClass", "fast", prefix + name + ".options.sizeLimit", "5Gi"}
	}
	r := kit.With(slices.Concat(settings("b", "OnDemand"), settings("a", "fixed"), []string{prefix + "b.label.team", "t", prefix + "b.annotation.note", "n",
		"spark.kubernetes.legacy.useReadWriteOnceAccessMode", "true"})...)
	o := kit.Build(t, r)
	fixed := kit.Find[*corev1.PersistentVolumeClaim](t, o, "fixed")

	made := kit.Find[*corev1.PersistentVolumeClaim](t, o, "my-app-1-c05dd8a1fbc0dc03-driver-pvc-1")
	if kit.VolumeOf(t, o, "b").PersistentVolumeClaim.ClaimName != made.Name || kit.VolumeOf(t, o, "a").PersistentVolumeClaim.ClaimName != fixed.Name {
		t.Error("the pod does not mount its claims")
	}

	if *made.Spec.StorageClassName != "fast" || made.Spec.Resources.Requests.Storage().String() != "5Gi" ||
		!slices.Equal(made.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}) {
		t.Errorf("claim is %+v", made.Spec)
	}

	if made.Labels["team"] != "t" || made.Annotations["note"] != "n" || made.Labels["example.org/app"] != "my-app" {
		t.Errorf("labels %v, annotations %v", made.Labels, made.Annotations)
	}
}

func TestLocalDirs(t *testing.T) {
	mounted := "spark.kubernetes.driver.volumes.emptyDir.spark-local-dir-9.mount.path"
	for name, c := range map[string]struct {
		pairs  []string
		env    map[string]string
		dirs   string
		mounts map[string]string
		medium corev1.StorageMedium
	}{
		"default": {nil, nil, "/var/data/spark-6c489982-7329-4de4-95e5-c9d3a1722dba", map[string]string{"spark-local-dir-1": "/var/data/spark-6c489982-7329-4de4-95e5-c9d3a1722dba"}, ""},
		"two directories in memory": {[]string{"spark.local.dir", "/a, /b", "spark.kubernetes.local.dirs.tmpfs", "true"}, nil, "/a,/b",
			map[string]string{"spark-local-dir-1": "/a", "spark-local-dir-2": "/b"}, corev1.StorageMediumMemory},
		"environment overrides the configuration":    {[]string{"spark.local.dir", "/a"}, map[string]string{"SPARK_LOCAL_DIRS": "/e"}, "/e", map[string]string{"spark-local-dir-1": "/e"}, ""},
		"mounted volumes override the configuration": {[]string{"spark.local.dir", "/a", mounted, "/m"}, nil, "/m", map[string]string{"spark-local-dir-9": "/m"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.With(c.pairs...)
			r.Environment = c.env
			o := kit.Build(t, r)

			spark := kit.SparkContainer(t, o)
			if got := kit.EnvOf(spark)["SPARK_LOCAL_DIRS"]; got != c.dirs {
				t.Errorf("SPARK_LOCAL_DIRS is %q, want %q", got, c.dirs)
			}

			mounts := kit.MountsOf(spark)
			delete(mounts, "spark-conf-volume-driver")

			if diff := cmp.Diff(c.mounts, mounts); diff != "" {
				t.Errorf("mounts (-want +got):\n%s", diff)
			}

			for volume := range c.mounts {
				if got := kit.VolumeOf(t, o, volume).EmptyDir.Medium; got != c.medium {
					t.Errorf("medium of %s is %q", volume, got)
				}
			}
		})
	}
}

func TestHadoopAndKerberos(t *testing.T) {
	o := kit.Build(t, kit.With("spark.kubernetes.hadoop.configMapName", "h", "spark.kubernetes.kerberos.krb5.configMapName", "k",
		"spark.kubernetes.kerberos.tokenSecret.name", "tokens", "spark.kubernetes.kerberos.tokenSecret.itemKey", "item"))

	env, p := kit.EnvOf(kit.SparkContainer(t, o)), kit.Props(t, o)
	if env["HADOOP_CONF_DIR"] != "/opt/hadoop/conf" || env["HADOOP_TOKEN_FILE_LOCATION"] != "/mnt/secrets/hadoop-credentials/item" {
		t.Errorf("variables: %v", env)
	}

	if p["spark.kubernetes.executor.hadoopConfigMapName"] != "h" {
		t.Errorf("executors do not get the Hadoop configuration: %v", p)
	}

	want := map[string]string{"hadoop-properties": "/opt/hadoop/conf", "krb5-file": "/etc/krb5.conf", "hadoop-secret": "/mnt/secrets/hadoop-credentials"}

	mounts := kit.MountsOf(kit.SparkContainer(t, o))
	for volume, path := range want {
		if mounts[volume] != path {
			t.Errorf("%s is mounted at %q, want %q", volume, mounts[volume], path)
		}
	}
}

func TestExcludedSteps(t *testing.T) {
	const key = "spark.kubernetes.driver.pod.excludedFeatureSteps"
	r := kit.With(key, draft.FeaturePackage+"LocalDirsFeatureStep,"+draft.FeaturePackage+"NetworkPolicyFeatureStep,org.example.None")
	r.SparkVersion = "4.2.1"

	o := kit.Build(t, r)
	if _, ok := kit.EnvOf(kit.SparkContainer(t, o))["SPARK_LOCAL_DIRS"]; ok || len(o.Before) != 2 {
		t.Error("a step was not left out")
	}

	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "org.example.None") {
		t.Errorf("warnings: %q", o.Warnings)
	}

	r.SparkVersion = "4.0.1"

	o = kit.Build(t, r)
	if _, ok := kit.EnvOf(kit.SparkContainer(t, o))["SPARK_LOCAL_DIRS"]; !ok || len(o.Warnings) != 1 {
		t.Errorf("before 4.1 the key has no effect, and a warning should say so: %q", o.Warnings)
	}
}

func TestPrivilegeEscalation(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  bool
	}{
		{nil, false},
		{[]string{"spark.kubernetes.securityContext.allowPrivilegeEscalation", "true"}, true},
		{[]string{"spark.kubernetes.securityContext.allowPrivilegeEscalation", "true", "spark.kubernetes.driver.securityContext.allowPrivilegeEscalation", "false"}, false},
	} {
		r := kit.With(c.pairs...)
		r.SparkVersion = "4.3.0"
		r.DriverTemplate = []byte(`{"spec":{"containers":[{"name":"spark-kubernetes-driver","securityContext":{"runAsUser":7}}]}}`)

		security := kit.SparkContainer(t, kit.Build(t, r)).SecurityContext
		if *security.AllowPrivilegeEscalation != c.want || *security.RunAsUser != 7 {
			t.Errorf("%v: %+v", c.pairs, security)
		}
	}
}
