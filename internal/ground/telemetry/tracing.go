package telemetry

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// flushTimeout bounds the time that the process waits at its end for a collector that does not respond.
const flushTimeout = 5 * time.Second

// Traces creates a span for each pass over a custom resource, with a child span for each of its requests to the API
// server. A nil Traces creates none and costs nothing.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// TracesOptions configure the export of spans.
type TracesOptions struct {
	// Endpoint is the collector's URL. If it has no path, the path is /v1/traces.
	Endpoint string
	// SamplingRatio is the share of passes that are traced, 0 to 1.
	SamplingRatio float64
	// Version is the version of the operator, which becomes an attribute of the spans' resource.
	Version string
}

// NewTraces returns traces whose spans are sent to a collector in the background. Spans that cannot be sent are
// dropped, counted and logged at a limited rate.
func NewTraces(options TracesOptions, log logr.Logger, metrics *Metrics) (*Traces, error) {
	exporter, err := newExporter(options.Endpoint, log, metrics)
	if err != nil {
		return nil, err
	}
	return newTraces(options, sdktrace.WithSpanProcessor(exporter.queue())), nil
}

func newTraces(options TracesOptions, processing sdktrace.TracerProviderOption) *Traces {
	provider := sdktrace.NewTracerProvider(processing,
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(options.SamplingRatio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", Component), attribute.String("service.version", options.Version))),
	)
	return &Traces{provider: provider, tracer: provider.Tracer("github.com/sparkoperator/spark-operator")}
}

// Pass begins the span of a pass. The pass must use the returned context for its requests. At its end it must call the
// returned function with its own error, or with nil.
func (t *Traces) Pass(ctx context.Context, kind string, key types.NamespacedName) (_ context.Context, end func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}

	ctx, span := t.tracer.Start(ctx, "reconcile "+kind, trace.WithAttributes(
		attribute.String("spark.kind", kind), attribute.String("k8s.namespace.name", key.Namespace), attribute.String("spark.name", key.Name)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, kindOf(err))
		}

		span.End()
	}
}

// kindOf returns the kind of error that ended a pass, and not its message, because messages of an API server or an
// admission webhook may quote the tenant's objects. The log contains the message, and the failed request's span has the
// status code.
func kindOf(err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "time-out"
	case errors.As(err, &status):
		return cmp.Or(string(status.Status().Reason), http.StatusText(int(status.Status().Code)), "rejected by the API server")
	}
	return "failed"
}

// Decided adds the decision of a pass to the span of the pass, with the phase before it.
func (t *Traces) Decided(ctx context.Context, from lifecycle.Phase, plan lifecycle.Plan) {
	if t == nil {
		return
	}

	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}

	actions := make([]string, len(plan.Actions))
	for i, action := range plan.Actions {
		actions[i] = string(action.Verb) + " " + string(action.Part)
	}

	span.SetAttributes(
		attribute.String("spark.phase.from", phaseValue(from)), attribute.String("spark.phase.to", phaseValue(plan.Next.Phase)),
		attribute.Int("spark.attempt", int(plan.Next.Attempt)), attribute.StringSlice("spark.actions", actions))

	for _, t := range plan.Transitions {
		span.AddEvent("phase entered", trace.WithAttributes(
			attribute.String("spark.phase", phaseValue(t.To)), attribute.String("spark.outcome", string(t.Outcome)),
			attribute.String("spark.reason", t.Cause.Reason))) // without the message, which may quote a tenant's program
	}
}

// Transport returns a transport that creates a span for each request of a traced pass and sends the trace's ID to the
// API server. Other requests (watches, the lease, Events) have no span.
func (t *Traces) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return otelhttp.NewTransport(next,
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsSampled() }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			verb, resource := requestOf(r)
			return verb + " " + resource
		}),
	)
}

// Close sends the spans that are still in the queue. It waits at most flushTimeout.
func (t *Traces) Close() error {
	if t == nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return t.provider.Shutdown(ctx)
}
