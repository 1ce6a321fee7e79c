package peer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// DefaultPropertiesFile is the path at which the chart of the operator of spark.apache.org mounts the properties file.
const DefaultPropertiesFile = "/opt/spark-operator/conf/spark-operator.properties"

const (
	// peerPrefix is the prefix of the properties of the operator of spark.apache.org.
	peerPrefix = "spark.kubernetes.operator."
	// watchedNamespaces is the property for the served namespaces. Without this property, the operator of
	// spark.apache.org serves only one namespace.
	watchedNamespaces = peerPrefix + "watchedNamespaces"
)

// property describes a property of the operator of spark.apache.org (its class SparkOperatorConf).
type property struct {
	key string
	// dynamic is true if the property may change while the operator of spark.apache.org runs.
	dynamic bool
	// lay sets the value in the configuration file. A refusal stops the start, because the operator must not run with
	// half of the intended settings. A remark is logged, and the value counts. If lay returns any other error, the value
	// is ignored.
	lay func(overlay, string) error
	// why is the reason why the property has no effect; empty if it has one.
	why string
}

// refusal is an error for a value that the operator must not ignore, because without the value the operator would do
// more than was requested.
type refusal string

func (r refusal) Error() string { return string(r) }

// remark is a note about a value that counts, but not in every way that a user may expect.
type remark string

func (r remark) Error() string { return string(r) }

// servesMore returns a refusal of an invalid value that selects what the operator serves.
func servesMore(format string, args ...any) error {
	return refusal(fmt.Sprintf(format, args...) +
		"; correct the value: if the operator ignored it, it would serve more namespaces or objects than you requested")
}

// readProperties parses the text of a properties file.
func readProperties(text string) (map[string]string, error) {
	c, err := conf.UnmarshalProperties(text)
	if err != nil {
		return nil, fmt.Errorf("not a properties file: %w", err)
	}
	return c.Map(), nil
}

// LoadProperties reads the properties file at path.
func LoadProperties(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the properties: %w", err)
	}

	values, err := readProperties(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// propertiesOver returns the fields of the configuration file that a properties file sets, and the properties that have
// no effect. It also reports a properties file that does not set the served namespaces, because the two operators have
// different defaults: the operator of spark.apache.org serves one namespace, and this operator serves all.
func propertiesOver(path string) (overlay, []Unused, error) {
	values, err := LoadProperties(path)
	if err != nil {
		return nil, nil, err
	}

	laid := overlay{}
	sparkConf, others, denied := applicationProperties(values)

	unused, err := layProperties(laid, others)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}

	unused = append(unused, denied...)

	if len(sparkConf) > 0 {
		laid["defaults"] = []any{map[string]any{"name": propertiesEntry, "sparkConf": sparkConf}}
	}

	if strings.TrimSpace(values[watchedNamespaces]) == "" {
		unused = append(unused, Unused{Name: watchedNamespaces, Property: true,
			Why: "the property is not set: in this case the Apache operator serves the namespace default, but this operator serves the namespaces of its configuration file (by default all)"})
	}
	return laid, unused, nil
}

// propertiesEntry is the name of the entry in the configuration field "defaults" that contains the Spark configuration
// from the properties file.
const propertiesEntry = "operator-properties"

// applicationProperties splits the content of the properties file of the operator of spark.apache.org into three parts:
//
//   - sparkConf: Spark configuration, which both operators use as the default for all applications and clusters.
//   - others: properties that configure the operator.
//   - denied: Spark configuration that cannot have a default.
func applicationProperties(values map[string]string) (sparkConf map[string]any, others map[string]string, denied []Unused) {
	sparkConf, others = map[string]any{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		known := slices.ContainsFunc(properties, func(p property) bool { return p.key == key })
		switch why := platformdefaults.DeniedKey(key); {
		case known, !strings.HasPrefix(key, "spark."), strings.HasPrefix(key, peerPrefix), strings.HasPrefix(key, "spark.metrics.conf."):
			others[key] = values[key]
		case why != "":
			denied = append(denied, Unused{Name: key, Why: "it cannot be a default of applications: " + why, Property: true})
		default:
			sparkConf[key] = values[key]
		}
	}
	return sparkConf, others, denied
}

// layProperties writes the given properties into a configuration file, in the order of the entries in the variable
// `properties`. It returns the properties that have no effect. It treats a property with a blank value as not set.
func layProperties(to overlay, values map[string]string) (unused []Unused, _ error) {
	for _, p := range properties {
		value := strings.TrimSpace(values[p.key])
		switch {
		case value == "":
		case p.why != "":
			unused = append(unused, Unused{Name: p.key, Why: p.why, Property: true})
		default:
			why, err := p.layValue(to, value)
			if err != nil {
				return nil, err
			}

			if why != "" {
				unused = append(unused, Unused{Name: p.key, Why: why, Property: true})
			}
		}
	}

	completeLease(to, values)
	return append(unused, unknownProperties(values)...), nil
}

