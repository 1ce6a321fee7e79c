package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// receiver is a collector that receives spans in OTLP over HTTP, as the specification describes.
type receiver struct {
	t      *testing.T
	server *httptest.Server
	answer int

	mu       sync.Mutex
	path     string
	spans    []*tracepb.Span
	resource []*common.KeyValue
	requests int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, answer: http.StatusOK}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++

	r.path = request.URL.Path
	if got := request.Header.Get("Content-Type"); got != "application/x-protobuf" {
		r.t.Errorf("content type %q", got)
	}

	unpacked, err := gzip.NewReader(request.Body)
	if err != nil {
		r.t.Errorf("content encoding %q: %v", request.Header.Get("Content-Encoding"), err)
		return
	}

	content, err := io.ReadAll(unpacked)
	if err != nil {
		r.t.Error(err)
	}

	var message collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(content, &message); err != nil {
		r.t.Error(err)
	}

	for _, resource := range message.GetResourceSpans() {
		r.resource = resource.GetResource().GetAttributes()
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}

	w.WriteHeader(r.answer)
}

// byName returns the received spans by their names.
func (r *receiver) byName() map[string]*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()

	found := map[string]*tracepb.Span{}
	for _, span := range r.spans {
		found[span.GetName()] = span
	}
	return found
}

func textOf(attributes []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attributes {
		switch v := a.GetValue(); {
		case v.GetArrayValue() != nil:
			var all []string
			for _, element := range v.GetArrayValue().GetValues() {
				all = append(all, element.GetStringValue())
			}

			out[a.GetKey()] = strings.Join(all, ",")
		default:
			out[a.GetKey()] = strings.Trim(strings.TrimPrefix(strings.TrimSpace(v.String()), "string_value:"), `"`)
		}
	}
	return out
}

// apiServer returns a transport that answers a request of a pass and stores the request's Traceparent header in the
// given variable.
func apiServer(reported *string) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		*reported = r.Header.Get("Traceparent")
		return &http.Response{StatusCode: http.StatusConflict, Header: http.Header{}, Body: http.NoBody,
			Request: r}, nil
	})
}

func ask(ctx context.Context, t *testing.T, rt http.RoundTripper, method, url string) {
	t.Helper()

	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	response, err := rt.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}

	response.Body.Close()
}

