package doctor

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestAccounts checks which service account of a driver doctor examines: that of the field, of Spark's property, or of
// the pod template, in the order in which the operator applies them.
func TestAccounts(t *testing.T) {
	template := func(spec string) *runtime.RawExtension {
		return &runtime.RawExtension{Raw: []byte(`{"spec":` + spec + `}`)}
	}
	conf := map[string]string{"spark.kubernetes.authenticate.driver.serviceAccountName": "conf"}
	app := func(account *string, conf map[string]string, template *runtime.RawExtension) client.Object {
		a := &v1beta2.SparkApplication{Spec: v1beta2.SparkApplicationSpec{SparkConf: conf}}
		a.Spec.Driver.ServiceAccount, a.Spec.Driver.Template = account, template
		return a
	}

	named := template(`{"serviceAccountName":"template"}`)
	for name, test := range map[string]struct {
		object client.Object
		want   string
	}{
		"field":            {app(new("field"), conf, named), "field"},
		"property":         {app(nil, conf, named), "conf"},
		"template":         {app(new(""), nil, named), "template"},
		"deprecated field": {app(nil, nil, template(`{"serviceAccount":"old"}`)), "old"},
		"property of no use": {app(nil, map[string]string{"spark.kubernetes.authenticate.serviceAccountName": "x"},
			nil), "default"},
		"broken template": {app(nil, nil, template(`[]`)), "default"},
		"schedule": {&v1beta2.ScheduledSparkApplication{Spec: v1beta2.ScheduledSparkApplicationSpec{
			Template: app(nil, nil, named).(*v1beta2.SparkApplication).Spec,
		}}, "template"},
		"server":             {&v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkConf: conf}}, "conf"},
		"apache, no driver":  {&sparkv1.SparkApplication{Spec: sparkv1.ApplicationSpec{SparkConf: conf}}, "conf"},
		"apache, by nothing": {&sparkv1.SparkApplication{}, "default"},
	} {
		d := &doctor{objects: []client.Object{test.object}}
		if got := d.accounts(); len(got) != 1 || got[0].Name != test.want {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
	}
}

// TestUnknownIsNotNone checks that doctor claims nothing about applications that it could not read.
func TestUnknownIsNotNone(t *testing.T) {
	d := &doctor{groups: map[string]bool{"kueue.x-k8s.io": true}}
	d.checkAccounts(t.Context())
	d.checkSchedulers()

	for _, f := range d.Findings {
		if strings.Contains(f.Text, "no applications") || strings.Contains(f.Text, "0 objects") {
			t.Errorf("%+v", f)
		}
	}
}

// TestOperatorOf checks what doctor reads from the Deployments of operators.
func TestOperatorOf(t *testing.T) {
	const kubeflow = "ghcr.io/kubeflow/spark-operator/controller:2.3.0"
	for name, test := range map[string]struct {
		image, version string
		args           []string
		want           config.Namespaces
	}{
		"tag":            {"r/spark-operator:1.2", "1.2", nil, config.Namespaces{}},
		"tag and digest": {"r:5000/spark-operator:1.2@sha256:0123", "1.2", nil, config.Namespaces{}},
		"digest":         {"r:5000/spark-operator@sha256:0123", "unknown", nil, config.Namespaces{}},
		"kubeflow":       {kubeflow, "2.3.0", nil, config.Namespaces{}},
		"of two namespaces": {kubeflow, "2.3.0", []string{"--namespaces=a,b"},
			config.Namespaces{Names: []string{"a", "b"}}},
		"of all": {kubeflow, "2.3.0", []string{`--namespaces=""`}, config.Namespaces{}},
		"of labels": {kubeflow, "2.3.0", []string{`--namespaces=""`, "--namespace-selector=team=a"},
			config.Namespaces{Selector: "team=a"}},
		"of all by a name": {kubeflow, "2.3.0", []string{`--namespaces=,a`, "--namespace-selector=team=a"},
			config.Namespaces{}},
	} {
		deployment := &appsv1.Deployment{} // without a selector, as no API server stores it
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Image: test.image, Args: test.args}}

		o, ok := operatorOf(deployment)
		if !ok || o.Version != test.version {
			t.Errorf("%s: %t, version %q", name, ok, o.Version)
		}

		if o.config != nil && !reflect.DeepEqual(o.config.Namespaces, test.want) {
			t.Errorf("%s: %+v", name, o.config.Namespaces)
		}
	}
}

// TestComponentsBesideOperators checks that Deployments with an operator's labels that are no operators are left out.
func TestComponentsBesideOperators(t *testing.T) {
	for component, want := range map[string]bool{"": true, "controller": true, "webhook": false, "history-server": false, "console": false} {
		deployment := &appsv1.Deployment{}
		deployment.Labels = map[string]string{"app.kubernetes.io/component": component}
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Image: "image:1"}}

		if _, got := operatorOf(deployment); got != want {
			t.Errorf("%q is an operator: %t, want %t", component, got, want)
		}
	}
}

