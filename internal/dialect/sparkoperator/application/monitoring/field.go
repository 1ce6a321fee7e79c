package monitoring

import (
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
)

// Field returns "spec.monitoring" if this field sets a configuration key (Configure). If it adds the
// exporter to the user's options of a JVM, Field returns the entry of sparkConf that contains these options,
// or "" if javaOptions contains them.
//
// The rules of the platform also judge the keys of metrics that have no role, although the operator chooses most of
// their values. Otherwise users could configure any sink in metricsProperties in spite of a rule that denies
// spark.metrics.conf.
func Field(app *v1beta2.SparkApplication, key string) string {
	const field = "spec.monitoring"

	switch {
	case app.Spec.Monitoring == nil:
		return ""
	case key == confUIPrometheus, strings.HasPrefix(key, "spark.metrics."):
		return field
	}

	m, typed := settingsOf(&app.Spec), fields.Application.Sets(app, key)
	for _, role := range roles {
		switch {
		case isScrapeKey(key, fields.PodKey(role, "annotations")) && (m.runsAgent(role) || !typed):
			return field // the exporter overrides the annotations of the user; the servlet does not
		case key != fields.PodKey(role, "javaOptions") || !m.runsAgent(role) || typed:
			continue
		}

		if _, written := app.Spec.SparkConf[key]; written {
			return dialect.ConfField(key)
		}
		return field
	}

	if isScrapeKey(key, fields.PodKey("driver", "serviceAnnotations")) && !typed {
		return field
	}
	return ""
}

// isScrapeKey reports whether a key with the given prefix sets an annotation by which Prometheus finds a port.
func isScrapeKey(key, prefix string) bool {
	name, ok := strings.CutPrefix(key, prefix)
	return ok && (name == scrapeAnnotation || name == portAnnotation || name == pathAnnotation)
}
