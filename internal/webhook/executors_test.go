package webhook_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// executorVersions are the Spark versions whose executor pods were recorded. The constant recordings names the
// directory.
var executorVersions = []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"}

// recordings is the directory of recorded executor pods, which Spark's own code built.
const recordings = "../dialect/sparkoperator/application/testdata/executors/"

// factory is a namespace in which the API server changes executors when it creates them.
type factory struct {
	*scene.World
	calls atomic.Int32 // of the webhook
}

// newFactory creates a namespace in which the given mechanism changes labelled pods. It waits until the API server uses
// the mechanism.
func newFactory(t *testing.T, by admit.Mechanism) *factory {
	t.Helper()

	f := &factory{World: scene.New(t)}
	if by == admit.Webhook {
		f.startWebhook()
	} else {
		f.installPolicy()
	}

	probe := f.pod("probe")
	if err := (admit.Settings{By: by, Overlay: overlay.Overlay{MemoryLimit: quantity("2Gi")}}).Mark(probe,
		"spark-kubernetes-executor"); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the API server to change executors", func(ctx context.Context) error {
		got := probe.DeepCopy()
		if err := f.API.Create(ctx, got, client.DryRunAll); err != nil {
			return err
		}

		if limit := got.Spec.Containers[0].Resources.Limits.Memory(); limit.String() != "2Gi" {
			return errors.New("the limit is " + limit.String())
		}
		return nil
	})
	f.calls.Store(0)
	return f
}

// selector selects the namespace of the test.
func (f *factory) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.Namespace}}
}

// forever creates an object without a namespace, and deletes it at the end of the test.
func (f *factory) forever(object client.Object) {
	f.T.Helper()
	f.Create(object)
	f.T.Cleanup(func() {
		if err := client.IgnoreNotFound(f.API.Delete(context.Background(), object)); err != nil {
			f.T.Error(err)
		}
	})
}

func (f *factory) startWebhook() *httptest.Server {
	f.T.Helper()
	kit.NeedsLoopback(f.T)

	handler, err := webhook.Handler(nil, &webhook.Executors{Log: f.Logger()}, nil)
	if err != nil {
		f.T.Fatal(err)
	}

	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		f.calls.Add(1)
		handler.ServeHTTP(out, req)
	}))
	f.T.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	f.forever(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.Namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "executors.sparkoperator.k8s.io", AdmissionReviewVersions: []string{"v1"},
			SideEffects:        new(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:      new(admissionregistrationv1.Fail),
			ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy), TimeoutSeconds: new(int32(10)),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(server.URL + webhook.ExecutorPath),
				CABundle: ca},
			NamespaceSelector: f.selector(),
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{admit.Label: string(admit.Webhook)}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"pods"}},
			}},
		}},
	})
	return server
}

// installPolicy creates the chart's MutatingAdmissionPolicy for the test's namespace.
func (f *factory) installPolicy() {
	f.T.Helper()
	kit.NeedsKubernetes(f.T, 36, "MutatingAdmissionPolicy")

	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace}}
	if err := yaml.UnmarshalStrict([]byte(readFile(f.T.(*testing.T),
		"../../charts/spark-operator/files/executor-policy.yaml")), &policy.Spec); err != nil {
		f.T.Fatal(err)
	}

	f.forever(policy)
	f.forever(&admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: f.Namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: f.Namespace, MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: f.selector()},
		},
	})
}

// pod returns a small executor pod.
func (f *factory) pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "spark-kubernetes-executor", Image: "spark",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceMemory: *quantity("1Gi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: *quantity("1Gi")},
			},
		}}},
	}
}

// application returns the application of a recording, with a piece of YAML merged into it.
func application(t *testing.T, recording, version, piece string) *v1beta2.SparkApplication {
	t.Helper()
	h := &hooked{World: &scene.World{T: t, Namespace: "jobs"}}

	text, err := h.object(plain, readFile(t, recordings+recording+".yaml"), "spec: {sparkVersion: "+version+"}",
		piece).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := json.Unmarshal(text, app); err != nil {
		t.Fatal(err)
	}

	app.UID = "11111111-2222-4333-8444-555555555555"
	return app
}

