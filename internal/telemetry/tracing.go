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

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// flushTimeout bounds how long the end of the process may wait for a collector that does not answer.
const flushTimeout = 5 * time.Second

// Traces makes a span of each pass over a custom resource, and below it one of each of its requests to the API server. A nil Traces makes
// none and costs nothing.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// TracesOptions say where spans go.
type TracesOptions struct {
	// Endpoint is the collector's URL; without a path, /v1/traces is meant.
	Endpoint string
	// SamplingRatio is the share of the passes that are traced, 0 to 1.
	SamplingRatio float64
	// Version of the operator, for the resource that the spans belong to.
	Version string
}

// NewTraces returns traces that are sent to a collector in the background. What cannot be sent is dropped, counted and logged now and then.
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

// Pass begins the span of a pass. The context that it returns is what the pass's requests are to be made with; end is to be called with the
// pass's error.
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

// kindOf says what sort of error ended a pass. Not its words: those of an API server or of an admission webhook may quote what was sent, which is a
// tenant's. The log of the same moment has them, and the span of the request that failed the answer's code.
func kindOf(err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "time-out"
	case errors.As(err, &status):
		return cmp.Or(string(status.Status().Reason), http.StatusText(int(status.Status().Code)), "refused by the API server")
	}
	return "failed"
}

// Decided adds to the pass's span what was decided in it, and from which phase.
func (t *Traces) Decided(ctx context.Context, from lifecycle.Phase, plan lifecycle.Plan) {
	if t == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	actions := make([]string, len(plan.Do))
	for i, action := range plan.Do {
		actions[i] = string(action.Verb) + " " + string(action.Part)
	}
	span.SetAttributes(
		attribute.String("spark.phase.from", phaseValue(from)), attribute.String("spark.phase.to", phaseValue(plan.Next.Phase)),
		attribute.Int("spark.attempt", int(plan.Next.Attempt)), attribute.StringSlice("spark.actions", actions))
	for _, t := range plan.Trail {
		span.AddEvent("phase entered", trace.WithAttributes(
			attribute.String("spark.phase", phaseValue(t.To)), attribute.String("spark.outcome", string(t.Outcome)),
			attribute.String("spark.reason", t.Cause.Reason))) // not the message: it may quote a tenant's program
	}
}

// Transport makes a span of each request that belongs to a pass that is traced, and tells the API server to which trace it belongs. Other
// requests (watches, the lease, events) have none.
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

// Close sends what is left, for at most a few seconds.
func (t *Traces) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return t.provider.Shutdown(ctx)
}
