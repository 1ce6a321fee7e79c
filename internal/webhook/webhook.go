package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// maxReviews is the largest number of reviews at the same time. maxBytes is the largest size of a review. The API
	// server accepts objects of up to 3 MiB, and the review of an update contains the old and the new object.
	maxReviews = 8
	maxBytes   = 7<<20 - 1
	// readTimeout limits how long a client may take to send a review. During this time, the review occupies one of the
	// slots.
	readTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
)

// Path returns the URL path of the reviews of a kind. Kubeflow's operator uses the same paths for the kinds that both
// operators have.
func Path(kind schema.GroupVersionKind) string {
	return "/validate-" + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}

// Handler returns the HTTP handler for the reviews of several kinds. Unless executors is nil, the HTTP handler also
// serves the webhook that changes executor pods. The two have separate limits of concurrent requests: the API server
// creates no executor pod until its request is answered, so these requests must not wait for reviews.
func Handler(reviewers []*Reviewer, executors *Executors) (http.Handler, error) {
	mux := http.NewServeMux()
	add := func(path string, handler admission.Handler, log logr.Logger, slots chan struct{}) error {
		hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: handler}, admission.StandaloneOptions{Logger: log, MetricsPath: path})
		if err != nil {
			return fmt.Errorf("webhook %s: %w", path, err)
		}
		mux.Handle("POST "+path, few(slots, hook))
		return nil
	}
	slots := make(chan struct{}, maxReviews)
	for _, reviewer := range reviewers {
		if err := add(Path(reviewer.Kind.Kind), reviewer, reviewer.Log, slots); err != nil {
			return nil, err
		}
	}
	if executors == nil {
		return mux, nil
	}
	return mux, add(ExecutorPath, executors, executors.Log, make(chan struct{}, maxReviews))
}

// few returns a handler that limits the number of concurrent requests: it waits for a free slot before it passes a
// request to the handler next. It rejects a request that is too large, or that is not an AdmissionReview of a supported
// version.
func few(slots chan struct{}, next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-req.Context().Done():
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(out, req.Body, maxBytes))
		if err != nil {
			http.Error(out, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		var review metav1.TypeMeta
		if err := json.Unmarshal(body, &review); err != nil {
			http.Error(out, "the body is not an AdmissionReview: "+err.Error(), http.StatusBadRequest)
			return
		}
		if version := admissionv1.SchemeGroupVersion.String(); review.APIVersion != version {
			http.Error(out, fmt.Sprintf("the webhook does not support AdmissionReview version %.100q; send %s", review.APIVersion, version), http.StatusBadRequest)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(out, req)
	})
}
