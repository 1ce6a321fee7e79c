package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// settings are the fields of the operator's configuration file that doctor reads.
type settings struct {
	Namespaces struct {
		Names    []string `json:"names"`
		Selector string   `json:"selector"`
	} `json:"namespaces"`
	DynamicConfig struct {
		Enabled bool `json:"enabled"`
	} `json:"dynamicConfig"`
	Webhook struct {
		BindAddress string `json:"bindAddress"`
		Executors   struct {
			Webhook bool `json:"webhook"`
		} `json:"executors"`
	} `json:"webhook"`
}

// settingsOf reads an operator's configuration file. It returns nil if the operator was installed without the chart, or
// adds a finding to the given check if the file cannot be read.
func (d *doctor) settingsOf(ctx context.Context, o *Operator, check string) *settings {
	var stored corev1.ConfigMap
	err := d.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, &stored)
	if apierrors.IsNotFound(err) {
		return nil
	}
	found, asJSON := &settings{}, []byte(nil)
	if err == nil {
		_, asJSON, err = podtemplate.ReadYAML([]byte(stored.Data["config.yaml"]))
	}
	if err == nil {
		err = utiljson.Unmarshal(asJSON, found)
	}
	if err != nil {
		d.unchecked(check, fmt.Errorf("the ConfigMap of %s: %w", o, d.Explain(err)))
		return nil
	}
	return found
}

// checkNamespaces checks that the operator has its rights in each namespace that its configuration names. The operator
// does not serve a namespace without them: the namespace was deleted, or its administrator has deleted the RoleBinding.
func (d *doctor) checkNamespaces(ctx context.Context, o *Operator) {
	found := d.settingsOf(ctx, o, "namespaces")
	if found == nil || found.Namespaces.Selector != "" || found.DynamicConfig.Enabled {
		return // the rights do not depend on the namespace
	}
	authorization, err := typedauthorizationv1.NewForConfig(d.Config())
	if err != nil {
		d.unchecked("namespaces", err)
		return
	}
	lost := 0
	for _, namespace := range found.Namespaces.Names {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			lost++ // in the command below, the name could be an option
			d.add(Warning, "namespaces", "", "the configuration of %s has the namespace %q, which is not a valid name", o, namespace)
			continue
		}
		review, err := authorization.LocalSubjectAccessReviews(namespace).Create(ctx, reviewOf(account{o.Namespace, o.account}, namespace, "list", "pods"), metav1.CreateOptions{})
		if err != nil {
			d.unchecked("namespaces", d.Explain(err))
			return
		}
		if review.Status.Allowed {
			continue
		}
		lost++
		d.add(Error, "namespaces", terminal.Commandf("kubectl get namespace %s && helm upgrade %s charts/spark-operator -n %s --reset-then-reuse-values", namespace, cmp.Or(o.Release, "spark-operator"), o.Namespace),
			"%s does not serve the namespace %s: it may not list pods there, because the namespace or the operator's RoleBinding in it is gone; "+
				"create it again with helm upgrade, or remove the namespace from spark.jobNamespaces", o, namespace)
	}
	if lost == 0 && len(found.Namespaces.Names) > 0 {
		d.add(OK, "namespaces", "", "%s has rights in its namespaces: %s", o, strings.Join(found.Namespaces.Names, ", "))
	}
}

// reviewOf returns a request whether a service account has a right in a namespace.
func reviewOf(a account, namespace, verb, resource string) *authorizationv1.LocalSubjectAccessReview {
	return &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + a.namespace + ":" + a.name,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + a.namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: resource},
		},
	}
}
