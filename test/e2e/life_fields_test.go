package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// unsetFields lists the fields of driver and executor that testdata/life/fields.yaml does not set. The values are the
// reasons.
var unsetFields = map[string]string{
	"driver.hostNetwork": "on a single node the driver's ports would conflict with the executors' ports",
}

// podFields checks that the driver and executor pods in the API server have every field of the spec, and that pods with
// these fields run. It also checks that no admission webhook could have set the fields, except for the executors'
// memory limit. The pods name a scheduler that does not exist, so the test itself binds the pods.
func (w *suite) podFields(t *testing.T) {
	w.noWebhooks(t)
	app := w.everyField(t)
	w.createAll(t,
		configMap("life-fields", "word", "mapped"), configMap("life-fields-spark", "note", "nothing"),
		configMap("life-fields-hadoop", "core-site.xml", "<configuration/>"),
		secret("life-fields-any", "word", "open"), secret("life-fields-gcp", "key.json", "{}"),
		secret("life-fields-hadoop", "hadoop.token", "HDTS\x00\x00\x00"), // a Hadoop token file without tokens and keys
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "life-fields", Namespace: "default"}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "life-fields"}, Value: 7},
	)
	s := w.createStory(t, app)
	s.schedule(t, "driver")
	s.schedule(t, "executor")

	var service corev1.ServiceList
	if err := w.Client.List(t.Context(), &service, client.InNamespace("default"),
		client.MatchingLabels{"example.dev/of": "service"}); err != nil {
		t.Fatal(err)
	}

	s.untilState(t, completed) // the executor still exists, because the spec forbids Spark to delete it

	pods := s.executors(t)
	if len(pods) != 1 || len(service.Items) != 1 {
		t.Fatalf("%d executors and %d Services of the driver, want one of each", len(pods), len(service.Items))
	}

	for role, object := range map[string]any{"driver": s.driver(t), "executor": &pods[0],
		"service": &service.Items[0]} {
		w.checkFields(t, role, object)
	}

	if _, ok := conditions(s.app)["FieldsOverwritten"]; ok {
		t.Errorf("%+v: the executors' memory limit was applied at admission", condition(s.app, "FieldsOverwritten"))
	}

	s.remove(t, s.app)
}

// noWebhooks checks that the cluster has no admission webhooks except the operator's own. The operator's validating
// webhook must receive only custom resources. Its mutating webhook must receive only executor pods that are labelled
// for the webhook.
func (w *suite) noWebhooks(t *testing.T) {
	t.Helper()
	var own admissionv1.ValidatingWebhookConfigurationList

	var mutating admissionv1.MutatingWebhookConfigurationList
	for _, list := range []client.ObjectList{&mutating, &own} {
		if err := w.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}

		if found := objectNames(list); len(found) > 0 && !slices.Equal(found, []string{"/spark-operator-admission"}) {
			t.Errorf("webhooks are installed: %v", found)
		}
	}

	for _, configuration := range mutating.Items {
		for _, hook := range configuration.Webhooks {
			if hook.ObjectSelector == nil || hook.ObjectSelector.MatchLabels[executorOverlayLabel] != "webhook" {
				t.Errorf("webhook %s sees the pods of %v", hook.Name, hook.ObjectSelector)
			}
		}
	}

	for _, configuration := range own.Items {
		for _, hook := range configuration.Webhooks {
			for _, rule := range hook.Rules {
				if group := rule.APIGroups; !slices.Equal(group, []string{"sparkoperator.k8s.io"}) &&
					!slices.Equal(group, []string{"spark.apache.org"}) {
					t.Errorf("webhook %s sees objects of %v", hook.Name, group)
				}
			}
		}
	}
}

