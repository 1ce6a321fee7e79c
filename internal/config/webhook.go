package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// Webhook configures the validating admission webhook. Nothing depends on it: a pass checks every spec again.
type Webhook struct {
	// BindAddress as host:port, where every replica serves the webhook by TLS. Default "0": off. The chart sets
	// ":9443".
	BindAddress string `json:"bindAddress,omitempty"`
	// CertDir is a directory with the files tls.crt and tls.key, such as a mounted Secret of cert-manager. They are
	// read again when they change. Required with BindAddress.
	CertDir string `json:"certDir,omitempty"`
}

func (w *Webhook) applyDefaults() { setDefault(&w.BindAddress, Off) }

func validateWebhook(c *Configuration) (errs field.ErrorList) {
	path, w := field.NewPath("webhook"), &c.Webhook
	if w.BindAddress != Off && w.CertDir == "" {
		errs = append(errs, field.Required(path.Child("certDir"), "the directory with the webhook's certificate; or switch the webhook off with bindAddress \"0\""))
	}
	return errs
}
