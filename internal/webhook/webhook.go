package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// maxReviews is the largest number of requests of one class that are answered at the same time. maxBytes is the
	// largest size of a request. The API server accepts objects of up to 3 MiB, and the review of an update contains the
	// old and the new object.
	maxReviews = 8
	maxBytes   = 7<<20 - 1
	// maxConnections and maxHeld limit what all clients together occupy before their requests have slots: connections,
	// and bytes of requests that are read or wait.
	maxConnections = 512
	maxHeld        = 32 << 20
	// firstRead is the largest buffer that a request gets before it is read.
	firstRead = 8 << 10
	// readTimeout limits how long a client may take to send a request. The request takes a slot only afterwards.
	// writeTimeout limits the time from the end of the headers to the end of the answer.
	readTimeout  = 10 * time.Second
	writeTimeout = 40 * time.Second
	idleTimeout  = 90 * time.Second
)

// Path returns the URL path of the reviews of a kind. Kubeflow's operator uses the same paths for the kinds that both
// operators have.
func Path(kind schema.GroupVersionKind) string {
	return "/validate-" + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}

// Handler returns the HTTP handler for the reviews of several kinds. Unless executors is nil, the HTTP handler also
// serves the webhook that changes executor pods, and unless pods is nil, the reviews of pods. The API server creates no
// pod until its request is answered, so these requests have slots of their own and do not wait for reviews.
func Handler(reviewers []*Reviewer, executors *Executors, pods *Pods) (http.Handler, error) {
	mux := http.NewServeMux()
	memory := &bound{limit: maxHeld}
	add := func(path string, handler admission.Handler, log logr.Logger, class *slots) error {
		hook, err := admission.StandaloneWebhook(&admission.Webhook{Handler: decoded{handler}, LogConstructor: sameLog}, admission.StandaloneOptions{Logger: log, MetricsPath: path})
		if err != nil {
			return fmt.Errorf("webhook %s: %w", path, err)
		}

		mux.Handle("POST "+path, few(memory, class, hook))
		return nil
	}

	reviews := newSlots(maxReviews)
	for _, reviewer := range reviewers {
		if err := add(Path(reviewer.Kind.GVK()), reviewer, reviewer.Log, reviews); err != nil {
			return nil, err
		}
	}

	if pods != nil {
		if err := add(PodPath, pods, pods.Log, newSlots(maxReviews)); err != nil {
			return nil, err
		}
	}

	if executors == nil {
		return mux, nil
	}
	return mux, add(ExecutorPath, executors, executors.Log, newSlots(maxReviews))
}

// few returns a handler that limits the number of concurrent requests. It reads a request, waits for a free slot, lets
// the handler next answer the request, and sends the answer when the slot is free again. A client that sends slowly, or
// that does not read its answer, occupies no slot.
func few(memory *bound, class *slots, next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()

		held := &share{bound: memory, address: host(req.RemoteAddr), drop: func() {
			cancel()

			client := http.NewResponseController(out)
			// The errors are those of a ResponseRecorder, which has no deadlines.
			_ = errors.Join(client.SetReadDeadline(time.Now()), client.SetWriteDeadline(time.Now()))
		}}
		defer held.release()

		var body bytes.Buffer
		body.Grow(int(min(max(req.ContentLength, 0), firstRead)) + bytes.MinRead)
		_, err := body.ReadFrom(&counted{http.MaxBytesReader(out, req.Body, maxBytes), held})

		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			http.Error(out, err.Error(), http.StatusRequestEntityTooLarge)
			return
		case err != nil || !class.take(ctx, held.address):
			http.Error(out, cmp.Or(err, errDropped).Error(), http.StatusServiceUnavailable)
			return
		}

		reply := &reply{ResponseWriter: out, status: http.StatusOK}
		inSlot(ctx, class, held, func() { answer(reply, req, body.Bytes(), next) })

		if err := held.grow(reply.Len()); err != nil {
			http.Error(out, err.Error(), http.StatusServiceUnavailable)
			return
		}

		out.WriteHeader(reply.status)
		_, _ = out.Write(reply.Bytes()) // the client may be gone
	})
}

// inSlot runs a function for a request that has a slot, and gives the slot back. Meanwhile the number of slots limits
// the memory and the connections, so the bounds do not count those of the request.
func inSlot(ctx context.Context, class *slots, held *share, run func()) {
	defer class.give()

	held.release()

	if c, found := ctx.Value(connectionKey{}).(*share); found {
		c.release()
		defer func() { _ = c.grow(1) }() // a connection that is closed here ends by an error of its writes
	}

	run()
}

// reply is the answer to a request before it is sent.
type reply struct {
	http.ResponseWriter
	bytes.Buffer
	status int
}

// Write appends to the body of the answer.
func (r *reply) Write(part []byte) (int, error) { return r.Buffer.Write(part) }

// WriteHeader sets the status of the answer.
func (r *reply) WriteHeader(status int) { r.status = status }

// requestKey is the key of the decoded admissionv1.AdmissionRequest in the context of a request.
type requestKey struct{}

// decoded is a handler that passes the decoded request of the context on to the next handler.
type decoded struct{ next admission.Handler }

// Handle implements admission.Handler. The argument req has only the UID, which the answer needs.
func (d decoded) Handle(ctx context.Context, req admission.Request) admission.Response {
	if request, found := ctx.Value(requestKey{}).(admissionv1.AdmissionRequest); found {
		req.AdmissionRequest = request
	}
	return d.next.Handle(ctx, req)
}

// sameLog returns the log of the webhook for each request. Values about the request would be formatted for each answer,
// while the handlers log only failures, with values of their own.
func sameLog(log logr.Logger, _ *admission.Request) logr.Logger { return log }

// shortReview is an AdmissionReview with nothing but the UID of the request.
type shortReview struct {
	metav1.TypeMeta `json:",inline"`

	Request shortRequest `json:"request"`
}

type shortRequest struct {
	UID types.UID `json:"uid"`
}

// answer passes a request to the handler next. It rejects a body that is not an AdmissionReview of a supported version.
//
// It decodes the review, because the library would parse the body twice more. The library gets a review with nothing
// but the UID, and decoded gets the rest from the context.
func answer(out http.ResponseWriter, req *http.Request, body []byte, next http.Handler) {
	var review admissionv1.AdmissionReview
	if err := utiljson.Unmarshal(body, &review); err != nil {
		http.Error(out, "the body is not an AdmissionReview: "+err.Error(), http.StatusBadRequest)
		return
	}

	if version := admissionv1.SchemeGroupVersion.String(); review.APIVersion != version {
		http.Error(out, fmt.Sprintf("the webhook does not support AdmissionReview version %.100q; send %s", review.APIVersion, version), http.StatusBadRequest)
		return
	}

	if review.Request != nil {
		req = req.WithContext(context.WithValue(req.Context(), requestKey{}, *review.Request))

		short, err := json.Marshal(shortReview{review.TypeMeta, shortRequest{review.Request.UID}})
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}

		body = short
	}

	req.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(out, req)
}
