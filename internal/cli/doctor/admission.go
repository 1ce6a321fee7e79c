package doctor

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/trust"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// expiresSoon is the remaining validity of a certificate below which doctor warns. The operator replaces its own
// certificates much earlier.
const expiresSoon = 3 * 24 * time.Hour

// ownSuffix ends the names of this operator's webhook configurations. The kubeflow operator's names end in "-webhook".
const ownSuffix = "-admission"

// hooks is the configuration of one or more webhooks, of either kind.
type hooks struct {
	*metav1.ObjectMeta
	kind, effect string
	level        findings.Level
	client       admissionv1.WebhookClientConfig // of the first webhook
	bundles      [][]byte                        // of all webhooks
}

// belongsTo reports whether the configuration is that of an operator of this project.
func (h *hooks) belongsTo(o *Operator) bool {
	return !o.Other && strings.HasSuffix(h.Name, ownSuffix) && h.Labels[instanceLabel] == o.Release && (h.client.Service == nil || h.client.Service.Namespace == o.Namespace)
}

// checkAdmission checks the webhooks of this project's operators: that those exist that an operator's configuration
// needs, and that the API server reaches and trusts them. It also looks for webhooks that change pods, and whose
// operator is gone.
func (d *doctor) checkAdmission(ctx context.Context) {
	found, err := d.readHooks(ctx)
	if err != nil {
		d.unchecked("admission", d.Explain(err))
		return
	}

	for i := range d.operators {
		if o := &d.operators[i]; o.examined && !o.Other && o.config != nil {
			d.checkWanted(o, found)
		}
	}

	for i := range found {
		h := &found[i]

		at := slices.IndexFunc(d.operators, func(o Operator) bool { return h.belongsTo(&o) })
		switch own := strings.HasSuffix(h.Name, ownSuffix); {
		case at >= 0 && !d.operators[at].examined: // another team's
		case at >= 0:
			d.checkWebhook(ctx, &d.operators[at], h)
		case h.kind == mutating && d.operatorsKnown && (own || !d.otherServes()) && !d.answered(ctx, h.client.Service):
			d.Add(findings.Warning, "admission", terminal.Commandf("kubectl delete mutatingwebhookconfiguration %s", h.Name),
				"the webhook %s still changes pods or applications, but the operator to which it belongs is not running", h.Name)
		}
	}
}

const (
	validating    = "ValidatingWebhookConfiguration"
	mutating      = "MutatingWebhookConfiguration"
	instanceLabel = "app.kubernetes.io/instance"
)

// readHooks reads the webhook configurations of all Spark operators.
func (d *doctor) readHooks(ctx context.Context) (found []hooks, err error) {
	var validators admissionv1.ValidatingWebhookConfigurationList
	if err := d.WithWatch.List(ctx, &validators, ofOperators); err != nil {
		return nil, err
	}

	var mutators admissionv1.MutatingWebhookConfigurationList
	if err := d.WithWatch.List(ctx, &mutators, ofOperators); err != nil {
		return nil, err
	}

	for i := range validators.Items {
		c := &validators.Items[i]
		if len(c.Webhooks) == 0 {
			continue
		}

		h := hooks{&c.ObjectMeta, validating, "manifests are stored without validation", findings.Warning, c.Webhooks[0].ClientConfig, nil}
		for i := range c.Webhooks {
			h.bundles = append(h.bundles, c.Webhooks[i].ClientConfig.CABundle)
		}

		if policy := c.Webhooks[0].FailurePolicy; policy != nil && *policy == admissionv1.Fail {
			h.level, h.effect = findings.Error, "no manifest can be stored"
		}

		found = append(found, h)
	}

	for i := range mutators.Items {
		if c := &mutators.Items[i]; len(c.Webhooks) > 0 {
			call := c.Webhooks[0].ClientConfig
			found = append(found, hooks{&c.ObjectMeta, mutating, "executors with settings that Spark overwrites cannot be created", findings.Error, call, [][]byte{call.CABundle}})
		}
	}
	return found, nil
}