// everyField loads the application of testdata/life/fields.yaml. It checks that the application sets every field of
// driver and executor, except those that unsetFields lists.
func (w *suite) everyField(t *testing.T) *v1beta2.SparkApplication {
	t.Helper()

	text, err := os.ReadFile("testdata/life/fields.yaml")
	if err != nil {
		t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := yaml.UnmarshalStrict(text, app); err != nil {
		t.Fatal(err)
	}

	driver, executor := &app.Spec.Driver, &app.Spec.Executor
	own := executor.SparkPodSpec
	executor.SparkPodSpec = *driver.SparkPodSpec.DeepCopy()
	executor.ServiceAccount, executor.HostNetwork, executor.Template = own.ServiceAccount, own.HostNetwork, own.Template
	executor.CoreRequest, executor.JavaOptions, executor.PriorityClassName = driver.CoreRequest, driver.JavaOptions,
		driver.PriorityClassName

	executor.Lifecycle, executor.Ports = driver.Lifecycle, driver.Ports
	for role, value := range map[string]reflect.Value{"driver": reflect.ValueOf(*driver),
		"executor": reflect.ValueOf(*executor)} {
		for _, field := range reflect.VisibleFields(value.Type()) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")

			_, left := unsetFields[role+"."+name]
			if !field.Anonymous && value.FieldByIndex(field.Index).IsZero() != left {
				t.Errorf("spec.%s.%s: left out is %v, expected %v", role, name, !left, left)
			}
		}
	}
	return app
}

// schedule binds the only pod of the application that has the given role to the node. It does so in place of the
// scheduler that the pod names.
func (s *story) schedule(t *testing.T, role string) {
	t.Helper()

	labels := client.MatchingLabels{labelAppUID: string(s.app.UID), "spark-role": role}
	eventually(t, patience, "a pod of role "+role, func() (string, bool) {
		var pods corev1.PodList
		if err := s.Client.List(t.Context(), &pods, client.InNamespace(s.app.Namespace), labels); err != nil {
			t.Fatal(err)
		}

		if len(pods.Items) == 0 {
			return s.describe(t, s.app), false
		}

		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pods.Items[0].Name, Namespace: s.app.Namespace},
			Target: corev1.ObjectReference{Kind: "Node", Name: s.nodeName(t)}}
		if err := s.Core.CoreV1().Pods(s.app.Namespace).Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return "", true
	})
}

// checkFields checks that an object has the fields that testdata/life/fields-pods.yaml lists for the given role.
func (w *suite) checkFields(t *testing.T, role string, object any) {
	t.Helper()

	text, err := os.ReadFile("testdata/life/fields-pods.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var wanted map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "ROLE", role)), &wanted); err != nil {
		t.Fatal(err)
	}

	stored, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	var have any
	if err := json.Unmarshal(stored, &have); err != nil {
		t.Fatal(err)
	}

	missing := missingParts(have, wanted[role], role)
	if role != "service" {
		missing = append(missing, missingParts(have, wanted["both"], role)...)
	}

	if len(missing) > 0 {
		t.Errorf("%s\nin %s", strings.Join(missing, "\n"), stored)
	}
}

// missingParts returns the parts of the value want that are missing in the value have. A list must contain every wanted
// entry, in any order. If an entry is missing, missingParts returns the differences between this entry and the most
// similar one.
func missingParts(have, want any, at string) (missing []string) {
	switch want := want.(type) {
	case map[string]any:
		have, _ := have.(map[string]any)
		for key, below := range want {
			missing = append(missing, missingParts(have[key], below, at+"."+key)...)
		}
		return missing
	case []any:
		have, _ := have.([]any)
		for i, entry := range want {
			missing = append(missing, lacksEntry(have, entry, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return missing
	}

	if have != want {
		return []string{fmt.Sprintf("%s is %v, want %v", at, have, want)}
	}
	return nil
}

func lacksEntry(have []any, want any, at string) []string {
	var nearest []string
	for _, entry := range have {
		missing := missingParts(entry, want, at)
		if len(missing) == 0 {
			return nil
		}

		if nearest == nil || len(missing) < len(nearest) {
			nearest = missing
		}
	}
	return append([]string{fmt.Sprintf("%s: no %v; the nearest differs in:", at, want)}, nearest...)
}

func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		StringData: map[string]string{key: value}}
}