// serving returns an operator with a configuration.
func serving(name string, namespaces ...string) Operator {
	c := config.Default()
	c.Namespaces.Names = namespaces
	return Operator{Namespace: "spark-operator", Name: name, Release: name, Wanted: 1,
		Groups: []string{sparkGroup, apacheGroup}, config: &c, examined: true}
}

// TestExtend checks the command that lets an operator serve a namespace: it must not narrow an operator that serves all
// namespaces, and not repeat a namespace.
func TestExtend(t *testing.T) {
	for name, test := range map[string]struct {
		served []string
		want   terminal.Command
	}{
		"another": {[]string{"other"},
			"helm upgrade o charts/spark-operator -n spark-operator --reset-then-reuse-values --set 'spark.jobNamespaces={other,jobs}'"},
		"all namespaces": {nil, "kubectl get namespace jobs && helm upgrade o charts/spark-operator -n spark-operator --reset-then-reuse-values"},
		"the same": {[]string{"jobs"},
			"kubectl get namespace jobs && helm upgrade o charts/spark-operator -n spark-operator --reset-then-reuse-values"},
	} {
		if got := (&doctor{operators: []Operator{serving("o", test.served...)}}).extend("jobs"); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestOverlapOfOneNamespace checks that the finding about two operators gives the reason why no command changes one of
// them, and that a doubt never leads to such a command.
func TestOverlapOfOneNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		namespace string
		doubt     bool
		level     findings.Level
		fix, text string
	}{
		"user of one namespace": {"jobs", false, findings.Warning,
			"kubectl get deployments.apps -A -o wide -L app.kubernetes.io/instance",
			"agree with its owners first; sparkctl doctor -A has the command then"},
		"administrator": {"", false, findings.Warning, "helm upgrade b ",
			"remove it from the configuration of one of them"},
		"in doubt": {"", true, findings.Unknown, "kubectl get deployments.apps -A", "both serve"},
	} {
		a, b := serving("a", "jobs"), serving("b", "jobs", "more")
		b.Namespace, b.created = "elsewhere", metav1.Now()
		d := &doctor{namespace: test.namespace}
		d.checkOverlap(&a, &b, "jobs", test.doubt)

		if f := d.Findings[0]; f.Level != test.level || !strings.HasPrefix(string(f.Fix), test.fix) ||
			!strings.Contains(f.Text, test.text) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestOtherOperatorOnly checks that doctor does not deny the operator of another project, and does not advise to
// install a second operator beside it.
func TestOtherOperatorOnly(t *testing.T) {
	d := &doctor{namespace: "jobs",
		operators: []Operator{{Namespace: "theirs", Name: "controller", Other: true, Wanted: 1, examined: true}}}
	d.checkOperators(t.Context())

	if f := d.Findings[0]; len(d.Findings) != 1 || !strings.Contains(f.Text, "only theirs/controller") ||
		strings.HasPrefix(string(f.Fix), "helm") {
		t.Errorf("%+v", d.Findings)
	}
}

// TestCauseOf checks that a waiting custom resource is explained by a finding about its own operator and namespace.
func TestCauseOf(t *testing.T) {
	d := &doctor{}
	d.Add(findings.Error, "operator", "", "spark/op-2: no replica of version 1 is ready")
	d.Add(findings.Error, "namespaces", "", "no operator serves the namespace jobs-2, so nothing happens")
	d.Add(findings.Warning, "leader", "", "no replica of spark/op leads")
	d.Add(findings.Error, "namespaces", "", "spark/op does not serve the namespace jobs: it may not list pods")

	for name, test := range map[string]struct{ operator, namespace, want string }{
		"its operator and namespace": {"spark/op", "jobs",
			"spark/op does not serve the namespace jobs: it may not list pods"},
		"the operator":      {"spark/op-2", "jobs", "spark/op-2: no replica of version 1 is ready"},
		"no operator":       {"", "jobs-2", "no operator serves the namespace jobs-2, so nothing happens"},
		"another namespace": {"spark/op", "jobs-2", ""},
		"unknown namespace": {"", "job", ""},
	} {
		got := ""
		if f := d.causeOf(test.operator, test.namespace); f != nil {
			got = f.Text
		}

		if got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLease checks where doctor looks for the lease of the leader.
func TestLease(t *testing.T) {
	o := Operator{Namespace: "a", Name: "spark"}
	check := func(want string) {
		t.Helper()

		if namespace, name := o.lease(); namespace+"/"+name != want {
			t.Errorf("%s/%s, want %s", namespace, name, want)
		}
	}
	check("a/spark-lock")

	o.config = &config.Configuration{}

	check("a/spark-lock")

	o.config.LeaderElection.Namespace, o.config.LeaderElection.LeaseName = "b", "lease"

	check("b/lease")
}
