package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// BenchmarkReview measures how long a review of a new application takes, as the mean and the 99th percentile. The HTTP
// transport is not included.
func BenchmarkReview(b *testing.B) {
	r, req := plainReview(b)
	measureAnswers(b, r, req)
}

// BenchmarkAnswer measures how long a review takes with the handler of the HTTP server, without TLS and connections.
func BenchmarkAnswer(b *testing.B) {
	r, req := plainReview(b)
	req.UID, req.RequestKind, req.Kind = "22222222-2222-4333-8444-555555555555", new(metav1.GroupVersionKind), metav1.GroupVersionKind(r.Kind.GVK())

	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Request: &req.AdmissionRequest,
	})
	if err != nil {
		b.Fatal(err)
	}

	handler, err := webhook.Handler([]*webhook.Reviewer{r}, nil, nil)
	if err != nil {
		b.Fatal(err)
	}

	b.ReportAllocs()

	for b.Loop() {
		post := httptest.NewRequestWithContext(b.Context(), http.MethodPost, webhook.Path(r.Kind.GVK()), bytes.NewReader(body))
		post.Header.Set("Content-Type", "application/json")

		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, post); answer.Code != http.StatusOK || !bytes.Contains(answer.Body.Bytes(), []byte(`"allowed":true`)) {
			b.Fatal(answer.Code, answer.Body)
		}
	}
}

// plainReview returns a reviewer of applications, and the request to review a new one.
func plainReview(b *testing.B) (*webhook.Reviewer, admission.Request) {
	b.Helper()

	var whole map[string]any
	if err := yaml.Unmarshal([]byte(plain), &whole); err != nil {
		b.Fatal(err)
	}

	whole["metadata"] = map[string]any{"name": "pi", "namespace": "jobs", "uid": "11111111-2222-4333-8444-555555555555"}

	text, err := json.Marshal(whole)
	if err != nil {
		b.Fatal(err)
	}

	r := &webhook.Reviewer{
		Kind: configured.Admission(nil)[0], Settings: schedulersEnabled, Clock: time.Now, Log: logr.Discard(),
		Serves: func(context.Context, string) (bool, error) { return true, nil },
	}
	return r, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: text}}}
}

// measureAnswers measures how long a handler takes to allow a request, as the mean and the 99th percentile.
func measureAnswers(b *testing.B, handler admission.Handler, req admission.Request) {
	b.Helper()
	var took []time.Duration

	b.ReportAllocs()

	for b.Loop() {
		begin := time.Now()

		if answer := handler.Handle(b.Context(), req); !answer.Allowed {
			b.Fatal(answer.Result)
		}

		took = append(took, time.Since(begin))
	}

	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkExecutor measures how long it takes to change an executor that Spark built, as the mean and the 99th
// percentile. The HTTP transport is not included.
func BenchmarkExecutor(b *testing.B) {
	text, err := os.ReadFile(recordings + "everything-4.1.4.json")
	if err != nil {
		b.Fatal(err)
	}

	var recorded struct {
		Pod *corev1.Pod `json:"pod"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		b.Fatal(err)
	}

	settings := admit.Settings{By: admit.Webhook, Overlay: overlay.Overlay{
		MemoryLimit: quantity("4Gi"), Env: []corev1.EnvVar{{Name: "SPARK_LOCAL_DIRS", Value: "/mine"}},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}}},
	}}
	if err := settings.Mark(recorded.Pod, "spark-kubernetes-executor"); err != nil {
		b.Fatal(err)
	}

	raw, err := json.Marshal(recorded.Pod)
	if err != nil {
		b.Fatal(err)
	}

	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object: runtime.RawExtension{Raw: raw},
	}}

	e := &webhook.Executors{Log: logr.Discard()}
	if answer := e.Handle(b.Context(), req); len(answer.Patches) == 0 {
		b.Fatal(answer)
	}

	measureAnswers(b, e, req)
}