// layValue sets the value of a property in a configuration file. It returns why the value is ignored, or does not have
// the whole effect. The error is a refusal.
func (p *property) layValue(to overlay, value string) (why string, _ error) {
	err := p.lay(to, value)
	if err == nil {
		return "", nil
	}

	if _, refused := errors.AsType[refusal](err); refused {
		return "", fmt.Errorf("%s: %w", p.key, err)
	}

	if _, counts := errors.AsType[remark](err); counts {
		return err.Error(), nil
	}
	return err.Error() + "; it is ignored", nil
}

// unknownProperties returns the given properties that have no entry in the variable `properties`.
func unknownProperties(values map[string]string) (unused []Unused) {
	for key := range values {
		if slices.ContainsFunc(properties, func(p property) bool { return p.key == key }) {
			continue
		}

		why := "there is no such property"
		if strings.HasPrefix(key, "spark.metrics.conf.") {
			why = "sinks of metrics are Java classes, which this operator cannot load; it serves Prometheus metrics (docs/metrics.md)"
		}

		unused = append(unused, Unused{Name: key, Why: why, Property: true})
	}

	slices.SortFunc(unused, func(a, b Unused) int { return strings.Compare(a.Name, b.Name) })
	return unused
}

// completeLease completes the durations of the lease. If the properties set one duration, the other durations get the
// defaults of the operator of spark.apache.org, because a single duration might not fit the defaults of this operator.
func completeLease(to overlay, values map[string]string) {
	durations := []struct{ key, field, seconds string }{
		{peerPrefix + "leaderElection.leaseDurationSeconds", "leaderElection.leaseDuration", "180s"},
		{peerPrefix + "leaderElection.renewDeadlineSeconds", "leaderElection.renewDeadline", "120s"},
		{peerPrefix + "leaderElection.retryPeriodSeconds", "leaderElection.retryPeriod", "5s"},
	}
	given := func(key string) bool { return seconds("")(overlay{}, strings.TrimSpace(values[key])) == nil }

	some := false
	for _, d := range durations {
		some = some || given(d.key)
	}

	for _, d := range durations {
		if some && !given(d.key) {
			to.set(d.field, d.seconds)
		}
	}
}

// Override returns the configuration with the given properties merged over it, and the given properties that have no
// effect. Only dynamic properties have an effect: those that may change while the operator runs. If Override returns an
// error, none of the properties can be used, and the caller keeps its configuration.
func Override(c *config.Configuration, values map[string]string) (config.Configuration, []Unused, error) {
	laid, changing := overlay{}, map[string]string{}

	var unused []Unused
	for key, value := range values {
		i := slices.IndexFunc(properties, func(p property) bool { return p.key == key })
		switch {
		case i >= 0 && properties[i].dynamic:
			changing[key] = value
		case i >= 0:
			unused = append(unused, Unused{Name: key, Why: "it is read only when the operator starts, not from the dynamic settings", Property: true})
		default:
			unused = append(unused, Unused{Name: key, Why: "there is no such property", Property: true})
		}
	}

	slices.SortFunc(unused, func(a, b Unused) int { return strings.Compare(a.Name, b.Name) })

	more, err := layProperties(laid, changing)
	if err != nil {
		return config.Configuration{}, nil, err
	}

	next, err := withOverlay(c, laid)
	return next, append(unused, more...), err
}

// withOverlay returns the configuration with some fields of a configuration file merged over it.
func withOverlay(c *config.Configuration, over overlay) (config.Configuration, error) {
	file, err := asOverlay(c)
	if err != nil {
		return config.Configuration{}, err
	}

	file.merge(over)
	return file.parse()
}

// textTo returns a function that sets the named field to the text of a property, unchanged. If the check finds problems
// in the text, the error begins with the given words.
func textTo(field, words string, check func(string) []string) func(overlay, string) error {
	return func(to overlay, value string) error {
		if problems := check(value); len(problems) > 0 {
			return errors.New(words + ": " + problems[0])
		}

		to.set(field, value)
		return nil
	}
}

// boolTo returns a function that sets the named field to the boolean value of a property, in any case of letters.
func boolTo(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		lower := strings.ToLower(value)
		if lower != "true" && lower != "false" {
			return errors.New("the value must be true or false")
		}

		to.set(field, lower == "true")
		return nil
	}
}

