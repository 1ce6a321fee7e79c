package sparkoperator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

func TestValidate(t *testing.T) {
	template := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	for _, tc := range []struct {
		name string
		edit func(*v1beta2.SparkApplication)
		want []string // "field|part of the message"
	}{
		{"nothing wrong", func(*v1beta2.SparkApplication) {}, nil},
		{"a name that no Service may have", func(a *v1beta2.SparkApplication) { a.Name = "1pi" }, []string{"metadata.name|DNS-1035"}},
		{"denied keys, whatever their case", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.master": "local", "Spark.Kubernetes.Container.Image": "x", "spark.ok": "1"}
		}, []string{"spec.sparkConf[Spark.Kubernetes.Container.Image]|is not allowed: use spec.image", "spec.sparkConf[spark.master]|is not allowed"}},
		{"credentials of every kind", func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{
				"spark.kubernetes.authenticate.submission.oauthTokenFile":     "/var/run/secrets/token",
				"spark.kubernetes.authenticate.driver.oauthToken":             "t",
				"spark.kubernetes.authenticate.driver.serviceAccountName":     "admin",
				"spark.kubernetes.authenticate.driver.mounted.oauthTokenFile": "/in/the/pod",
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
		}, []string{"spec.driver.template|is not a pod template"}},
		{"submission by spark-submit", func(a *v1beta2.SparkApplication) {
			a.Spec.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionModeSparkSubmit}
		}, []string{"spec.submission.mode|use Native"}},
		{"what is not served yet", func(a *v1beta2.SparkApplication) {
			a.Spec.BatchScheduler = new("volcano")
			a.Spec.Monitoring = &v1beta2.MonitoringSpec{Prometheus: &v1beta2.PrometheusSpec{}, PrometheusServlet: new(true)}
			a.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{}
			a.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{}}
			a.Spec.DriverPodDisruptionBudget = new(true)
		}, []string{
			"spec.batchScheduler|not served", "spec.monitoring.prometheus|not served", "spec.monitoring.prometheusServlet|not served",
			"spec.sparkUIOptions|not served", "spec.driverIngressOptions|not served", "spec.driverPodDisruptionBudget|not served",
		}},
		{"the same fields switched off", func(a *v1beta2.SparkApplication) {
			a.Spec.BatchScheduler = new("")
			a.Spec.Monitoring = &v1beta2.MonitoringSpec{}
			a.Spec.DriverPodDisruptionBudget = new(false)
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "team"}}
			tc.edit(app)
			got := Validate(app)
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

func TestValidSizes(t *testing.T) {
	for _, tc := range []struct {
		field string
		set   func(*v1beta2.SparkApplicationSpec, *string)
		good  []string
		bad   []string
	}{
		{"spec.driver.memory", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.Memory = v },
			[]string{"512m", "1g", "1024", "4GB", "${env:MEMORY}", ""}, []string{"lots", "1.5g", "-1g", "0", "2Gi"}},
		{"spec.executor.memoryOverhead", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.MemoryOverhead = v },
			[]string{"384m", "1024", "0"}, []string{"much", "10%"}},
		{"spec.executor.memoryLimit", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.MemoryLimit = v },
			[]string{"2g", "2Gi"}, []string{"x"}},
		{"spec.executor.coreRequest", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Executor.CoreRequest = v },
			[]string{"500m", "2", "0.5"}, []string{"a few", "0", "-1"}},
		{"spec.driver.coreLimit", func(s *v1beta2.SparkApplicationSpec, v *string) { s.Driver.CoreLimit = v },
			[]string{"1200m"}, []string{"1 core"}},
		{"spec.memoryOverheadFactor", func(s *v1beta2.SparkApplicationSpec, v *string) { s.MemoryOverheadFactor = v },
			[]string{"0.2", "1"}, []string{"0", "20%", "NaN", "-1"}},
	} {
		t.Run(tc.field, func(t *testing.T) {
			check := func(value string) []*FieldError {
				return Validate(sample(func(a *v1beta2.SparkApplication) { tc.set(&a.Spec, &value) }))
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
