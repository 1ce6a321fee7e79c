package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// exportTimeout bounds one request to the collector.
	exportTimeout = 10 * time.Second
	// complainAgain is the minimum time between two log messages about a failing collector.
	complainAgain = time.Minute
	// maxWaiting is the largest number of spans that wait for the collector. That is about a hundred passes with their
	// requests.
	maxWaiting = 2048
	tracesPath = "/v1/traces"
)

// exporter sends spans in OTLP over HTTP with protobuf (opentelemetry.io/docs/specs/otlp, OTLP/HTTP). OpenTelemetry's
// own exporter is not used, because it links all of gRPC, which would make the operator's image a third larger.
type exporter struct {
	endpoint string
	client   *http.Client
	log      logr.Logger
	metrics  *Metrics
	waiting  atomic.Int64 // spans in the queue that were not sent to the collector yet

	mu         sync.Mutex
	complained time.Time
}

func newExporter(endpoint string, log logr.Logger, metrics *Metrics) (*exporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint of traces: %w", err)
	}

	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	// The transport uses the process's proxies and root certificates. A redirect is an error, because it could lead to
	// a connection without TLS.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client := &http.Client{Transport: transport, Timeout: exportTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &exporter{endpoint: u.String(), client: client, log: log, metrics: metrics}, nil
}

// ExportSpans implements sdktrace.SpanExporter. It counts and logs errors itself and never returns an error.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	defer e.waiting.Add(-int64(len(spans)))

	if err := e.send(ctx, spans); err != nil {
		e.metrics.SpansDropped(len(spans))
		e.complain(err, len(spans))
	}
	return nil
}

// spanLimiter is a span processor that limits the spans in OpenTelemetry's batch queue. The batch queue drops spans
// without reporting them, so a span beyond the limit does not enter the batch queue but is counted and logged here.
type spanLimiter struct {
	sdktrace.SpanProcessor
	to *exporter
}

func (e *exporter) queue() sdktrace.SpanProcessor {
	return spanLimiter{sdktrace.NewBatchSpanProcessor(e, sdktrace.WithMaxQueueSize(maxWaiting)), e}
}

// OnEnd implements sdktrace.SpanProcessor.
func (q spanLimiter) OnEnd(span sdktrace.ReadOnlySpan) {
	if q.to.waiting.Add(1) > maxWaiting {
		q.to.waiting.Add(-1)
		q.to.metrics.SpansDropped(1)
		q.to.complain(errors.New("the collector accepts spans more slowly than they arrive"), 1)
		return
	}

	q.SpanProcessor.OnEnd(span)
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) complain(err error, spans int) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if time.Since(e.complained) < complainAgain {
		return
	}

	e.complained = time.Now()
	e.log.Info("Dropped spans of traces", "spans", spans, "cause", err.Error())
}

func (e *exporter) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	content, err := proto.Marshal(requestFor(spans))
	if err != nil {
		return err
	}
	var packed bytes.Buffer

	z := gzip.NewWriter(&packed)
	if _, err := z.Write(content); err != nil {
		return err
	}

	if err := z.Close(); err != nil {
		return err
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, &packed)
	if err != nil {
		return err
	}

	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("User-Agent", Component)

	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil { // reuse the connection
		return err
	}

	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", e.endpoint, response.Status)
	}
	return nil
}

// requestFor returns the request that exports the spans. It has one resource, because all spans come from one process.
func requestFor(spans []sdktrace.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	byScope := map[string]*tracepb.ScopeSpans{}

	resource := &tracepb.ResourceSpans{Resource: &resourcepb.Resource{Attributes: keyValues(spans[0].Resource().Attributes())}}
	for _, span := range spans {
		scope := span.InstrumentationScope()

		entry := byScope[scope.Name]
		if entry == nil {
			entry = &tracepb.ScopeSpans{Scope: &common.InstrumentationScope{Name: scope.Name, Version: scope.Version}}
			byScope[scope.Name] = entry
			resource.ScopeSpans = append(resource.ScopeSpans, entry)
		}

		entry.Spans = append(entry.Spans, spanMessage(span))
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{resource}}
}

func spanMessage(span sdktrace.ReadOnlySpan) *tracepb.Span {
	traceID, id := span.SpanContext().TraceID(), span.SpanContext().SpanID()

	message := &tracepb.Span{
		TraceId: traceID[:], SpanId: id[:], Name: valid(span.Name()), Kind: spanKind(span.SpanKind()), Attributes: keyValues(span.Attributes()),
		StartTimeUnixNano: uint64(span.StartTime().UnixNano()), EndTimeUnixNano: uint64(span.EndTime().UnixNano()),
		Flags: uint32(span.SpanContext().TraceFlags()),
	}
	if parent := span.Parent().SpanID(); parent.IsValid() {
		message.ParentSpanId = parent[:]
	}

	switch status := span.Status(); status.Code {
	case codes.Error:
		message.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: valid(status.Description)}
	case codes.Ok:
		message.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK}
	}

	for _, event := range span.Events() {
		message.Events = append(message.Events, &tracepb.Span_Event{
			Name: event.Name, TimeUnixNano: uint64(event.Time.UnixNano()), Attributes: keyValues(event.Attributes),
		})
	}
	return message
}

func spanKind(kind trace.SpanKind) tracepb.Span_SpanKind {
	if kind == trace.SpanKindClient {
		return tracepb.Span_SPAN_KIND_CLIENT
	}
	return tracepb.Span_SPAN_KIND_INTERNAL
}

func keyValues(attributes []attribute.KeyValue) []*common.KeyValue {
	out := make([]*common.KeyValue, len(attributes))
	for i, a := range attributes {
		out[i] = &common.KeyValue{Key: string(a.Key), Value: anyValue(a.Value)}
	}
	return out
}

// anyValue converts a value of an attribute. Types that the operator's spans do not use become text.
func anyValue(value attribute.Value) *common.AnyValue {
	switch value.Type() {
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: value.AsBool()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value.AsInt64()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: value.AsFloat64()}}
	case attribute.STRINGSLICE:
		list := &common.ArrayValue{}
		for _, text := range value.AsStringSlice() {
			list.Values = append(list.Values, textValue(text))
		}
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	}
	return textValue(value.String())
}

func textValue(text string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(text)}}
}

// valid returns the text as valid UTF-8, because protobuf can encode no other text.
func valid(text string) string { return strings.ToValidUTF8(text, "?") }
