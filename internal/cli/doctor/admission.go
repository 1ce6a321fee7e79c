package doctor

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedadmissionv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// expiresSoon is the remaining validity of a certificate below which doctor warns. The operator replaces its own
// certificates much earlier.
const expiresSoon = 3 * 24 * time.Hour

// checkAdmission checks this operator's validating webhook and its certificates. It also looks for mutating webhooks of
// another operator that is not running.
func (d *doctor) checkAdmission(ctx context.Context) {
	admission, err := typedadmissionv1.NewForConfig(d.Config())
	if err != nil {
		d.unchecked("admission", err)
		return
	}
	selector := metav1.ListOptions{LabelSelector: operatorLabels}
	validating, err := admission.ValidatingWebhookConfigurations().List(ctx, selector)
	if err != nil {
		d.unchecked("admission", d.Explain(err))
		return
	}
	found := false
	for i := range validating.Items {
		configuration := &validating.Items[i]
		if !strings.HasSuffix(configuration.Name, "-admission") || len(configuration.Webhooks) == 0 {
			continue // a webhook of the kubeflow operator
		}
		found = true
		d.checkWebhook(ctx, configuration.Name, &configuration.Webhooks[0])
	}
	if !found && d.own() != nil {
		d.add(Note, "admission", d.upgrade("webhook.enable=true"), "no webhook validates manifests, so errors in manifests are reported only in the status")
	}
	mutating, err := admission.MutatingWebhookConfigurations().List(ctx, selector)
	if err != nil {
		d.unchecked("admission", d.Explain(err))
		return
	}
	for i := range mutating.Items {
		if !d.otherServes() {
			d.add(Warning, "admission", "kubectl delete mutatingwebhookconfiguration "+mutating.Items[i].Name,
				"the webhook %s still changes pods or applications, but the operator to which it belongs is not running", mutating.Items[i].Name)
		}
	}
}

func (d *doctor) otherServes() bool {
	for i := range d.operators {
		if d.operators[i].Other && d.operators[i].Wanted > 0 {
			return true
		}
	}
	return false
}

// checkWebhook checks the Service and the certificates of a webhook.
func (d *doctor) checkWebhook(ctx context.Context, name string, hook *admissionv1.ValidatingWebhook) {
	service := hook.ClientConfig.Service
	if service == nil {
		d.add(OK, "admission", "", "%s calls %s", name, *hook.ClientConfig.URL)
		return
	}
	restart := fmt.Sprintf("kubectl -n %s rollout restart deployment -l app.kubernetes.io/name=spark-operator", service.Namespace)
	if o := d.own(); o != nil {
		restart = fmt.Sprintf("kubectl -n %s rollout restart deployment %s", o.Namespace, o.Name)
	}
	level, effect := Warning, "manifests are stored without validation"
	if hook.FailurePolicy != nil && *hook.FailurePolicy == admissionv1.Fail {
		level, effect = Error, "no manifest can be stored"
	}
	core, err := typedcorev1.NewForConfig(d.Config())
	if err != nil {
		d.unchecked("admission", err)
		return
	}
	switch _, err := core.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		d.add(level, "admission", d.upgrade("webhook.enable=true"), "%s calls the Service %s/%s, which does not exist, so %s", name, service.Namespace, service.Name, effect)
		return
	case err != nil:
		d.unchecked("admission", d.Explain(err))
	case d.own() != nil && d.own().Ready == 0:
		d.add(level, "admission", restart, "no operator answers %s, so %s", name, effect)
	default:
		d.add(OK, "admission", "", "%s calls %s/%s", name, service.Namespace, service.Name)
	}
	d.checkCertificates(name, hook.ClientConfig.CABundle, level, effect, restart)
}

// checkCertificates checks the certificates with which the API server verifies a webhook.
func (d *doctor) checkCertificates(name string, bundle []byte, level Level, effect, fix string) {
	last, n := time.Time{}, 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		n++
		if certificate.NotAfter.After(last) {
			last = certificate.NotAfter
		}
	}
	left := time.Until(last)
	switch {
	case n == 0:
		d.add(level, "certificates", fix, "the API server trusts no certificate of %s (caBundle is empty), so %s", name, effect)
	case left <= 0:
		d.add(level, "certificates", fix, "all certificates of %s expired, the last one on %s, so %s", name, last.UTC().Format(time.DateOnly), effect)
	case left < expiresSoon:
		d.add(Warning, "certificates", fix, "the last certificate of %s expires on %s", name, last.UTC().Format(time.RFC3339))
	default:
		d.add(OK, "certificates", "", "%s is trusted until %s", name, last.UTC().Format(time.DateOnly))
	}
}
