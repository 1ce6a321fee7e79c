package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook/quota"
)

// exceeded returns a fault for each resource for which the object's pods need more than a quota of the namespace
// allows. If it cannot read the quotas, it returns a warning instead, because the API server compares each pod with the
// quotas anyway.
func (r *Reviewer) exceeded(ctx context.Context, namespace string, cfg config.Configuration, labels map[string]string, old client.Object, review dialect.Review) (faults []*dialect.FieldError, warnings []string) {
	if r.Quotas == nil || review.Pods == nil {
		return nil, nil
	}

	quotas, err := r.Quotas(ctx, namespace)
	if err != nil {
		r.Log.Error(err, "Could not read the quotas for a review", "namespace", namespace)
		return nil, []string{"the object was not compared with the ResourceQuotas of its namespace, because the operator cannot look them up; the API server compares each pod with them when the pod is created"}
	}

	if len(quotas) == 0 {
		return nil, nil // saves the rendering of the pods
	}

	excess := quota.Exceeded(quotas, review.Pods())
	if len(excess) == 0 {
		return nil, nil
	}

	before := r.exceededBefore(cfg, labels, old, quotas)
	for _, e := range excess {
		if old, found := before[key{e.Quota, e.Resource}]; found && old.Needed.Cmp(e.Needed) >= 0 {
			continue
		}

		faults = append(faults, &dialect.FieldError{Field: "spec", Message: fmt.Sprintf(
			"can never run in this namespace: %s need %s of %s together, and the ResourceQuota %q allows %s in all; request less, or let an administrator raise the quota",
			e.Pods, e.Needed.String(), e.Resource, e.Quota, e.Hard.String())})
	}
	return faults, nil
}

// key identifies a resource of a quota.
type key struct {
	quota    string
	resource corev1.ResourceName
}

// exceededBefore returns the resources for which the object exceeded a quota before an update, with the amounts that it
// needed. An update that does not increase these amounts is admitted. Otherwise nobody could suspend an application
// after an administrator lowered its quota.
func (r *Reviewer) exceededBefore(cfg config.Configuration, labels map[string]string, old client.Object, quotas []corev1.ResourceQuota) map[key]quota.Excess {
	if old == nil {
		return nil // a creation
	}

	cfg.Policy.Rules, cfg.Policy.AllowSnippetAnnotations = nil, true // the pods count, whether a rule allows them or not

	review := r.Kind.Review(cfg, labels, old, r.Clock())
	if review.Pods == nil {
		return nil
	}

	before := map[key]quota.Excess{}
	for _, e := range quota.Exceeded(quotas, review.Pods()) {
		before[key{e.Quota, e.Resource}] = e
	}
	return before
}
