package controller

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook"
)

// reviewOf is a function that requests a review of an object from the webhook. If the parameter `old` is set, the
// request is an update of that old object, and otherwise a creation.
type reviewOf func(object, old []byte) error

// reviewsOf returns a reviewOf for each kind, by APIVersion and Kind. The namespace has a quota that allows no pods.
// Because of this quota, the webhook renders the pods of each object, and for an update also the pods of the old
// object.
func reviewsOf(t testing.TB, cfg config.Configuration) map[string]reviewOf {
	t.Helper()

	quota := corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.Quantity{}}}}

	out := map[string]reviewOf{}
	for _, kind := range configured.Admission(nil) {
		handler, err := webhook.Handler([]*webhook.Reviewer{{
			Kind: kind, Settings: func() config.Configuration { return cfg }, Clock: time.Now, Log: logr.Discard(),
			Serves: func(context.Context, string) (bool, error) { return true, nil },
			Quotas: func(context.Context, string) ([]corev1.ResourceQuota, error) {
				return []corev1.ResourceQuota{quota}, nil
			},
		}}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}

		out[kind.GVK().GroupVersion().String()+" "+kind.GVK().Kind] = func(object, old []byte) error {
			return post(handler, webhook.Path(kind.GVK()), object, old)
		}
	}
	return out
}

// observed receives the texts that the operator writes about an object: the answers to reviews, and status patches.
var observed = func(what string, text []byte) {}

// post sends one review to a handler, in the form in which the API server sends it.
func post(handler http.Handler, path string, object, old []byte) error {
	var body bytes.Buffer

	operation := admissionv1.Create
	if old != nil {
		operation = admissionv1.Update
	}

	fmt.Fprintf(&body, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","namespace":"default","operation":%q,"object":%s`, operation, object)

	if old != nil {
		fmt.Fprintf(&body, `,"oldObject":%s`, old)
	}

	body.WriteString("}}")
	req := httptest.NewRequest(http.MethodPost, path, &body)
	req.Header.Set("Content-Type", "application/json")

	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, req)
	observed("review", answer.Body.Bytes())

	if answer.Code != http.StatusOK || !bytes.Contains(answer.Body.Bytes(), []byte(`"uid":"u"`)) ||
		bytes.Contains(answer.Body.Bytes(), []byte("the object was not checked")) {
		return fmt.Errorf("review: %d %.300s", answer.Code, answer.Body)
	}
	return nil
}

// edited returns the object with one more field in its spec. The additional field hardly changes the cost of a review.
func edited(object []byte) []byte {
	return bytes.Replace(object, []byte(`"spec":{`), []byte(`"spec":{"edited":0,`), 1)
}
