package webhook_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/webhook"
)

// BenchmarkReview measures the mean time and the 99th percentile of a review of a new application, without the HTTP
// transport.
func BenchmarkReview(b *testing.B) {
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
		Kind: kinds.Admission()[0], Settings: settled, Clock: time.Now, Log: logr.Discard(),
		Serves: func(context.Context, string) (bool, error) { return true, nil },
	}
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: text}}}
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		if answer := r.Handle(b.Context(), req); !answer.Allowed {
			b.Fatal(answer.Result)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