// checkWanted checks that the webhook configurations exist that an operator's configuration file needs.
func (d *doctor) checkWanted(o *Operator, found []hooks) {
	need := func(kind, lost string) {
		if !slices.ContainsFunc(found, func(h hooks) bool { return h.kind == kind && h.belongsTo(o) }) {
			d.Add(findings.Error, "admission", upgrade(o, "webhook.enable=true"), "%s serves a webhook, but its %s is missing, so %s", o, kind, lost)
		}
	}

	const late = "errors in manifests are reported only in the status"
	if o.config.Webhook.BindAddress == config.Off {
		d.Add(findings.Note, "admission", upgrade(o, "webhook.enable=true"), "no webhook of %s validates manifests, so %s", o, late)
		return
	}

	need(validating, late)

	if o.config.Webhook.Executors.Webhook {
		need(mutating, "executors silently lack the settings that Spark overwrites")
	}
}

// answered reports whether a pod of any operator answers a webhook's Service. It also returns true if that is unknown.
func (d *doctor) answered(ctx context.Context, service *admissionv1.ServiceReference) bool {
	if service == nil {
		return true
	}

	var list discoveryv1.EndpointSliceList
	err := d.WithWatch.List(ctx, &list, client.InNamespace(service.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	return err != nil || slices.ContainsFunc(list.Items, func(s discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready })
	})
}

func (d *doctor) otherServes() bool {
	return slices.ContainsFunc(d.operators, func(o Operator) bool { return o.Other && o.Wanted > 0 })
}

// checkWebhook checks the Service and the certificates of an operator's webhook.
func (d *doctor) checkWebhook(ctx context.Context, o *Operator, h *hooks) {
	service := h.client.Service
	if service == nil {
		d.Add(findings.OK, "admission", "", "%s %s calls %s", h.kind, h.Name, *h.client.URL)
		return
	}

	restart := terminal.Commandf("kubectl -n %s rollout restart deployment %s", o.Namespace, o.Name)

	switch err := d.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: service.Name}, &corev1.Service{}); {
	case apierrors.IsNotFound(err):
		d.Add(h.level, "admission", upgrade(o, "webhook.enable=true"), "%s %s calls the Service %s/%s, which does not exist, so %s", h.kind, h.Name, service.Namespace, service.Name, h.effect)
		return
	case err != nil:
		d.unchecked("admission", d.Explain(err))
	case o.Ready == 0:
		d.Add(h.level, "admission", restart, "no operator answers %s %s, so %s", h.kind, h.Name, h.effect)
	default:
		d.Add(findings.OK, "admission", "", "%s %s calls %s/%s", h.kind, h.Name, service.Namespace, service.Name)
	}

	serving := d.servingCertificate(ctx, o)

	slices.SortFunc(h.bundles, bytes.Compare)

	for _, bundle := range slices.CompactFunc(h.bundles, bytes.Equal) {
		d.checkCertificates(h.kind+" "+h.Name, bundle, serving, h.level, h.effect, restart)
	}
}

// servingCertificate returns the certificate in PEM with which an operator serves its webhook, from the Secret that the
// operator issues. It returns nil if there is none, or if the user may not read it.
func (d *doctor) servingCertificate(ctx context.Context, o *Operator) []byte {
	var secret corev1.Secret
	if o.config != nil && o.config.Webhook.SelfSigned.Secret != "" {
		_ = d.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.config.Webhook.SelfSigned.Secret}, &secret)
	}
	return secret.Data[corev1.TLSCertKey]
}

// checkCertificates checks the certificates with which the API server verifies a webhook, and that they verify the
// certificate with which the operator serves it, if this is known.
func (d *doctor) checkCertificates(name string, bundle, serving []byte, level findings.Level, effect string, fix terminal.Command) {
	trusted := trust.Read(bundle)
	left, last, untrusted := time.Until(trusted.Until), trusted.Until.UTC(), trusted.Verify(serving)

	switch {
	case trusted.Roots == 0:
		d.Add(level, "certificates", fix, "the API server trusts no certificate of %s (caBundle is empty), so %s", name, effect)
	case left <= 0:
		d.Add(level, "certificates", fix, "all certificates of %s expired, the last one on %s, so %s", name, last.Format(time.DateOnly), effect)
	case untrusted != nil:
		d.Add(level, "certificates", fix, "the API server does not trust the certificate with which the operator serves %s (%v), so %s", name, untrusted, effect)
	case left < expiresSoon:
		d.Add(findings.Warning, "certificates", fix, "the last certificate of %s expires on %s", name, last.Format(time.RFC3339))
	default:
		d.Add(findings.OK, "certificates", "", "%s is trusted until %s", name, last.Format(time.DateOnly))
	}
}
