package validate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

func TestValidate(t *testing.T) {
	template := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	for _, tc := range []struct {
		name string
		edit func(*v1beta2.SparkApplication)
		want []string // "field|part of the message"
	}{
		{"nothing wrong", func(*v1beta2.SparkApplication) {}, nil},
		{"a name that no Service may have", func(a *v1beta2.SparkApplication) { a.Name = "1pi" },
			[]string{"metadata.name|use at most 63 lower case letters"}},
		{"denied keys, whatever their case", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.master": "local", "Spark.Kubernetes.Container.Image": "x",
				"spark.ok": "1"}
		}, []string{"spec.sparkConf[Spark.Kubernetes.Container.Image]|is not allowed: use spec.image",
			"spec.sparkConf[spark.master]|is not allowed"}},
		{"credentials of every kind", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{
				"spark.kubernetes.authenticate.submission.oauthTokenFile":     "/var/run/secrets/token",
				"spark.kubernetes.authenticate.driver.oauthToken":             "t",
				"spark.kubernetes.authenticate.driver.serviceAccountName":     "admin",
				"spark.kubernetes.authenticate.driver.mounted.oauthTokenFile": "/in/the/pod",
				"spark.kubernetes.authenticate.submission.serviceAccountName": "uploads",
			}
		}, []string{
			"spec.sparkConf[spark.kubernetes.authenticate.driver.oauthToken]|is not allowed",
			"spec.sparkConf[spark.kubernetes.authenticate.driver.serviceAccountName]|use spec.driver.serviceAccount",
			"spec.sparkConf[spark.kubernetes.authenticate.submission.oauthTokenFile]|is not allowed",
		}},
		{"another namespace", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.kubernetes.namespace": "kube-system"}
		}, []string{`spec.sparkConf[spark.kubernetes.namespace]|"kube-system" is not allowed`}},
		{"its own namespace", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.kubernetes.namespace": "team"}
		}, nil},
		{"templates by file", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.podTemplateFile": "/etc/passwd"}
		}, []string{"spec.sparkConf[spark.kubernetes.driver.podTemplateFile]|use spec.driver.template"}},
		{"two kinds of node selector", func(a *v1beta2.SparkApplication) {
			a.Spec.NodeSelector = map[string]string{"a": "b"}
			a.Spec.Executor.NodeSelector = map[string]string{"c": "d"}
		}, []string{"spec.nodeSelector|spec.executor.nodeSelector"}},
		{"a template that is none", func(a *v1beta2.SparkApplication) {
			a.Spec.Driver.Template = template(`{"spec":{"containers":"none"}}`)
			a.Spec.Executor.Template = template(`{"spec":{"containers":[{"name":"x"}]}}`)
		}, []string{"spec.driver.template.spec.containers|is the text \"none\", not a list"}},
		{"fields switched off", func(a *v1beta2.SparkApplication) {
			a.Spec.BatchScheduler = new("")
			a.Spec.Monitoring = &v1beta2.MonitoringSpec{MetricsProperties: new(""), PrometheusServlet: new(false)}
		}, nil},
		{"a budget of the driver", func(a *v1beta2.SparkApplication) { a.Spec.DriverPodDisruptionBudget = new(true) }, nil},
		{"client mode", func(a *v1beta2.SparkApplication) { a.Spec.Mode = v1beta2.DeployModeClient }, nil},
		{"a mode that is none", func(a *v1beta2.SparkApplication) { a.Spec.Mode = v1beta2.DeployModeInClusterClient },
			[]string{"spec.mode|use cluster"}},
		{"addresses of an API server, and none",
			func(a *v1beta2.SparkApplication) { a.Spec.Driver.KubernetesMaster = new("https://api:6443") }, nil},
		{"an address as spark-submit takes it",
			func(a *v1beta2.SparkApplication) { a.Spec.Driver.KubernetesMaster = new("k8s://https://api:6443") }, nil},
		{"a driver without executors",
			func(a *v1beta2.SparkApplication) { a.Spec.Driver.KubernetesMaster = new("local[*]") }, nil},
		{"another master", func(a *v1beta2.SparkApplication) { a.Spec.Driver.KubernetesMaster = new("spark://master:7077") },
			[]string{"spec.driver.kubernetesMaster|https://kubernetes.default.svc"}},
		{"executors whose limit is below their request", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Cores, a.Spec.Executor.CoreLimit = new(int32(2)), new("1500m")
		}, []string{"spec.executor.coreLimit|below the request"}},
		{"executors whose request is lowered too", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Cores, a.Spec.Executor.CoreRequest, a.Spec.Executor.CoreLimit = new(int32(2)), new("1"),
				new("1500m")
		}, nil},
		{"executors' mounts that meet", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConfigMap = new("conf")
			a.Spec.Volumes = []corev1.Volume{{Name: "v"}}
			e := &a.Spec.Executor
			e.ConfigMaps = []v1beta2.NamePath{{Name: "c", Path: "/etc/spark/conf"}, {Name: "d", Path: "/d"}}
			e.Secrets = []v1beta2.SecretInfo{{Name: "s", Path: "/d"}, {Name: "s", Path: "/d/"}}
			e.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/opt/spark/conf"},
				{Name: "v", MountPath: "/opt/spark/conf/x"}}
		}, []string{"spec.executor.configMaps[0].path|spec.sparkConfigMap", "spec.executor.secrets[1].path|ConfigMap d",
			"spec.executor.volumeMounts[0].mountPath|Spark's own configuration"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "team"}}
			tc.edit(app)
			got := Spec(app)

			var fields, wantFields []string
			for _, e := range got {
				fields = append(fields, e.Field)
			}

			for i, w := range tc.want {
				field, says, _ := strings.Cut(w, "|")
				wantFields = append(wantFields, field)

				if i < len(got) && !strings.Contains(got[i].Message, says) {
					t.Errorf("%s says %q, want %q in it", got[i].Field, got[i].Message, says)
				}
			}

			if diff := cmp.Diff(wantFields, fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTypeWarnings(t *testing.T) {
	for _, tc := range []struct {
		says v1beta2.SparkApplicationType
		file string
		warn bool
	}{
		{v1beta2.SparkApplicationTypeJava, "local:///a.jar", false},
		{v1beta2.SparkApplicationTypeScala, "local:///a.jar", false},
		{v1beta2.SparkApplicationTypePython, "local:///a.py", false},
		{v1beta2.SparkApplicationTypeR, "local:///a.R", false},
		{v1beta2.SparkApplicationTypeR, "local:///a.r", false},
		{v1beta2.SparkApplicationTypePython, "local:///a.zip", false},
		{"", "local:///a.py", false},
		{v1beta2.SparkApplicationTypePython, "local:///a.jar", true},
		{v1beta2.SparkApplicationTypeScala, "local:///a.py", true},
		{v1beta2.SparkApplicationTypeJava, "local:///a.r", true},
	} {
		app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
			a.Spec.Type, a.Spec.MainApplicationFile = tc.says,
				tc.file
		})

		got := TypeWarnings(&app.Spec)
		if (len(got) > 0) != tc.warn || tc.warn && !strings.Contains(got[0], "spec.type is "+string(tc.says)) {
			t.Errorf("%s of %s: %q", tc.file, tc.says, got)
		}
	}
}

