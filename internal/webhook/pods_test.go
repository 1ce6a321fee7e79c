package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/internal/webhook"
)

// podReviews returns reviews of pods in a namespace with the label tier=tenant.
func podReviews(t testing.TB, rules string) *webhook.Pods {
	t.Helper()

	p, err := policy.Parse(rules)
	if err != nil {
		t.Fatal(err)
	}

	cfg := config.Default()
	cfg.Policy = p
	return &webhook.Pods{
		Settings: func() config.Configuration { return cfg },
		Serves:   func(context.Context, string) (bool, error) { return true, nil },
		Labels: func(context.Context, string) (map[string]string, error) {
			return map[string]string{"tier": "tenant"}, nil
		},
		DefaultClass: func(_ context.Context, name string) (bool, error) { return name == "standard", nil },
		Log:          logr.Discard(),
	}
}

// podReview returns the request for the review of a pod. If old is set, the request is an update.
func podReview(t testing.TB, subresource string, pod, old *corev1.Pod) admission.Request {
	t.Helper()

	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		SubResource: subresource, Namespace: "jobs",
	}}

	encode := func(pod *corev1.Pod) runtime.RawExtension {
		raw, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: raw}
	}
	if req.Object = encode(pod); old != nil {
		req.Operation, req.OldObject = admissionv1.Update, encode(old)
	}
	return req
}

// sparkPod returns a pod as the API server stores it, after a change.
func sparkPod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "exec-1",
		Labels: map[string]string{"spark-role": "executor"}}, Spec: corev1.PodSpec{
		ServiceAccountName: "spark",
		Containers: []corev1.Container{{Name: "spark-kubernetes-executor", Image: "spark:4",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity("1"),
					corev1.ResourceMemory: *quantity("1Gi")}}}},
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: new(int64(300))},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: new(int64(300))},
		},
	}}
	if change != nil {
		change(pod)
	}
	return pod
}

const tenantRules = `
owner: data team
rules:
  - name: tenants
    selector: tier=tenant
    podSecurity: baseline
    images: {allowed: ["spark:*"]}
    serviceAccounts: {allowed: [spark]}
    nodeSelectors: {allowed: ["pool=spark"]}
    tolerations: {allowed: []}
    priorityClasses: {allowed: [batch]}
    limits: {cores: 4, memory: 4Gi}
`

// forbiddenChanges are changes of a pod that tenantRules refuses, with the words of the refusal.
var forbiddenChanges = map[string]struct {
	change func(*corev1.Pod)
	want   string
}{
	"image": {func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "evil" },
		`the image "evil" is not allowed by the rule images`},
	"another image": {func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{Name: "init",
			Image: "evil"}}
	}, `the image of the container init, "evil" is not allowed by the rule images`},
	"ephemeral image": {debugger("evil"),
		`the image of the container debugger, "evil" is not allowed by the rule images`},
	"image volume": {func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "evil"}}}}
	}, `the image of the volume v, "evil" is not allowed by the rule images`},
	"account": {func(pod *corev1.Pod) { pod.Spec.ServiceAccountName = "admin" },
		`the service account "admin" is not allowed by the rule serviceAccounts`},
	"node": {func(pod *corev1.Pod) { pod.Spec.NodeName = "master" },
		`the node name "nodeName=master" is not allowed by the rule nodeSelectors`},
	"toleration": {func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}, `the toleration "*" is not allowed by the rule tolerations`},
	"priority": {func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "system-node-critical" },
		`the priority class "system-node-critical" is not allowed by the rule priorityClasses`},
	"host PID": {func(pod *corev1.Pod) { pod.Spec.HostPID = true },
		`the pod of the executor, with host namespaces (hostPID=true), is not allowed by the rule podSecurity: baseline`},
	"cores": {func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *quantity("5") },
		`the sum 5 of the pods' requests for cpu is not allowed by the rule limits.cores`},
	"memory of two": {func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers,
			corev1.Container{Name: "b", Image: "spark:4",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: *quantity("4Gi")}}})
	}, `the sum 5Gi of the pods' requests for memory is not allowed by the rule limits.memory`},
}

func debugger(image string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers,
			corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger",
				Image: image}})
	}
}