// TestTraces checks that a pass is a span whose children are the pass's requests. The spans are sent with the real
// protocol over the loopback interface.
func TestTraces(t *testing.T) {
	to := newReceiver(t)
	reg := prometheus.NewRegistry()

	traces, err := NewTraces(TracesOptions{Endpoint: to.server.URL, SamplingRatio: 1, Version: "1.2.3"}, logr.Discard(),
		NewMetrics(reg, MetricsOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	var reported string
	api := traces.Transport(apiServer(&reported))
	const pods = "https://api/api/v1/namespaces/jobs/pods"
	ask(t.Context(), t, api, http.MethodGet, pods) // outside of a pass

	if reported != "" {
		t.Errorf("a request of no pass is said to belong to trace %s", reported)
	}

	ctx, end := traces.Pass(t.Context(), "sparkapplication", types.NamespacedName{Namespace: "jobs", Name: "pi"})
	ask(ctx, t, api, http.MethodPost, pods)

	inPass := reported

	traces.Decided(ctx, lifecycle.New, lifecycle.Plan{
		Transitions: []lifecycle.Transition{{To: lifecycle.Launched,
			Cause: lifecycle.Cause{Reason: "Why", Message: "password=hunter2"}}},
		Actions: []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission}},
		Next:    lifecycle.Memory{Phase: lifecycle.Launched, Attempt: 3},
	})
	end(fmt.Errorf("create pod: %w",
		&apierrors.StatusError{ErrStatus: metav1.Status{Reason: "Boom \xff",
			Message: "env[0]: Invalid value: hunter2"}}))

	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}

	got := to.byName()

	pass, request := got["reconcile sparkapplication"], got["create pods"]
	if len(got) != 2 || pass == nil || request == nil {
		t.Fatalf("spans %v", got)
	}

	if to.path != "/v1/traces" {
		t.Errorf("sent to %s", to.path)
	}

	if !bytes.Equal(request.GetParentSpanId(), pass.GetSpanId()) ||
		!bytes.Equal(request.GetTraceId(), pass.GetTraceId()) || len(pass.GetParentSpanId()) != 0 {
		t.Error("the request's span is not below the pass's")
	}

	if !strings.Contains(inPass, "-") || len(request.GetSpanId()) != 8 ||
		request.GetKind() != tracepb.Span_SPAN_KIND_CLIENT || pass.GetKind() != tracepb.Span_SPAN_KIND_INTERNAL {
		t.Errorf("traceparent %q, kinds %s and %s", inPass, request.GetKind(), pass.GetKind())
	}

	if pass.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || pass.GetStatus().GetMessage() != "Boom ?" {
		t.Errorf("status %v", pass.GetStatus())
	}

	if pass.GetStartTimeUnixNano() == 0 || pass.GetEndTimeUnixNano() < request.GetEndTimeUnixNano() {
		t.Error("the times are not those of the pass")
	}

	if diff := cmp.Diff(map[string]string{
		"spark.kind": "sparkapplication", "k8s.namespace.name": "jobs", "spark.name": "pi", "spark.phase.from": "New",
		"spark.phase.to": "Launched",
		"spark.attempt":  "int_value:3", "spark.actions": "Create Submission",
	}, textOf(pass.GetAttributes())); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"service.name": "spark-operator", "service.version": "1.2.3"},
		textOf(to.resource)); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}

	if events := pass.GetEvents(); len(events) != 1 || textOf(events[0].GetAttributes())["spark.reason"] != "Why" ||
		strings.Contains(events[0].String(), "hunter2") {
		t.Errorf("events %v", events)
	}

	if status := textOf(request.GetAttributes())["http.response.status_code"]; !strings.HasSuffix(status, "409") {
		t.Errorf("the answer is %q", status)
	}

	wantSamples(t, reg, "sparkoperator_spans_dropped_total",
		map[string]float64{"sparkoperator_spans_dropped_total{}": 0})
}

// TestErrorsAreNotQuoted checks that a span contains the kind of an error but not its message.
func TestErrorsAreNotQuoted(t *testing.T) {
	const secret = "password=hunter2"
	for want, err := range map[string]error{
		"time-out": fmt.Errorf("write %s: %w", secret, context.DeadlineExceeded),
		"Invalid": fmt.Errorf("%s: %w", secret,
			apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, secret, nil)),
		"Conflict": apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p",
			errors.New(secret)),
		"Gateway Timeout": &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGatewayTimeout,
			Message: secret}},
		"rejected by the API server": &apierrors.StatusError{ErrStatus: metav1.Status{Message: secret}},
		"failed":                     errors.New(secret),
	} {
		if got := kindOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestCollectorThatHangs checks that every ended span is either sent or counted as dropped. Spans beyond the queue are
// counted like spans that a collector rejects.
func TestCollectorThatHangs(t *testing.T) {
	answer, asked := make(chan struct{}), make(chan struct{}, 100)
	to := newReceiver(t)
	hanging := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		asked <- struct{}{}

		<-answer
		to.ServeHTTP(out, in)
	}))
	defer hanging.Close()

	reg := prometheus.NewRegistry()

	traces, err := NewTraces(TracesOptions{Endpoint: hanging.URL, SamplingRatio: 1}, logr.Discard(),
		NewMetrics(reg, MetricsOptions{}))
	if err != nil {
		t.Fatal(err)
	}

	pass := func() {
		_, end := traces.Pass(t.Context(), "k", types.NamespacedName{Name: "pi"})
		end(nil)
	}
	const more = 500

	for range maxWaiting {
		pass()
	}

	<-asked // the collector has the first request and does not answer

	for range more {
		pass()
	}

	dropped := func() float64 {
		return samples(t, reg, "sparkoperator_spans_dropped_total")["sparkoperator_spans_dropped_total{}"]
	}
	if got := dropped(); got != more {
		t.Errorf("%v spans are counted as dropped, want %d", got, more)
	}

	close(answer)

	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}

	if got := len(to.spans); got != maxWaiting || dropped() != more {
		t.Errorf("%d spans were sent and %v dropped, of %d", got, dropped(), maxWaiting+more)
	}
}

