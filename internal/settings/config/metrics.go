package config

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Metrics configures the Prometheus endpoint and its metrics.
type Metrics struct {
	// BindAddress is the address as host:port. Default "127.0.0.1:8080", which is reachable only inside the pod.
	// ":8080" binds every address of the pod, and "0" switches the endpoint off.
	BindAddress string `json:"bindAddress,omitempty"`
	// Authentication serves the metrics over TLS, with a certificate that is created at the start. It serves them only
	// to clients whose bearer token has the right to get the path /metrics (nonResourceURLs). The operator needs the
	// right to create tokenreviews and subjectaccessreviews. Default false.
	Authentication bool `json:"authentication,omitempty"`
	// Prefix is the prefix of the metrics that dashboards for sparkoperator.k8s.io read. Hyphens become underscores.
	// Default none.
	Prefix string `json:"prefix,omitempty"`
	// Labels are the labels of the metrics that have the prefix: keys of labels of applications, and "namespace".
	// Characters that Prometheus does not allow in a label's name become underscores. If an application lacks a label,
	// the value of that label is "Unknown". Default [app_type]; an empty list means none.
	Labels *[]string `json:"labels,omitempty"`
	// OwnerLabel is the key of the label of custom resources by whose value the metrics count usage, beside the
	// namespace, such as "team". Default none.
	OwnerLabel string `json:"ownerLabel,omitempty"`
	// JobSubmitLatencyBuckets are the upper bounds of the histogram buckets for the time from an application's creation
	// to its submission, in seconds, ascending. Default 0.0625 to 256, each twice the one before.
	JobSubmitLatencyBuckets []float64 `json:"jobSubmitLatencyBuckets,omitempty"`
	// JobStartLatencyBuckets are the upper bounds of the histogram buckets for the time from an application's creation
	// until its driver runs, in seconds, ascending. Default 1 to 1024, each twice the one before.
	JobStartLatencyBuckets []float64 `json:"jobStartLatencyBuckets,omitempty"`
}

// Tracing configures traces, which the operator sends with the OpenTelemetry protocol over HTTP. Each pass is a span.
// Each request to the API server is a child of its pass's span.
type Tracing struct {
	// Endpoint is the collector's URL, such as https://collector.observability:4318. If it has no path, spans are sent
	// to /v1/traces. Default none: no traces.
	Endpoint string `json:"endpoint,omitempty"`
	// Insecure allows an endpoint without TLS (http). Default false.
	Insecure bool `json:"insecure,omitempty"`
	// SamplingRatio is the share of passes that are traced, from 0 to 1. Default 1.
	SamplingRatio *float64 `json:"samplingRatio,omitempty"`
}

func (m *Metrics) applyDefaults() {
	setDefault(&m.BindAddress, "127.0.0.1:8080")
	setDefault(&m.Labels, &[]string{"app_type"})
}

// maxMetricLabels limits the configured labels, because each label multiplies the number of series.
const maxMetricLabels = 10

// maxBuckets limits the buckets of a histogram. A scrape has a line for every bucket, multiplied by the number of the
// histogram's series.
const maxBuckets = 100

var (
	metricPrefix = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)
	metricLabel  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_./-]*$`)
	notInLabel   = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

func validateMetrics(c *Configuration) (errs field.ErrorList) {
	path, m := field.NewPath("metrics"), &c.Metrics
	if m.Prefix != "" && !metricPrefix.MatchString(m.Prefix) {
		errs = append(errs, field.Invalid(path.Child("prefix"), m.Prefix, "must be letters, digits, hyphens and underscores, and not begin with a digit or a hyphen"))
	}

	if len(*m.Labels) > maxMetricLabels {
		errs = append(errs, field.TooMany(path.Child("labels"), len(*m.Labels), maxMetricLabels))
	}

	var names []string
	for i, label := range *m.Labels {
		at, name := path.Child("labels").Index(i), notInLabel.ReplaceAllString(label, "_")
		switch {
		case !metricLabel.MatchString(label):
			errs = append(errs, field.Invalid(at, label, "must be a label's key: letters, digits, hyphens, underscores, dots and slashes, not beginning with a digit"))
		case strings.HasPrefix(name, "__"), name == "le", name == "quantile":
			errs = append(errs, field.Invalid(at, label, "is a name that Prometheus reserves"))
		case slices.Contains(names, name):
			errs = append(errs, field.Duplicate(at, label))
		}

		names = append(names, name)
	}

	errs = append(errs, optional(path.Child("ownerLabel"), m.OwnerLabel, validation.IsQualifiedName)...)
	errs = append(errs, validateBuckets(path.Child("jobSubmitLatencyBuckets"), m.JobSubmitLatencyBuckets)...)
	return append(errs, validateBuckets(path.Child("jobStartLatencyBuckets"), m.JobStartLatencyBuckets)...)
}

func validateBuckets(path *field.Path, buckets []float64) (errs field.ErrorList) {
	if len(buckets) > maxBuckets {
		errs = append(errs, field.TooMany(path, len(buckets), maxBuckets))
	}

	for i, bound := range buckets {
		switch {
		case bound <= 0 || math.IsInf(bound, 0) || math.IsNaN(bound):
			errs = append(errs, field.Invalid(path.Index(i), bound, "must be a number of seconds above 0"))
		case i > 0 && bound <= buckets[i-1]:
			errs = append(errs, field.Invalid(path.Index(i), bound, "must be greater than the previous bound"))
		}
	}
	return errs
}

func validateTracing(c *Configuration) (errs field.ErrorList) {
	path, t := field.NewPath("tracing"), &c.Tracing
	if r := *t.SamplingRatio; r < 0 || r > 1 || math.IsNaN(r) {
		errs = append(errs, field.Invalid(path.Child("samplingRatio"), r, "must be between 0 and 1"))
	}

	if t.Endpoint == "" {
		return errs
	}

	endpoint := path.Child("endpoint")

	u, err := url.Parse(t.Endpoint)
	switch {
	case err != nil:
		// The message omits the value, which may contain a password.
		errs = append(errs, field.Invalid(endpoint, "", "must be a URL such as https://collector:4318"))
	case u.User != nil:
		errs = append(errs, field.Forbidden(endpoint, "must not contain a user or a password: the configuration is not stored in a Secret"))
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "":
		errs = append(errs, field.Invalid(endpoint, t.Endpoint, "must be a URL such as https://collector:4318"))
	case u.Scheme == "http" && !t.Insecure:
		errs = append(errs, field.Invalid(endpoint, t.Endpoint, "is not encrypted; use https, or set tracing.insecure: true"))
	}
	return errs
}
