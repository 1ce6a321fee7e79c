package controller

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// TestPolicyOfTheDocs: what docs/ui.md shows bounds what applications ask to be exposed, and lets all others pass.
func TestPolicyOfTheDocs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page, err := os.ReadFile("../../docs/ui.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := bytes.Cut(page, []byte("```yaml\napiVersion: admissionregistration.k8s.io/v1\n"))
	text, _, _ = bytes.Cut(append([]byte("apiVersion: admissionregistration.k8s.io/v1\n"), text...), []byte("```"))
	first, second, _ := bytes.Cut(text, []byte("---\n"))
	policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
	if err := errors.Join(yaml.UnmarshalStrict(first, policy), yaml.UnmarshalStrict(second, binding)); err != nil {
		t.Fatal(err)
	}
	// Other tests share the API server.
	policy.Name, binding.Name, binding.Spec.PolicyName = w.namespace, w.namespace, w.namespace
	binding.Spec.MatchResources = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
	}
	for _, object := range []client.Object{policy, binding} {
		w.create(object)
		t.Cleanup(func() { _ = w.api.Delete(context.Background(), object) })
	}
	entry := func(change func(*v1beta2.DriverIngressConfiguration)) func(*v1beta2.SparkApplication) {
		return func(app *v1beta2.SparkApplication) {
			e := v1beta2.DriverIngressConfiguration{ServicePort: new(int32(9999)), ServicePortName: new("events"), IngressURLFormat: "spark.example.com/{{$appNamespace}}/{{$appName}}/events"}
			change(&e)
			app.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{e}
		}
	}
	refused := func(name string, change func(*v1beta2.SparkApplication)) error {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("spark"), MainApplicationFile: "local:///a.jar",
		}}
		withDriver(app)
		change(app)
		return w.api.Create(t.Context(), app, client.DryRunAll)
	}
	stranger := entry(func(e *v1beta2.DriverIngressConfiguration) { e.IngressURLFormat = "other.example.com/a" })
	testkit.Wait(t, "the policy", func(context.Context) error {
		if refused("pi", stranger) == nil {
			return errors.New("another host is let through")
		}
		return nil
	})
	for name, change := range map[string]func(*v1beta2.SparkApplication){
		"annotations": entry(func(e *v1beta2.DriverIngressConfiguration) { e.IngressAnnotations = map[string]string{"a": "b"} }),
		"annotations-of-the-ui": func(app *v1beta2.SparkApplication) {
			app.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{IngressAnnotations: map[string]string{"a": "b"}}
		},
	} {
		if refused(name, change) == nil {
			t.Errorf("%s: let through", name)
		}
	}
	for name, change := range map[string]func(*v1beta2.SparkApplication){
		"plain": func(*v1beta2.SparkApplication) {}, "below-its-own-path": entry(func(*v1beta2.DriverIngressConfiguration) {}),
		"ui": func(app *v1beta2.SparkApplication) {
			app.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80))}
		},
	} {
		if err := refused(name, change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