// TestSampling checks that an unsampled pass has no span, and that its requests name no trace.
func TestSampling(t *testing.T) {
	to := newReceiver(t)

	traces, err := NewTraces(TracesOptions{Endpoint: to.server.URL + "/custom", SamplingRatio: 0}, logr.Discard(),
		NewMetrics(prometheus.NewRegistry(), MetricsOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	var reported string
	ctx, end := traces.Pass(t.Context(), "k", types.NamespacedName{Name: "pi"})
	ask(ctx, t, traces.Transport(apiServer(&reported)), http.MethodGet, "https://api/api/v1/pods")
	traces.Decided(ctx, lifecycle.New, lifecycle.Plan{})
	end(nil)

	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}

	if to.requests != 0 || reported != "" {
		t.Errorf("%d requests to the collector, traceparent %q", to.requests, reported)
	}
}

// TestCollectorInTrouble checks that spans that cannot be sent are counted and cause one log record, and that the
// errors of the collector affect nothing else.
func TestCollectorInTrouble(t *testing.T) {
	to := newReceiver(t)
	to.answer = http.StatusServiceUnavailable
	redirect := httptest.NewServer(http.RedirectHandler(to.server.URL, http.StatusTemporaryRedirect))
	defer redirect.Close()

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	for name, endpoint := range map[string]string{"it refuses": to.server.URL, "nobody is there": gone.URL,
		"it sends elsewhere": redirect.URL} {
		reg := prometheus.NewRegistry()
		var message bytes.Buffer

		log, err := NewLogger(&message, "info", "text")
		if err != nil {
			t.Fatal(err)
		}

		e, err := newExporter(endpoint, log, NewMetrics(reg, MetricsOptions{}))
		if err != nil {
			t.Fatal(err)
		}

		traces := newTraces(TracesOptions{SamplingRatio: 1}, sdktrace.WithSyncer(e))
		for range 3 {
			_, end := traces.Pass(t.Context(), "k", types.NamespacedName{Name: "pi"})
			end(nil)
		}

		if err := traces.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if got := samples(t, reg, "sparkoperator_spans_dropped_total")["sparkoperator_spans_dropped_total{}"]; got != 3 {
			t.Errorf("%s: %v spans are counted, want 3", name, got)
		}

		if lines := strings.Count(message.String(), "Dropped spans of traces"); lines != 1 {
			t.Errorf("%s: told %d times: %s", name, lines, message.String())
		}
	}

	if _, err := newExporter("https://a:b c", logr.Discard(), nil); err == nil {
		t.Error("a URL that is none is taken")
	}
}

// TestNoTraces checks that without an endpoint the operator calls no collector and changes no request.
func TestNoTraces(t *testing.T) {
	var traces *Traces
	var reported string
	rt := apiServer(&reported)
	ctx, end := traces.Pass(t.Context(), "k", types.NamespacedName{Name: "pi"})
	traces.Decided(ctx, lifecycle.New, lifecycle.Plan{})
	end(errors.New("x"))

	if ctx != t.Context() {
		t.Error("the context is another one")
	}

	if _, same := traces.Transport(rt).(transport); !same {
		t.Error("something stands between the client and the API server")
	}

	if err := traces.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkNoTraces(b *testing.B) {
	var traces *Traces
	key := types.NamespacedName{Namespace: "jobs", Name: "pi"}

	b.ReportAllocs()

	for b.Loop() {
		ctx, end := traces.Pass(b.Context(), "sparkapplication", key)
		traces.Decided(ctx, lifecycle.New, lifecycle.Plan{})
		end(nil)
	}
}

func BenchmarkTraces(b *testing.B) {
	traces := newTraces(TracesOptions{SamplingRatio: 1}, sdktrace.WithBatcher(discard{}))
	key := types.NamespacedName{Namespace: "jobs", Name: "pi"}

	b.ReportAllocs()

	for b.Loop() {
		ctx, end := traces.Pass(b.Context(), "sparkapplication", key)
		traces.Decided(ctx, lifecycle.New, lifecycle.Plan{})
		end(nil)
	}
}

type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }
