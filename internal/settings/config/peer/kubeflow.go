package peer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// This file lists the flags of kubeflow/spark-operator 2.5 and its master branch (cmd/operator/controller/start.go).

const (
	notLimited  = "the operator does not limit its requests; the API server's priority and fairness does"
	notQueued   = "the queue has no rate limit; only retries after errors are delayed"
	noSubmitter = "there is no submitter service; the controller creates the driver's objects itself"
	noTLS       = "metrics.authentication serves the metrics over TLS with fixed settings"
	fixedLog    = "the log's format is fixed"
)

var controllerFlags = []known{
	{name: "controller-threads", kind: number, field: "controller.workers"},
	{name: "namespaces", kind: texts, apply: namespaceNames},
	{name: "namespace-selector", kind: text, field: "namespaces.selector"},
	{name: "cache-sync-timeout", kind: period, field: "controller.cacheSyncTimeout"},
	{name: "max-tracked-executor-per-app", kind: number, field: "application.maxTrackedExecutorPerApp"},
	{name: "default-time-to-live-seconds", kind: number, field: "application.defaultTimeToLiveSeconds"},
	{name: "driver-pod-creation-grace-period", kind: period, field: "application.driverPodCreationGracePeriod"},
	{name: "enable-driver-pdb", kind: boolean, why: "an application's driverPodDisruptionBudget works without this flag"},
	{name: "workqueue-ratelimiter-bucket-qps", kind: number, why: notQueued},
	{name: "workqueue-ratelimiter-bucket-size", kind: number, why: notQueued},
	{name: "workqueue-ratelimiter-max-delay", kind: period, why: notQueued},
	{name: "kube-api-qps", kind: text, why: notLimited},
	{name: "kube-api-burst", kind: number, why: notLimited},
	{name: "enable-batch-scheduler", kind: boolean, field: "batchScheduler.enabled"},
	{name: "kube-scheduler-names", kind: texts, field: "batchScheduler.kubeSchedulerNames"},
	{name: "default-batch-scheduler", kind: text, field: "batchScheduler.default"},
	{name: "enable-ui-service", kind: boolean, field: "ui.service"},
	{name: "ingress-class-name", kind: text, field: "ui.ingress.className"},
	{name: "ingress-url-format", kind: text, field: "ui.ingress.urlFormat"},
	{name: "ingress-tls", kind: document, field: "ui.ingress.tls"},
	{name: "ingress-annotations", kind: document, field: "ui.ingress.annotations"},
	{name: "leader-election", kind: boolean, field: "leaderElection.enabled"},
	{name: "leader-election-lock-name", kind: text, field: "leaderElection.leaseName"},
	{name: "leader-election-lock-namespace", kind: text, field: "leaderElection.namespace"},
	{name: "leader-election-lease-duration", kind: period, field: "leaderElection.leaseDuration"},
	{name: "leader-election-renew-deadline", kind: period, field: "leaderElection.renewDeadline"},
	{name: "leader-election-retry-period", kind: period, field: "leaderElection.retryPeriod"},
	{name: "metrics-bind-address", kind: text, field: "metrics.bindAddress"},
	{name: "enable-metrics", kind: boolean, apply: enableMetrics}, // after the address, which it can set to "0"
	{name: "metrics-endpoint", kind: text, why: "metrics are served at /metrics; the kubeflow operator ignores this flag, too"},
	{name: "metrics-prefix", kind: text, field: "metrics.prefix"},
	{name: "metrics-labels", kind: texts, apply: metricsLabels},
	{name: "metrics-job-submit-latency-buckets", kind: numbers, field: "metrics.jobSubmitLatencyBuckets"},
	{name: "metrics-job-start-latency-buckets", kind: numbers, field: "metrics.jobStartLatencyBuckets"},
	{name: "secure-metrics", kind: boolean, apply: secureMetrics},
	{name: "metric-tls-min-version", kind: text, why: noTLS},
	{name: "metric-tls-cipher-suites", kind: texts, why: noTLS},
	{name: "health-probe-bind-address", kind: text, field: "health.bindAddress"},
	{name: "pprof-bind-address", kind: text, field: "pprof.bindAddress"},
	{name: "scheduled-spark-application-timestamp-precision", kind: text, field: "scheduledApplications.timestampPrecision"},
	{name: "submitter-service-url", kind: text, why: noSubmitter},
	{name: "submitter-startup-timeout", kind: period, why: noSubmitter},
	{name: "submitter-request-timeout", kind: period, why: noSubmitter},
	{name: "submitter-max-retries", kind: number, why: noSubmitter},
	{name: "submitter-initial-backoff", kind: period, why: noSubmitter},
	{name: "submitter-tls-enabled", kind: boolean, why: noSubmitter},
	{name: "submitter-tls-cert-file", kind: text, why: noSubmitter},
	{name: "submitter-tls-key-file", kind: text, why: noSubmitter},
	{name: "submitter-tls-ca-file", kind: text, why: noSubmitter},
	{name: "feature-gates", kind: texts, apply: featureGates, lost: lostGates},
	{name: "zap-devel", kind: boolean, apply: developmentLog}, // it must precede the flags that set the same fields
	{name: "zap-encoder", kind: text, apply: logEncoder},
	{name: "zap-log-level", kind: text, apply: logLevel},
	{name: "zap-stacktrace-level", kind: text, why: fixedLog},
	{name: "zap-time-encoding", kind: text, why: fixedLog},
}