// template returns the pod template that the driver of an application uses for its executors.
func template(t *testing.T, app *v1beta2.SparkApplication, available admit.Available) *corev1.Pod {
	t.Helper()

	launch := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}

	objects, err := sparkapp.Dialect{Options: sparkapp.Options{Admission: available}}.Render(app, launch, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	for _, object := range objects.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data["podspec-configmap-key"] != "" {
			pod := &corev1.Pod{}
			if err := yaml.Unmarshal([]byte(config.Data["podspec-configmap-key"]), pod); err != nil {
				t.Fatal(err)
			}
			return pod
		}
	}

	t.Fatal("the executors have no template")
	return nil
}

// created creates an executor as the driver of a Spark version does. It creates the recorded pod of this version, with
// the labels and annotations that Spark copies from the template. It returns the pod before and after the creation.
func (f *factory) created(recording, version string, of *corev1.Pod) (sent, got *corev1.Pod) {
	f.T.Helper()

	var recorded struct {
		Pod *corev1.Pod `json:"pod"`
	}
	if err := json.Unmarshal([]byte(readFile(f.T.(*testing.T), recordings+recording+"-"+version+".json")),
		&recorded); err != nil {
		f.T.Fatal(err)
	}

	sent = recorded.Pod
	sent.Name = strings.ReplaceAll("exec-"+version, ".", "-")

	sent.Namespace, sent.OwnerReferences = f.Namespace, nil
	for key, value := range of.Labels {
		metav1.SetMetaDataLabel(&sent.ObjectMeta, key, value)
	}

	for key, value := range of.Annotations {
		metav1.SetMetaDataAnnotation(&sent.ObjectMeta, key, value)
	}

	for i := range sent.Spec.Volumes { // recordings contain "ID" for a random part, in upper case
		if config := sent.Spec.Volumes[i].ConfigMap; config != nil {
			config.Name = strings.ToLower(config.Name)
		}
	}

	for _, v := range sent.Spec.Containers[0].Env { // the API server fills this in
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			v.ValueFrom.FieldRef.APIVersion = "v1"
		}
	}

	got = sent.DeepCopy()
	f.Create(got)
	return sent, got
}

// TestExecutorsGetWhatSparkOverwrites creates executors of each tested Spark version. It checks that the webhook
// restores every field that Spark overwrites. Spark's own code built these pods.
func TestExecutorsGetWhatSparkOverwrites(t *testing.T) {
	t.Parallel()

	f := newFactory(t, admit.Webhook)
	for _, version := range executorVersions {
		app := application(t, "overwritten", version, "{}")
		sent, got := f.created("overwritten", version, template(t, app, admit.Available{Webhook: true, Policy: true}))

		before, spark := sent.Spec.Containers[0], got.Spec.Containers[0]
		if limit := spark.Resources.Limits.Memory().String(); limit != "4Gi" {
			t.Errorf("%s: the memory limit is %s", version, limit)
		}

		if diff := cmp.Diff(before.Resources.Requests.Memory(), spark.Resources.Requests.Memory()); diff != "" {
			t.Errorf("%s: memory request (-sent +created):\n%s", version, diff)
		}

		limit, request := spark.Resources.Limits["nvidia.com/gpu"], spark.Resources.Requests["nvidia.com/gpu"]
		if limit.Value() != 2 || request.Value() != 2 {
			t.Errorf("%s: the GPUs are %s, requested %s", version, limit.String(), request.String())
		}

		if hook := spark.Lifecycle; hook == nil || !slices.Equal(hook.PreStop.Exec.Command, []string{"bye"}) {
			t.Errorf("%s: the lifecycle is %+v", version, hook)
		}

		for name, want := range map[string]string{
			"SPARK_LOCAL_DIRS": "/mine", "SPARK_CLASSPATH": "/mine", "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
			"SPARK_USER":        "metadata.name",
			"SPARK_EXECUTOR_ID": "mine", "MINE": "mine", "HADOOP_CONF_DIR": "/etc/hadoop/conf",
			"SPARK_EXECUTOR_POD_NAME": "metadata.name",
		} {
			if value := effective(spark.Env, name); value != want {
				t.Errorf("%s: %s is %q, want %q", version, name, value, want)
			}
		}

		if diff := cmp.Diff(before.Env, spark.Env[:len(before.Env)]); diff != "" {
			t.Errorf("%s: Spark's variables (-sent +created):\n%s", version, diff)
		}
	}

	if n := f.calls.Load(); int(n) != len(executorVersions) {
		t.Errorf("the webhook was called %d times for %d executors", n, len(executorVersions))
	}
}

