package specification

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

func TestSparkConf(t *testing.T) {
	const (
		wait     = "spark.kubernetes.submission.waitAppCompletion"
		annotate = "spark.kubernetes.driver.annotateExitException"
	)
	for _, tc := range []struct {
		name string
		app  v1beta2.SparkApplication
		want map[string]string
	}{
		{"nothing", v1beta2.SparkApplication{}, map[string]string{}},
		{"typed fields win over sparkConf", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			SparkConf: map[string]string{"spark.driver.memory": "1g", "spark.x": "y", wait: "true",
				"spark.kubernetes.driver.pod.name": "mine"},
			Driver: v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{Memory: new("2g")}},
		}}, map[string]string{"spark.driver.memory": "2g", "spark.x": "y"}},
		{"images and pull secrets", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			Image: new("a"), ImagePullPolicy: new("Always"), ImagePullSecrets: []string{"s1", "s2"},
			Driver:   v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{Image: new("d")}},
			Executor: v1beta2.ExecutorSpec{SparkPodSpec: v1beta2.SparkPodSpec{Image: new("e")}},
		}}, map[string]string{
			"spark.kubernetes.container.image": "a", "spark.kubernetes.container.image.pullPolicy": "Always",
			"spark.kubernetes.container.image.pullSecrets": "s1,s2",
			"spark.kubernetes.driver.container.image":      "d", "spark.kubernetes.executor.container.image": "e",
		}},
		{"dependencies", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{Deps: v1beta2.Dependencies{
			Jars: []string{"a.jar", "b.jar"}, Files: []string{"f"}, PyFiles: []string{"p.py"}, Archives: []string{"z"},
			Packages: []string{"g:a:1"}, ExcludePackages: []string{"g:b"}, Repositories: []string{"r"},
		}}}, map[string]string{
			"spark.jars": "a.jar,b.jar", "spark.files": "f", "spark.submit.pyFiles": "p.py", "spark.archives": "z",
			"spark.jars.packages": "g:a:1", "spark.jars.excludes": "g:b", "spark.jars.repositories": "r",
		}},
		{"hadoopConf always gets the prefix", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			HadoopConf: map[string]string{"fs.s3a.endpoint": "e", "spark.hadoop.x": "y"},
		}}, map[string]string{"spark.hadoop.fs.s3a.endpoint": "e", "spark.hadoop.spark.hadoop.x": "y"}},
		{"driver", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{Driver: v1beta2.DriverSpec{
			SparkPodSpec: v1beta2.SparkPodSpec{
				Cores: new(int32(2)), CoreLimit: new("3"), MemoryOverhead: new("1g"), ServiceAccount: new("sa"),
				EnvVars:          map[string]string{"A": "1"},
				EnvSecretKeyRefs: map[string]v1beta2.NameKey{"P": {Name: "s", Key: "k"}},
				Annotations:      map[string]string{"a": "b"},
			},
			CoreRequest: new("500m"), JavaOptions: new("-Da=b"), KubernetesMaster: new("k8s://https://x:6443"),
			ServiceLabels: map[string]string{"l": "v"}, ServiceAnnotations: map[string]string{"n": "w"},
		}}}, map[string]string{
			"spark.driver.cores": "2", "spark.kubernetes.driver.limit.cores": "3", "spark.driver.memoryOverhead": "1g",
			"spark.kubernetes.authenticate.driver.serviceAccountName": "sa", "spark.kubernetes.driverEnv.A": "1",
			"spark.kubernetes.driver.secretKeyRef.P": "s:k", "spark.kubernetes.driver.annotation.a": "b",
			"spark.kubernetes.driver.request.cores": "500m", "spark.driver.extraJavaOptions": "-Da=b",
			"spark.kubernetes.driver.master":          "https://x:6443",
			"spark.kubernetes.driver.service.label.l": "v", "spark.kubernetes.driver.service.annotation.n": "w",
		}},
		{"sparkConf wins over four fields, as ever", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			ImagePullPolicy: new("Always"), ImagePullSecrets: []string{"a"}, PythonVersion: new("3"),
			MemoryOverheadFactor: new("0.2"),
			SparkConf: map[string]string{"spark.kubernetes.container.image.pullPolicy": "Never",
				"spark.kubernetes.memoryOverheadFactor": "0.3"},
		}}, map[string]string{
			"spark.kubernetes.container.image.pullPolicy": "Never", "spark.kubernetes.container.image.pullSecrets": "a",
			"spark.kubernetes.pyspark.pythonVersion": "3", "spark.kubernetes.memoryOverheadFactor": "0.3",
		}},
		{"executor", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{Executor: v1beta2.ExecutorSpec{
			SparkPodSpec: v1beta2.SparkPodSpec{Cores: new(int32(1)), Memory: new("1g"),
				EnvVars: map[string]string{"A": "1"}},
			Instances: new(int32(3)), CoreRequest: new("1"), JavaOptions: new("-Dx"),
			DeleteOnTermination: new(false),
		}}}, map[string]string{
			"spark.executor.cores": "1", "spark.executor.memory": "1g", "spark.executorEnv.A": "1",
			"spark.executor.instances":                "3",
			"spark.kubernetes.executor.request.cores": "1", "spark.executor.extraJavaOptions": "-Dx",
			"spark.kubernetes.executor.deleteOnTermination": "false",
		}},
		{"labels of the application reach its pods, Kueue's do not, the pod's own win", v1beta2.SparkApplication{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a", "tier": "x",
				"kueue.x-k8s.io/queue-name": "q"}},
			Spec: v1beta2.SparkApplicationSpec{Driver: v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{Labels: map[string]string{"tier": "y"}}}},
		}, map[string]string{
			"spark.kubernetes.driver.label.team": "a", "spark.kubernetes.driver.label.tier": "y",
			"spark.kubernetes.executor.label.team": "a", "spark.kubernetes.executor.label.tier": "x",
		}},
		{"secrets of known types point the environment at their file",
			v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
				Driver: v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{Secrets: []v1beta2.SecretInfo{
					{Name: "gcp", Path: "/mnt/g", Type: v1beta2.SecretTypeGCPServiceAccount},
					{Name: "plain", Path: "/mnt/p", Type: "Generic"},
				}}},
				Executor: v1beta2.ExecutorSpec{SparkPodSpec: v1beta2.SparkPodSpec{Secrets: []v1beta2.SecretInfo{
					{Name: "tok", Path: "/mnt/t", Type: v1beta2.SecretTypeHadoopDelegationToken},
				}}},
			}}, map[string]string{
				"spark.kubernetes.driver.secrets.gcp": "/mnt/g", "spark.kubernetes.driver.secrets.plain": "/mnt/p",
				"spark.kubernetes.driverEnv.GOOGLE_APPLICATION_CREDENTIALS": "/mnt/g/key.json",
				"spark.kubernetes.executor.secrets.tok":                     "/mnt/t",
				"spark.executorEnv.HADOOP_TOKEN_FILE_LOCATION":              "/mnt/t/hadoop.token",
			}},
		{"dynamic allocation tracks shuffles unless told otherwise",
			v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
				DynamicAllocation: &v1beta2.DynamicAllocation{Enabled: true, MinExecutors: new(int32(1)),
					MaxExecutors: new(int32(5)), ShuffleTrackingTimeout: new(int64(500))},
			}}, map[string]string{
				"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "1",
				"spark.dynamicAllocation.maxExecutors":            "5",
				"spark.dynamicAllocation.shuffleTracking.enabled": "true",
				"spark.dynamicAllocation.shuffleTracking.timeout": "500ms",
			}},
		{"dynamic allocation by sparkConf needs no executors",
			v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
				SparkConf: map[string]string{"spark.dynamicAllocation.enabled": "TRUE"},
			}}, map[string]string{"spark.dynamicAllocation.enabled": "TRUE"}},
		{"dynamic allocation that is off sets nothing", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			DynamicAllocation: &v1beta2.DynamicAllocation{MinExecutors: new(int32(1))},
		}}, map[string]string{}},
		{"local directories travel as configuration", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			Volumes: []corev1.Volume{
				{Name: "spark-local-dir-1", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory", SizeLimit: new(resource.MustParse("1Gi"))}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			Executor: v1beta2.ExecutorSpec{SparkPodSpec: v1beta2.SparkPodSpec{VolumeMounts: []corev1.VolumeMount{
				{Name: "spark-local-dir-1", MountPath: "/tmp/l", ReadOnly: true}, {Name: "data", MountPath: "/data"},
			}}},
		}}, map[string]string{
			"spark.kubernetes.executor.volumes.emptyDir.spark-local-dir-1.mount.path":        "/tmp/l",
			"spark.kubernetes.executor.volumes.emptyDir.spark-local-dir-1.mount.readOnly":    "true",
			"spark.kubernetes.executor.volumes.emptyDir.spark-local-dir-1.options.medium":    "Memory",
			"spark.kubernetes.executor.volumes.emptyDir.spark-local-dir-1.options.sizeLimit": "1Gi",
		}},
		{"a source that is read-only is mounted read-only", v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{
			Volumes: []corev1.Volume{
				{Name: "spark-local-dir-n", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s",
					Path: "/p", ReadOnly: true}}},
				{Name: "spark-local-dir-c", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c", ReadOnly: true}}},
			},
			Driver: v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{VolumeMounts: []corev1.VolumeMount{
				{Name: "spark-local-dir-n", MountPath: "/n"}, {Name: "spark-local-dir-c", MountPath: "/c"},
			}}},
		}}, map[string]string{
			"spark.kubernetes.driver.volumes.nfs.spark-local-dir-n.mount.path":                          "/n",
			"spark.kubernetes.driver.volumes.nfs.spark-local-dir-n.mount.readOnly":                      "true",
			"spark.kubernetes.driver.volumes.nfs.spark-local-dir-n.options.path":                        "/p",
			"spark.kubernetes.driver.volumes.nfs.spark-local-dir-n.options.server":                      "s",
			"spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-c.mount.path":        "/c",
			"spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-c.mount.readOnly":    "true",
			"spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-c.options.claimName": "c",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Configuration(&tc.app)
			if err != nil {
				t.Fatal(err)
			}

			tc.want[wait], tc.want[annotate] = "false", "true"
			if tc.want["spark.dynamicAllocation.enabled"] == "" && tc.want["spark.executor.instances"] == "" {
				tc.want["spark.executor.instances"] = "1" // this API's default
			}

			if diff := cmp.Diff(tc.want, got.Map()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExitExceptionOfJVMs checks that the driver of a Java or Scala application annotates its pod with the exception
// that ended the driver. Users can switch this off with spark.kubernetes.driver.annotateExitException.
func TestExitExceptionOfJVMs(t *testing.T) {
	const key = "spark.kubernetes.driver.annotateExitException"
	for _, tc := range []struct {
		file, text, want string
	}{
		{"local:///a.jar", "", "true"},
		{"s3a://b/a", "", "true"},
		{"", "", "true"}, // a class of the image's
		{"local:///a.jar", "false", "false"},
		{"local:///a.py", "", ""},
		{"local:///a.py", "true", "true"},
		{"local:///a.R", "", ""},
		{"local:///a.r", "", ""},
		{"local:///a.PY", "", "true"}, // nothing but a name to SparkSubmit
	} {
		app := &v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{MainApplicationFile: tc.file}}
		if tc.text != "" {
			app.Spec.SparkConf = map[string]string{key: tc.text}
		}

		c, err := Configuration(app)
		if err != nil {
			t.Fatal(err)
		}

		if got, _ := c.Get(key); got != tc.want {
			t.Errorf("%q with %q: %q, want %q", tc.file, tc.text, got, tc.want)
		}
	}
}

func TestSparkConfRefuses(t *testing.T) {
	mount := func(name string) v1beta2.DriverSpec {
		return v1beta2.DriverSpec{SparkPodSpec: v1beta2.SparkPodSpec{VolumeMounts: []corev1.VolumeMount{{Name: name,
			MountPath: "/m"}}}}
	}

	secret := corev1.Volume{Name: "spark-local-dir-s",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}
	for name, spec := range map[string]v1beta2.SparkApplicationSpec{
		"a mount of no volume":               {Driver: mount("gone")},
		"a local directory on a secret":      {Driver: mount("spark-local-dir-s"), Volumes: []corev1.Volume{secret}},
		"a local directory without a volume": {Driver: mount("spark-local-dir-x"), Volumes: []corev1.Volume{secret}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Configuration(&v1beta2.SparkApplication{Spec: spec})

			fieldError, ok := errors.AsType[*dialect.FieldError](err)
			if !ok || fieldError.Field != "spec.driver.volumeMounts[0].name" {
				t.Errorf("got %v, want an error of spec.driver.volumeMounts[0].name", err)
			}
		})
	}
}