// IgnoredEnvironment contains the environment variables that the kubeflow operator passes to its spark-submit. The
// value of each entry is the reason why the variable has no effect in this operator.
var IgnoredEnvironment = map[string]string{
	"SPARK_CONF_DIR":    "no spark-submit runs in the operator, so a spark-defaults.conf of its image has no effect; use an application's sparkConf or sparkConfigMap",
	"SPARK_SUBMIT_OPTS": "no spark-submit runs in the operator; use an application's driver.javaOptions",
	"HADOOP_CONF_DIR":   "no spark-submit runs in the operator; use an application's hadoopConfigMap",
}

// namespaceNames sets the served namespaces.
func namespaceNames(to overlay, value string) error {
	names, err := texts.read(value)
	if err != nil {
		return err
	}

	kept, anyLabels := named(names.([]any), any(""))
	if anyLabels {
		to.set("namespaces.selector", "")
	}

	to.set("namespaces.names", kept)
	return nil
}

// metricsLabels sets the labels of the metrics. An empty text means the default labels.
func metricsLabels(to overlay, value string) error {
	if strings.Trim(value, `" ,`) == "" {
		return nil
	}

	labels, err := texts.read(value)
	to.set("metrics.labels", labels)
	return err
}

func enableMetrics(to overlay, value string) error {
	on, err := strconv.ParseBool(value)
	if err == nil && !on {
		to.set("metrics.bindAddress", config.Off)
	}
	return err
}

func secureMetrics(_ overlay, value string) error {
	if on, err := strconv.ParseBool(value); err != nil || !on {
		return err
	}
	return fmt.Errorf("this flag does not enable TLS for metrics; remove the flag and use metrics.authentication, or a proxy in front of the controller")
}

// gates are the feature gates of the kubeflow operator. The feature of a gate is either always on in this operator, or
// has no counterpart.
var gates = []string{"PartialRestart", "LoadSparkDefaults", "RestSubmitter", "DefaultTimeToLive"}

// gatesOn returns the names of the gates that a flag's value switches on.
func gatesOn(value string) (names []string, _ error) {
	for gate := range strings.SplitSeq(value, ",") {
		name, on, found := strings.Cut(strings.TrimSpace(gate), "=")

		enabled, err := strconv.ParseBool(on)
		switch {
		case name == "" && !found:
		case !slices.Contains(gates, name):
			return nil, fmt.Errorf("unknown feature gate %q; the known gates are %s", name, strings.Join(gates, ", "))
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case enabled:
			names = append(names, name)
		}
	}
	return names, nil
}

// featureGates accepts the feature gates of the kubeflow operator, except LoadSparkDefaults. This operator has no
// counterpart of that gate, and applications that rely on it could fail.
func featureGates(_ overlay, value string) error {
	on, err := gatesOn(value)
	if slices.Contains(on, "LoadSparkDefaults") {
		return fmt.Errorf("LoadSparkDefaults: the operator reads no spark-defaults.conf; use each application's sparkConf, and remove the gate")
	}
	return err
}

// lostGates returns a text that lists the gates that are switched on and have no counterpart, with the reasons.
func lostGates(value string) string {
	on, _ := gatesOn(value) // featureGates has reported the error

	var why []string
	for _, name := range on {
		switch name {
		case "PartialRestart":
			why = append(why, "PartialRestart: an edit of spec.executor restarts the application, as other edits do")
		case "RestSubmitter":
			why = append(why, "RestSubmitter: "+noSubmitter)
		}
	}
	return strings.Join(why, "; ")
}

func developmentLog(to overlay, value string) error {
	on, err := strconv.ParseBool(value)
	if err == nil && on {
		to.set("logging.level", "debug")
		to.set("logging.format", "text")
	}
	return err
}

func logEncoder(to overlay, value string) error {
	switch value {
	case "console":
		to.set("logging.format", "text")
	case "json":
		to.set("logging.format", "json")
	default:
		return fmt.Errorf("must be json or console")
	}
	return nil
}

// logLevel sets the log level. It accepts zap's level names, and integers above 0, which all mean debug. The levels
// panic, dpanic and fatal become error.
func logLevel(to overlay, value string) error {
	level := strings.ToLower(value)
	if n, err := strconv.Atoi(level); err == nil && n > 0 {
		level = "debug"
	}

	switch level {
	case "debug", "info", "warn", "error":
	case "panic", "dpanic", "fatal":
		level = "error"
	default:
		return fmt.Errorf("must be debug, info, warn, error, panic or a number above 0")
	}

	to.set("logging.level", level)
	return nil
}