// effective returns the value of the last variable with the given name, or the field that the value comes from.
func effective(env []corev1.EnvVar, name string) (value string) {
	for _, v := range env {
		if v.Name == name {
			if value = v.Value; v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
				value = v.ValueFrom.FieldRef.FieldPath
			}
		}
	}
	return value
}

// TestPolicySetsMemoryLimitAndGPU creates executors of each tested Spark version. It checks that the chart's policy
// sets the memory limit and the GPUs, as the webhook does.
func TestPolicySetsMemoryLimitAndGPU(t *testing.T) {
	t.Parallel()

	f := newFactory(t, admit.Policy)
	for _, version := range executorVersions {
		app := application(t, "overwritten", version,
			`{spec: {hadoopConfigMap: null, executor: {lifecycle: null, env: null}}}`)

		of := template(t, app, admit.Available{Webhook: true, Policy: true})
		if by := of.Labels[admit.Label]; by != string(admit.Policy) {
			t.Fatalf("%s: changed by %q", version, by)
		}

		sent, got := f.created("overwritten", version, of)
		want := sent.DeepCopy()
		spark := &want.Spec.Containers[0]
		spark.Resources.Limits[corev1.ResourceMemory], spark.Resources.Limits["nvidia.com/gpu"] = *quantity("4Gi"),
			*quantity("2")

		spark.Resources.Requests["nvidia.com/gpu"] = *quantity("2")
		if diff := cmp.Diff(spark.Resources, got.Spec.Containers[0].Resources); diff != "" {
			t.Errorf("%s: resources (-want +created):\n%s", version, diff)
		}

		if diff := cmp.Diff(spark.Lifecycle, got.Spec.Containers[0].Lifecycle) + cmp.Diff(spark.Env,
			got.Spec.Containers[0].Env); diff != "" {
			t.Errorf("%s: other fields (-sent +created):\n%s", version, diff)
		}
	}
}

// TestPolicyFindsTheContainer checks that the policy changes the container that the annotation names, even if another
// webhook has added containers before and after it.
func TestPolicyFindsTheContainer(t *testing.T) {
	t.Parallel()
	f := newFactory(t, admit.Policy)
	pod := f.pod("between")
	pod.Spec.Containers[0].Name = "mine"

	pod.Spec.Containers = []corev1.Container{{Name: "first", Image: "a"}, pod.Spec.Containers[0],
		{Name: "last", Image: "b"}}
	if err := (admit.Settings{By: admit.Policy, Overlay: overlay.Overlay{MemoryLimit: quantity("3Gi")}}).Mark(pod,
		"mine"); err != nil {
		t.Fatal(err)
	}

	f.Create(pod)

	for i, want := range []string{"0", "3Gi", "0"} {
		if got := pod.Spec.Containers[i].Resources.Limits.Memory().String(); got != want {
			t.Errorf("container %d has the limit %s, want %s", i, got, want)
		}
	}
}

