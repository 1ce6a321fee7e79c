package peer

import "k8s.io/apimachinery/pkg/util/validation"

const (
	javaListener = "listeners are Java classes, which this operator cannot load; use its Events and metrics, or watch the custom resources"
	notPeriodic  = "the operator does not poll; a pass runs when an object changes or a deadline expires"
	notPaced     = "passes are not rate limited; only retries after errors are delayed, from 200 ms to a minute"
	errorsGoOn   = "failed requests are retried after growing delays of 200 ms to a minute, for as long as they are needed"
	notHeld      = "a change wakes a resource that is suspended, and its event comes once; the condition Ready stays"
	noGauge      = "the operator has metrics of its own, see docs/metrics.md"
)

// properties describes the properties of apache/spark-kubernetes-operator 1.1, which has all of 1.0. Their source is
// docs/config_properties.md in that repository. The order matters, because a property may depend on an earlier
// property. docs/migrate-apache.md in this repository explains the properties to users.
var properties = []property{
	{key: "spark.logConf", lay: boolTo("logging.configuration")},
	{key: "spark.redaction.regex", why: "the operator redacts Spark configurations in its log and messages by Spark's own default expression"},
	{key: peerPrefix + "periodicGC.intervalSeconds", why: "there is no JVM"},
	{key: peerPrefix + "name", lay: textTo("apache.operatorName", "the value is not valid as the value of a label", validation.IsValidLabelValue)},
	{key: peerPrefix + "namespace", lay: layNamespace},
	{key: watchedNamespaces, dynamic: true, lay: layNamespaces},
	{key: peerPrefix + "reconciler.labelSelector", lay: laySelector},
	{key: peerPrefix + "informer.terminateOnInformerFailureEnabled", why: "a failed watch is restarted and logged; readiness waits for the first lists"},
	{key: peerPrefix + "informer.cacheSyncTimeoutSeconds", lay: seconds("controller.cacheSyncTimeout")},
	{key: peerPrefix + "reconciler.terminationTimeoutSeconds", lay: seconds("controller.shutdownTimeout")},
	{key: peerPrefix + "reconciler.parallelism", lay: layParallelism},
	{key: peerPrefix + "reconciler.foregroundRequestTimeoutSeconds", dynamic: true, why: "the operator does not wait for deletions; a watch event reports the end of each"},
	{key: peerPrefix + "reconciler.intervalSeconds", dynamic: true, why: notPeriodic},
	{key: peerPrefix + "reconciler.missingDriverGracePeriodSeconds", dynamic: true, lay: seconds("apache.missingDriverGracePeriod")},
	{key: peerPrefix + "reconciler.missingDriverRequeueIntervalSeconds", dynamic: true, why: notPeriodic},
	{key: peerPrefix + "reconciler.trimStateTransitionHistoryEnabled", dynamic: true, lay: boolTo("apache.trimHistory")},
	{key: peerPrefix + "reconciler.appStatusListenerClassNames", why: javaListener},
	{key: peerPrefix + "reconciler.clusterStatusListenerClassNames", why: javaListener},
	{key: peerPrefix + "reconciler.suspendHoldRequeueIntervalSeconds", dynamic: true, why: notHeld},
	{key: peerPrefix + "kueue.enabled", lay: boolTo("kueue.enabled")},
	{key: peerPrefix + "events.enabled", dynamic: true, lay: boolTo("apache.events.enabled")},
	{key: peerPrefix + "events.excludedReasons", dynamic: true, lay: layExcluded},
	{key: peerPrefix + "events.minIntervalSeconds", dynamic: true, lay: layInterval},
	{key: peerPrefix + "dynamicConfig.enabled", lay: boolTo("dynamicConfig.enabled")},
	{key: peerPrefix + "dynamicConfig.source", lay: laySource},
	{key: peerPrefix + "dynamicConfig.selector", lay: layConfigSelector},
	{key: peerPrefix + "dynamicConfig.filePath", lay: textTo("dynamicConfig.file", "", func(string) []string { return nil })},
	{key: peerPrefix + "dynamicConfig.reloadIntervalSeconds", lay: layReload},
	{key: peerPrefix + "dynamicConfig.reconcilerParallelism", why: "one goroutine follows the dynamic settings"},
	{key: peerPrefix + "reconciler.rateLimiter.refreshPeriodSeconds", why: notPaced},
	{key: peerPrefix + "reconciler.rateLimiter.maxLoopForPeriod", why: notPaced},
	{key: peerPrefix + "reconciler.retry.initialIntervalSeconds", why: errorsGoOn},
	{key: peerPrefix + "reconciler.retry.intervalMultiplier", why: errorsGoOn},
	{key: peerPrefix + "reconciler.retry.maxIntervalSeconds", why: errorsGoOn},
	{key: peerPrefix + "api.retryMaxAttempts", why: errorsGoOn},
	{key: peerPrefix + "api.retryAttemptAfterSeconds", why: errorsGoOn},
	{key: peerPrefix + "api.statusPatchMaxAttempts", why: errorsGoOn},
	{key: peerPrefix + "api.secondaryResourceCreateMaxAttempts", why: errorsGoOn},
	{key: peerPrefix + "api.secondaryResourceCreateInitialBackoffMillis", why: errorsGoOn},
	{key: peerPrefix + "api.secondaryResourceCreateMaxBackoffMillis", why: errorsGoOn},
	{key: peerPrefix + "api.secondaryResourceCreateBackoffMultiplier", why: errorsGoOn},
	{key: peerPrefix + "api.secondaryResourceCreateBackoffJitterMillis", why: errorsGoOn},
	{key: peerPrefix + "metrics.josdkMetricsEnabled", why: noGauge},
	{key: peerPrefix + "metrics.clientMetricsEnabled", why: noGauge},
	{key: peerPrefix + "metrics.clientMetricsGroupByResponseCodeEnabled", why: noGauge},
	{key: peerPrefix + "metrics.path", lay: layPath},
	{key: peerPrefix + "metrics.port", lay: portTo("apache.metrics.bindAddress")},
	{key: peerPrefix + "metrics.prometheusTextBasedFormatEnabled", why: "the scraper chooses the format"},
	{key: peerPrefix + "metrics.sanitizePrometheusMetricsNameEnabled", why: "the names of all metrics are valid for Prometheus"},
	{key: peerPrefix + "health.probePort", lay: portTo("apache.health.bindAddress")},
	{key: peerPrefix + "health.sentinelExecutorPoolSize", why: "one goroutine probes the sentinels"},
	{key: peerPrefix + "health.sentinelResourceReconciliationDelaySeconds", dynamic: true, lay: layDelay},
	{key: peerPrefix + "leaderElection.enabled", lay: boolTo("leaderElection.enabled")},
	{key: peerPrefix + "leaderElection.leaseName", lay: textTo("leaderElection.leaseName", "the value is not the name of a Lease", validation.IsDNS1123Subdomain)},
	{key: peerPrefix + "leaderElection.leaseDurationSeconds", lay: seconds("leaderElection.leaseDuration")},
	{key: peerPrefix + "leaderElection.renewDeadlineSeconds", lay: seconds("leaderElection.renewDeadline")},
	{key: peerPrefix + "leaderElection.retryPeriodSeconds", lay: seconds("leaderElection.retryPeriod")},
}
