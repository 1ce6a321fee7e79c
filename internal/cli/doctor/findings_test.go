package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// certificate returns a PEM certificate that is valid for the given time.
func certificate(t *testing.T, left time.Duration) []byte {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(left)}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestCertificates checks the findings about the certificates with which the API server verifies a webhook.
func TestCertificates(t *testing.T) {
	old, soon, good := certificate(t, -time.Minute), certificate(t, time.Hour), certificate(t, 30*24*time.Hour)
	for _, test := range []struct {
		bundle []byte
		level  findings.Level
		text   string
	}{
		{nil, findings.Error, "trusts no certificate"}, {old, findings.Error, "expired"}, {append(old, soon...), findings.Warning, "expires on"},
		{append(old, good...), findings.OK, "is trusted until"},
		{[]byte("no certificate"), findings.Error, "trusts no certificate"},
	} {
		d := &doctor{}
		d.checkCertificates("w-admission", test.bundle, nil, findings.Error, "no manifest can be stored", "fix")

		if f := d.Findings[0]; f.Level != test.level || !strings.Contains(f.Text, test.text) ||
			(f.Fix == "") != (test.level == findings.OK) {
			t.Errorf("%+v, want %s with %q", f, test.level, test.text)
		}
	}
}

// TestOldDefinition checks that doctor reports a CustomResourceDefinition without the newest field.
func TestOldDefinition(t *testing.T) {
	kind := kinds.All[0]
	found := &definition{}
	found.Spec.Versions = []version{{Name: "v1beta2", Served: true}}
	d := &doctor{}
	d.checkDefinition(kind, found)
	found.Spec.Versions[0].Served = false
	d.checkDefinition(kind, found)

	if len(d.Findings) != 2 || d.Findings[0].Level != findings.Warning || !strings.Contains(d.Findings[0].Text, "is older") ||
		d.Findings[1].Level != findings.Error {
		t.Errorf("the findings are %+v", d.Findings)
	}
}

// TestMissingDefinition checks that a missing definition is an error only if an operator serves its kind, or may do so,
// and that the command for it switches the definitions of the group on. After the move from the kubeflow operator,
// doctor reported two errors whose command did nothing.
func TestMissingDefinition(t *testing.T) {
	serves, off, unread := serving("o"), serving("o"), serving("o")
	off.config.Apache.Enabled = new(false)
	unread.config = nil
	beside := serving("beside")
	beside.examined = false

	const text = "sparkapplications.spark.apache.org is not installed"
	const fix = "helm upgrade o charts/spark-operator -n spark-operator --reset-then-reuse-values --set crds.install=true,crds.apache.enable=true"

	for name, test := range map[string]struct {
		operators []Operator
		level     findings.Level
		text      string
		fix       terminal.Command
	}{
		"served":             {[]Operator{serves}, findings.Error, text, fix},
		"not served":         {[]Operator{off, beside}, findings.Note, text + ", and no examined operator serves it (controller.apache.enable is false)", ""},
		"served by a second": {[]Operator{off, serves}, findings.Error, text, "kubectl get crd -L app.kubernetes.io/instance sparkapplications.spark.apache.org"},
		"unknown":            {[]Operator{unread}, findings.Error, text, fix},
		"no operator": {nil, findings.Error, text,
			"kubectl get crd -L app.kubernetes.io/instance sparkapplications.spark.apache.org"},
	} {
		d := &doctor{operators: test.operators}
		d.reportMissing(kinds.ApacheApplication, "spark-operator/o")

		if f := d.Findings[0]; f.Level != test.level || f.Text != test.text || f.Fix != test.fix {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestWaiting checks which custom resources count as waiting for an operator.
func TestWaiting(t *testing.T) {
	old, young := metav1.NewTime(time.Now().Add(-time.Minute)), metav1.Now()

	app := func(change func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
		a := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Generation: 1, CreationTimestamp: old}}
		change(a)
		return a
	}
	for name, test := range map[string]struct {
		app  *v1beta2.SparkApplication
		want bool
	}{
		"new":           {app(func(*v1beta2.SparkApplication) {}), true},
		"young":         {app(func(a *v1beta2.SparkApplication) { a.CreationTimestamp = young }), false},
		"just edited":   {app(func(a *v1beta2.SparkApplication) { a.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &young}} }), false},
		"observed":      {app(func(a *v1beta2.SparkApplication) { a.Status.ObservedGeneration = 1 }), false},
		"being deleted": {app(func(a *v1beta2.SparkApplication) { a.DeletionTimestamp = &young }), false},
		"ended":         {app(func(a *v1beta2.SparkApplication) { a.Status.AppState.State = v1beta2.ApplicationStateCompleted }), false},
	} {
		if got := waits(test.app); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