func TestValidSizes(t *testing.T) {
	for _, tc := range []struct {
		field string
		set   func(*v1beta2.SparkApplicationSpec, *string)
		good  []string
		bad   []string
	}{
		{"spec.driver.memory", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.Memory = v },
			[]string{"512m", "1g", "1024", "4GB", "${env:MEMORY}", ""}, []string{"lots", "1.5g", "-1g", "0", "2Gi"}},
		{"spec.executor.memoryOverhead",
			func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.MemoryOverhead = v },
			[]string{"384m", "1024", "0"}, []string{"much", "10%"}},
		{"spec.executor.memoryLimit", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.MemoryLimit = v },
			[]string{"2g", "2Gi"}, []string{"x"}},
		{"spec.executor.coreRequest", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.CoreRequest = v },
			[]string{"500m", "2", "0.5", "0", "0m", ".0"}, []string{"a few", "k", "-0", "-1"}},
		{"spec.driver.coreLimit", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.CoreLimit = v },
			[]string{"1200m"}, []string{"1 core"}},
		{"spec.memoryOverheadFactor", func(s *v1beta2.SparkApplicationSpec, v *string) { s.MemoryOverheadFactor = v },
			[]string{"0.2", "1", "0", "0.0"}, []string{"20%", "NaN", "-0", "-1"}},
	} {
		t.Run(tc.field, func(t *testing.T) {
			check := func(value string) []*dialect.FieldError {
				return Spec(sparkapp.Sample(func(a *v1beta2.SparkApplication) { tc.set(&a.Spec, &value) }))
			}
			for _, value := range tc.good {
				if wrong := check(value); len(wrong) > 0 {
					t.Errorf("%q is refused: %v", value, wrong)
				}
			}

			for _, value := range tc.bad {
				if wrong := check(value); len(wrong) != 1 || wrong[0].Field != tc.field {
					t.Errorf("%q: %v", value, wrong)
				}
			}
		})
	}
}
