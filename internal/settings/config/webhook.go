package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Webhook configures admission. The operator does not depend on the validating webhook, because each pass checks every
// spec again.
type Webhook struct {
	// BindAddress is the address, as host:port, at which every replica serves the webhook over TLS. Default "0": off.
	// The chart sets ":9443".
	BindAddress string `json:"bindAddress,omitempty"`
	// CertDir is a directory with the files tls.crt and tls.key, such as a mounted Secret of cert-manager. They are
	// read again when they change. Either CertDir or SelfSigned is required with BindAddress.
	CertDir string `json:"certDir,omitempty"`
	// SelfSigned lets the operator issue and rotate the certificate. Default: it does not.
	SelfSigned SelfSigned `json:"selfSigned,omitzero"`
	// ShutdownDelay is how long a replica serves the webhook after SIGTERM. The API server may call the replica until it
	// has observed that the replica is not ready. Default 5s.
	ShutdownDelay metav1.Duration `json:"shutdownDelay,omitzero"`
	// ResourceQuotaEnforcement lets the webhook reject custom resources whose pods can never fit the ResourceQuotas of
	// their namespace.
	ResourceQuotaEnforcement ResourceQuotaEnforcement `json:"resourceQuotaEnforcement,omitzero"`
	// Executors configures the changes of executors' pods at admission, for fields that Spark overwrites.
	Executors ExecutorAdmission `json:"executors,omitzero"`
	// Pods configures which pods are judged by the rules of the policy when the API server admits them.
	Pods PodAdmission `json:"pods,omitzero"`
}

// ResourceQuotaEnforcement configures whether the webhook compares custom resources with the ResourceQuotas of their
// namespaces. Passes do not compare them, because the API server checks the quotas when it creates a pod.
type ResourceQuotaEnforcement struct {
	// Enabled makes the webhook reject a custom resource if its pods alone exceed a quota of the namespace. The operator
	// then needs the rights to list and watch ResourceQuotas. Default: false.
	Enabled bool `json:"enabled,omitempty"`
}

// ExecutorAdmission says which admission objects change executor pods in this cluster. The chart installs these objects
// and sets the fields to match. If a field is set without its object, executor pods stay unchanged, and the operator
// reports no error.
type ExecutorAdmission struct {
	// Webhook means that the API server sends the pods with the label sparkoperator.dev/executor-overlay: webhook to the
	// webhook, which then must be on (bindAddress). With selfSigned, the MutatingWebhookConfiguration has the name
	// selfSigned.configuration and gets the certificate too. Default false.
	Webhook bool `json:"webhook,omitempty"`
	// Policy means that a MutatingAdmissionPolicy changes the pods with the label sparkoperator.dev/executor-overlay:
	// policy. It is used for applications that need only executor.memoryLimit and executor.gpu. Default false.
	Policy bool `json:"policy,omitempty"`
}

// PodAdmission describes which admission objects in this cluster judge pods by the section policy. The chart installs
// these objects and sets the fields to match. Without any of them, a program in a driver can create pods that the rules
// forbid, and the operator logs this at its start.
type PodAdmission struct {
	// Webhook means that the API server sends pods to the webhook, which then must be on (bindAddress). The operator then
	// needs the right to get PriorityClasses. Default false.
	Webhook bool `json:"webhook,omitempty"`
	// Policy means that ValidatingAdmissionPolicies judge the rules that they can express. Default false.
	Policy bool `json:"policy,omitempty"`
}

// SelfSigned configures a certificate that the operator issues. The Secret and the ValidatingWebhookConfiguration must
// exist, and the operator needs the right to get and update them.
type SelfSigned struct {
	// Secret is the name of the Secret with the certificate and its key.
	Secret string `json:"secret,omitempty"`
	// Configuration is the name of the ValidatingWebhookConfiguration that gets the certificate as its caBundle. With
	// executors.webhook, the MutatingWebhookConfiguration of this name gets it too.
	Configuration string `json:"configuration,omitempty"`
	// Service is the name of the Service through which the API server calls the webhook.
	Service string `json:"service,omitempty"`
	// Namespace is the namespace of the Secret and the Service. Default: identity.namespace.
	Namespace string `json:"namespace,omitempty"`
	// Lifetime is the lifetime of a certificate. The operator replaces a certificate when a third of its lifetime is
	// left. Default 2160h, which is 90 days.
	Lifetime metav1.Duration `json:"lifetime,omitzero"`
}

// minCertificateLifetime is the shortest accepted lifetime of a certificate. Within this lifetime, all API servers and
// replicas must be able to switch to the next certificate.
const minCertificateLifetime = time.Minute

func (w *Webhook) applyDefaults(operatorNamespace string) {
	setDefault(&w.BindAddress, Off)
	setDefault(&w.SelfSigned.Namespace, operatorNamespace)
	setDefault(&w.SelfSigned.Lifetime.Duration, 90*24*time.Hour)
	setDefault(&w.ShutdownDelay.Duration, 5*time.Second)
}

func validateWebhook(c *Configuration) (errs field.ErrorList) {
	path, w := field.NewPath("webhook"), &c.Webhook
	if w.BindAddress == Off {
		for _, needs := range []struct {
			on   bool
			path *field.Path
		}{
			{w.ResourceQuotaEnforcement.Enabled, path.Child("resourceQuotaEnforcement", "enabled")}, {w.Executors.Webhook, path.Child("executors", "webhook")},
			{w.Pods.Webhook, path.Child("pods", "webhook")},
		} {
			if needs.on {
				errs = append(errs, field.Forbidden(needs.path, "needs the webhook; set webhook.bindAddress, or set this field to false"))
			}
		}
		return errs
	}

	errs = positive(path.Child("shutdownDelay"), w.ShutdownDelay)

	self := path.Child("selfSigned")
	switch {
	case w.CertDir != "" && w.SelfSigned.Secret != "":
		errs = append(errs, field.Forbidden(path.Child("certDir"), "cannot be set together with selfSigned.secret; leave one of the two out"))
	case w.CertDir != "":
		return errs
	case w.SelfSigned.Secret == "":
		return append(errs, field.Required(path.Child("certDir"), "set certDir or selfSigned, or switch the webhook off with bindAddress \"0\""))
	}

	for _, name := range []struct{ child, value string }{
		{"configuration", w.SelfSigned.Configuration}, {"service", w.SelfSigned.Service}, {"namespace", w.SelfSigned.Namespace},
	} {
		if name.value == "" {
			errs = append(errs, field.Required(self.Child(name.child), "must be set, because selfSigned.secret is set"))
		}
	}

	if lifetime := w.SelfSigned.Lifetime.Duration; lifetime < minCertificateLifetime {
		errs = append(errs, field.Invalid(self.Child("lifetime"), lifetime.String(), "must be "+minCertificateLifetime.String()+" or more"))
	}
	return errs
}