// TestPodReviews checks that a pod is refused when it is created and when an update makes it forbidden. A pod that was
// forbidden before can still be changed, if the change adds nothing forbidden.
func TestPodReviews(t *testing.T) {
	p := podReviews(t, tenantRules)
	for _, allowed := range []func(*corev1.Pod){nil, func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "standard" },
		func(pod *corev1.Pod) { pod.Labels = nil }} {
		if answer := p.Handle(t.Context(), podReview(t, "", sparkPod(allowed), nil)); !answer.Allowed {
			t.Errorf("an allowed pod: %v", answer.Result)
		}
	}

	for name, c := range forbiddenChanges {
		forbidden := sparkPod(c.change)

		refused := map[string]admission.Request{
			"a creation": podReview(t, "", forbidden, nil), "an update": podReview(t, "", forbidden, sparkPod(nil)),
			"an update of a subresource": podReview(t, "ephemeralcontainers", forbidden, sparkPod(nil)),
			"a resize":                   podReview(t, "resize", forbidden, sparkPod(nil)),
		}
		for what, req := range refused {
			answer := p.Handle(t.Context(), req)
			if answer.Allowed || !strings.Contains(answer.Result.Message,
				c.want+" of the policy tenants (owner: data team); ") {
				t.Errorf("%s, %s: %+v, want %s", name, what, answer.Result, c.want)
			}
		}

		annotated := forbidden.DeepCopy()
		annotated.Annotations = map[string]string{"a": "b"}
		shorter := forbidden.DeepCopy()

		shorter.Spec.ActiveDeadlineSeconds = new(int64(1))
		for what, req := range map[string]admission.Request{
			"metadata": podReview(t, "", annotated, forbidden), "another field": podReview(t, "", shorter, forbidden),
			"the way back": podReview(t, "", sparkPod(nil), forbidden),
			"the status":   podReview(t, "status", annotated, forbidden),
		} {
			if answer := p.Handle(t.Context(), req); !answer.Allowed {
				t.Errorf("%s, an update of %s: %v", name, what, answer.Result)
			}
		}

		worse := forbidden.DeepCopy()
		debugger("worse")(worse)

		if answer := p.Handle(t.Context(), podReview(t, "ephemeralcontainers", worse, forbidden)); answer.Allowed ||
			strings.Contains(answer.Result.Message, c.want) {
			t.Errorf("%s, and another one: %v, want a refusal of the other one alone", name, answer.Result)
		}
	}
}

// TestPodsThatCannotBeJudgedAreRefused checks that no failure of the operator admits a pod, since nothing checks a pod
// later.
func TestPodsThatCannotBeJudgedAreRefused(t *testing.T) {
	failed := errors.New("the cache is not synced")

	classy := sparkPod(func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "unknown" })
	for name, c := range map[string]struct {
		breaks func(*webhook.Pods)
		pod    *corev1.Pod
		admits bool
	}{
		"the namespace cannot be looked up": {breaks: func(p *webhook.Pods) {
			p.Serves = func(context.Context,
				string) (bool, error) {
				return false, failed
			}
		}},
		"the labels cannot be looked up": {breaks: func(p *webhook.Pods) {
			p.Labels = func(context.Context, string) (map[string]string, error) { return nil, failed }
		}},
		"a panic": {breaks: func(p *webhook.Pods) { p.Settings = func() config.Configuration { panic("bug") } }},
		"the class cannot be looked up": {breaks: func(p *webhook.Pods) {
			p.DefaultClass = func(context.Context, string) (bool, error) { return true, failed }
		}, pod: classy},
		"another namespace": {breaks: func(p *webhook.Pods) {
			p.Serves = func(context.Context, string) (bool,
				error) {
				return false, nil
			}
		}, pod: classy, admits: true},
		"other labels": {breaks: func(p *webhook.Pods) {
			p.Labels = func(context.Context, string) (map[string]string, error) { return map[string]string{}, nil }
		}, pod: classy, admits: true},
	} {
		p := podReviews(t, tenantRules)
		c.breaks(p)

		pod := c.pod
		if pod == nil {
			pod = sparkPod(nil)
		}

		if answer := p.Handle(t.Context(), podReview(t, "", pod, nil)); answer.Allowed != c.admits {
			t.Errorf("%s: allowed %t, %v", name, answer.Allowed, answer.Result)
		}
	}

	p := podReviews(t, tenantRules)

	req := podReview(t, "", sparkPod(nil), nil)
	for _, raw := range []string{`{"spec":{"containers":7}}`, `{"spec":`, ``} {
		req.Object.Raw = []byte(raw)
		if answer := p.Handle(t.Context(), req); answer.Allowed {
			t.Errorf("%q is admitted", raw)
		}
	}
}

// BenchmarkPodReview measures how long the review of an executor takes, with the number of sets of rules in the name,
// as the mean and the 99th percentile. The HTTP transport is not included.
func BenchmarkPodReview(b *testing.B) {
	for _, sets := range []int{1, 5} {
		b.Run(fmt.Sprintf("sets=%d", sets), func(b *testing.B) {
			rules := "rules:\n"
			for i := range sets {
				rules += fmt.Sprintf("  - {name: set-%d, podSecurity: baseline, images: {allowed: [\"spark:*\", \"registry-%[1]d.example.com/*\"]}, serviceAccounts: {allowed: [spark]}, tolerations: {allowed: []}, limits: {cores: 4, memory: 4Gi}}\n", i)
			}

			p, req := podReviews(b, rules), podReview(b, "", sparkPod(nil), nil)
			measureAnswers(b, p, req)
		})
	}
}