// seconds returns a function that sets the named field to the value of a property: a number of seconds, an integer
// above 0.
func seconds(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
			return errors.New("the value must be an integer")
		case n < 1 || n > config.MaxSeconds:
			return errors.New("the value must be at least 1 second and at most 100 years")
		}

		to.set(field, (time.Duration(n) * time.Second).String())
		return nil
	}
}

// portTo returns a function that sets the named field to a bind address with the port that a property gives, on all IP
// addresses of the pod.
func portTo(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 {
			return errors.New("the value must be a port between 1 and 65535")
		}

		to.set(field, ":"+value)
		return nil
	}
}

// layInterval sets the shortest time between two equal events. 0 writes all events.
func layInterval(to overlay, value string) error {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n == 0 {
		to.set("apache.events.minInterval", "0s")
		return nil
	}
	return seconds("apache.events.minInterval")(to, value)
}

// layExcluded sets the expressions that exclude events by their reasons. As in the operator of spark.apache.org, an
// expression that is invalid excludes the reason that is equal to it. An expression that is valid only in Java counts
// as invalid.
func layExcluded(to overlay, value string) error {
	var (
		expressions []any
		invalid     []string
	)

	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}

		if _, err := config.ReasonExpression(text); err != nil {
			invalid, text = append(invalid, strconv.Quote(text)), regexp.QuoteMeta(text)
		}

		expressions = append(expressions, text)
	}

	to.set("apache.events.excludedReasons", expressions)

	if len(invalid) > 0 {
		return remark("no regular expression in the syntax of RE2 (which has no lookaround, backreferences and possessive quantifiers), so it excludes only a reason that is equal to it: " +
			strings.Join(invalid, ", "))
	}
	return nil
}

func layParallelism(to overlay, value string) error {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return errors.New("the value must be an integer")
	case n < 1:
		return errors.New("the value must be at least 1: an unlimited number of workers is not supported")
	case n > config.MaxWorkers:
		return fmt.Errorf("the value must be at most %d", config.MaxWorkers)
	}

	to.set("controller.workers", n)
	return nil
}

// layNamespaces sets the served namespaces. The value * means all namespaces, whatever their labels.
func layNamespaces(to overlay, value string) error {
	var names []any
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		switch name {
		case "":
			continue
		case "*":
			to.set("namespaces.names", []any{})
			to.set("namespaces.selector", "")
			return nil
		}

		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return servesMore("%q is not the name of a namespace: %s", name, problems[0])
		}

		if !slices.Contains(names, any(name)) {
			names = append(names, name)
		}
	}

	if len(names) == 0 {
		return servesMore("the value names no namespace; write * for all namespaces")
	}

	to.set("namespaces.names", names)
	return nil
}

func laySelector(to overlay, value string) error {
	if _, err := labels.Parse(value); err != nil {
		return servesMore("the value is not a label selector: %v", err)
	}

	to.set("apache.labelSelector", value)
	return nil
}

// laySource sets the source of dynamic settings. Any value but "file" means ConfigMaps, as in the operator of
// spark.apache.org.
func laySource(to overlay, value string) error {
	source := config.SourceConfigMap
	if value == "file" {
		source = config.SourceFile
	}

	to.set("dynamicConfig.source", source)
	return nil
}

// layReload sets the reload interval. A number below 1 means the default of the operator of spark.apache.org.
func layReload(to overlay, value string) error {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n < 1 {
		value = "60"
	}
	return seconds("dynamicConfig.reloadInterval")(to, value)
}

// layNamespace sets the namespace of the lease and of the ConfigMaps with dynamic settings.
func layNamespace(to overlay, value string) error {
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return errors.New("the value is not the name of a namespace: " + problems[0])
	}

	to.set("leaderElection.namespace", value)
	to.set("dynamicConfig.namespace", value)
	return nil
}

// layDelay sets the delay between probes of the sentinels. It also switches the probes on, because a user sets the
// delay only if there are sentinels.
func layDelay(to overlay, value string) error {
	if err := seconds("apache.sentinels.delay")(to, value); err != nil {
		return err
	}

	to.set("apache.sentinels.enabled", true)
	return nil
}

// layConfigSelector sets the label selector of the ConfigMaps with dynamic settings.
func layConfigSelector(to overlay, value string) error {
	if selector, err := labels.Parse(value); err != nil || selector.Empty() {
		return errors.New("the value is not a label selector, or it selects everything")
	}

	to.set("dynamicConfig.selector", value)
	return nil
}

// layPath sets the HTTP path of the metrics.
func layPath(to overlay, value string) error {
	if !config.IsPath(value) {
		return errors.New("it " + config.NotPath)
	}

	to.set("apache.metrics.path", value)
	return nil
}
