package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/yaml"
)

// readYAML decodes a YAML text case-sensitively.
func readYAML(text string, into any) error {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(asJSON, into)
}

// settings are the fields of the operator's configuration file that doctor reads.
type settings struct {
	Namespaces struct {
		Names    []string `json:"names"`
		Selector string   `json:"selector"`
	} `json:"namespaces"`
	DynamicConfig struct {
		Enabled bool `json:"enabled"`
	} `json:"dynamicConfig"`
}

// checkNamespaces checks that the operator has its rights in each namespace that its configuration names. The operator
// does not serve a namespace without them: the namespace was deleted, or its administrator has deleted the RoleBinding.
func (d *doctor) checkNamespaces(ctx context.Context, o *Operator) {
	core, err := typedcorev1.NewForConfig(d.Config())
	if err != nil {
		d.unchecked("namespaces", err)
		return
	}
	authorization, err := typedauthorizationv1.NewForConfig(d.Config())
	if err != nil {
		d.unchecked("namespaces", err)
		return
	}
	file, err := core.ConfigMaps(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	var found settings
	if err == nil {
		err = readYAML(file.Data["config.yaml"], &found)
	}
	switch {
	case apierrors.IsNotFound(err): // installed without the chart
		return
	case err != nil:
		d.unchecked("namespaces", d.Explain(err))
		return
	case found.Namespaces.Selector != "" || found.DynamicConfig.Enabled:
		return // the rights do not depend on the namespace
	}
	lost := 0
	for _, namespace := range found.Namespaces.Names {
		review, err := authorization.LocalSubjectAccessReviews(namespace).Create(ctx, reviewOf(account{o.Namespace, o.account}, namespace, "list", "pods"), metav1.CreateOptions{})
		if err != nil {
			d.unchecked("namespaces", d.Explain(err))
			return
		}
		if review.Status.Allowed {
			continue
		}
		lost++
		d.add(Error, "namespaces", fmt.Sprintf("kubectl get namespace %s && helm upgrade %s charts/spark-operator -n %s --reset-then-reuse-values", namespace, cmp.Or(o.Release, "spark-operator"), o.Namespace),
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