// TestOtherPodsAreNotSent checks that the API server sends only labelled pods to the webhook, and changes no others.
func TestOtherPodsAreNotSent(t *testing.T) {
	t.Parallel()
	f := newFactory(t, admit.Webhook)
	foreign := scene.ForeignPod(f.Namespace, "foreign")
	plain := f.pod("plain")
	plain.Labels = map[string]string{"spark-role": "executor", "sparkoperator.dev/managed": "true"}

	byPolicy := f.pod("policy")
	if err := (admit.Settings{By: admit.Policy, Overlay: overlay.Overlay{MemoryLimit: quantity("3Gi")}}).Mark(byPolicy,
		"spark-kubernetes-executor"); err != nil {
		t.Fatal(err)
	}

	for _, pod := range []*corev1.Pod{foreign, plain, byPolicy} {
		before := pod.DeepCopy()
		f.Create(pod)

		if diff := cmp.Diff(before.Spec.Containers[0].Resources, pod.Spec.Containers[0].Resources); diff != "" {
			t.Errorf("%s (-sent +created):\n%s", pod.Name, diff)
		}
	}

	if n := f.calls.Load(); n != 0 {
		t.Errorf("the webhook was called %d times", n)
	}
}

// TestUnsuitableExecutorsAreRefused checks that, with either mechanism, the API server rejects an executor that cannot
// get its settings.
func TestUnsuitableExecutorsAreRefused(t *testing.T) {
	t.Parallel()

	for _, by := range []admit.Mechanism{admit.Webhook, admit.Policy} {
		f := newFactory(t, by)
		for name, annotations := range map[string]map[string]string{
			"below the request":    {admit.MemoryLimitAnnotation: "512Mi"},
			"no quantity":          {admit.MemoryLimitAnnotation: "much"},
			"an unknown container": {admit.MemoryLimitAnnotation: "2Gi", admit.ContainerAnnotation: "none"},
		} {
			pod := f.pod("unsuitable")
			pod.Labels, pod.Annotations = map[string]string{admit.Label: string(by)}, annotations

			err := f.API.Create(t.Context(), pod)
			if err == nil || by == admit.Webhook && !strings.Contains(err.Error(), "executors.sparkoperator.k8s.io") {
				t.Errorf("%s, %s: %v", by, name, err)
			}
		}
	}
}

// TestExecutorsWaitForTheWebhook checks that the API server creates no executors while the webhook is down, but still
// creates all other pods.
func TestExecutorsWaitForTheWebhook(t *testing.T) {
	t.Parallel()
	f := &factory{World: scene.New(t)}
	server := f.startWebhook()

	marked := f.pod("marked")
	if err := (admit.Settings{By: admit.Webhook, Overlay: overlay.Overlay{MemoryLimit: quantity("2Gi")}}).Mark(marked,
		"spark-kubernetes-executor"); err != nil {
		t.Fatal(err)
	}

	server.Close()
	kit.Wait(t, "the API server to refuse an executor", func(ctx context.Context) error {
		if err := f.API.Create(ctx, marked.DeepCopy(), client.DryRunAll); !apierrors.IsInternalError(err) {
			return fmt.Errorf("it is created: %w", err)
		}
		return nil
	})
	f.Create(f.pod("plain"))

	if err := f.API.Create(t.Context(), marked); !apierrors.IsInternalError(err) {
		t.Errorf("the executor is created: %v", err)
	}
}

// TestFieldsThatTheTypesLackStay checks that the patch does not remove fields that only a newer Kubernetes has.
func TestFieldsThatTheTypesLackStay(t *testing.T) {
	t.Parallel()

	pod := `{"metadata":{"name":"e","labels":{"` + admit.Label + `":"webhook"},"annotations":{"` +
		admit.MemoryLimitAnnotation + `":"2Gi"}},
		"spec":{"newer":{"a":1},"containers":[{"name":"spark-kubernetes-executor","newer":true,"resources":{"limits":{"memory":"1Gi"}}}]}}`

	answer := (&webhook.Executors{}).Handle(t.Context(),
		admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Object: runtime.RawExtension{Raw: []byte(pod)},
		}})
	if !answer.Allowed || len(answer.Patches) != 1 ||
		answer.Patches[0].Path != "/spec/containers/0/resources/limits/memory" {
		t.Errorf("%+v", answer)
	}
}

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

func readFile(t testing.TB, name string) string {
	t.Helper()

	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
