package peer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// DefaultPropertiesFile is where the chart of the operator of spark.apache.org mounts its properties.
const DefaultPropertiesFile = "/opt/spark-operator/conf/spark-operator.properties"

const (
	// peerPrefix begins the names of that operator's own properties.
	peerPrefix = "spark.kubernetes.operator."
	// watchedNamespaces has that operator serve one namespace where it is left out.
	watchedNamespaces = peerPrefix + "watchedNamespaces"
)

// property is what a property of the operator of spark.apache.org means here (its class SparkOperatorConf).
type property struct {
	key string
	// dynamic ones may change while that operator runs.
	dynamic bool
	// lay lays the value over the file. An error wrapping errRefused stops the start, as nothing may be done by half of what was meant; any other lets
	// the value go.
	lay func(overlay, string) error
	// why tells why the property has no effect, where it has none.
	why string
}

// errRefused marks a value that cannot be used and cannot be left out either: without it more would be served than was asked for.
var errRefused = errors.New("it cannot be left out, since more would be served than was asked for")

// refused says what is wrong with a value that cannot be left out.
func refused(format string, args ...any) error {
	return fmt.Errorf("%s; %w", fmt.Sprintf(format, args...), errRefused)
}

// readProperties reads the properties in a file's text.
func readProperties(text string) (map[string]string, error) {
	c, err := conf.UnmarshalProperties(text)
	if err != nil {
		return nil, fmt.Errorf("not properties: %w", err)
	}
	return c.Map(), nil
}

// LoadProperties reads a file of properties.
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

// propertiesOver is what a file of properties lays over a configuration file. Where it leaves out which namespaces are served, that is told: it does not mean
// here what it means to that operator.
func propertiesOver(path string) (overlay, []Unused, error) {
	values, err := LoadProperties(path)
	if err != nil {
		return nil, nil, err
	}
	laid := overlay{}
	unused, err := layProperties(laid, values)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if strings.TrimSpace(values[watchedNamespaces]) == "" {
		unused = append(unused, Unused{Name: watchedNamespaces, Property: true,
			Why: "it is left out, by which that operator serves the namespace default; this one goes by namespaces in its configuration file, by default all of them"})
	}
	return laid, unused, nil
}

// layProperties lays the properties over a configuration file, in the order of the table, and returns those that have no effect. A blank value means
// what no value does.
func layProperties(to overlay, values map[string]string) (unused []Unused, _ error) {
	for _, p := range properties {
		value := strings.TrimSpace(values[p.key])
		switch {
		case value == "":
		case p.why != "":
			unused = append(unused, Unused{Name: p.key, Why: p.why, Property: true})
		default:
			err := p.lay(to, value)
			switch {
			case errors.Is(err, errRefused):
				return nil, fmt.Errorf("%s: %w", p.key, err)
			case err != nil:
				unused = append(unused, Unused{Name: p.key, Why: err.Error() + "; it counts as left out", Property: true})
			}
		}
	}
	completeLease(to, values)
	return append(unused, unknownProperties(values)...), nil
}

// unknownProperties tells the properties that the table does not have.
func unknownProperties(values map[string]string) (unused []Unused) {
	for key := range values {
		if slices.ContainsFunc(properties, func(p property) bool { return p.key == key }) {
			continue
		}
		why := "there is no such property"
		if strings.HasPrefix(key, "spark.metrics.conf.") {
			why = "sinks of metrics are Java classes; Prometheus metrics are served, see docs/metrics.md"
		}
		unused = append(unused, Unused{Name: key, Why: why, Property: true})
	}
	slices.SortFunc(unused, func(a, b Unused) int { return strings.Compare(a.Name, b.Name) })
	return unused
}

// completeLease gives the durations of the lease that a file leaves out that operator's defaults, where it has any of them: one alone need not go with ours.
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

// Override returns the configuration with what the dynamic ones of the properties say laid over it, and tells the properties that have no effect. An
// error says that the properties cannot be used at all; then everything stays as it was.
func Override(c *config.Configuration, values map[string]string) (config.Configuration, []Unused, error) {
	laid, changing := overlay{}, map[string]string{}
	var unused []Unused
	for key, value := range values {
		i := slices.IndexFunc(properties, func(p property) bool { return p.key == key })
		switch {
		case i >= 0 && properties[i].dynamic:
			changing[key] = value
		case i >= 0:
			unused = append(unused, Unused{Name: key, Why: "it is read at the start only", Property: true})
		default:
			unused = append(unused, Unused{Name: key, Why: "there is no such property", Property: true})
		}
	}
	slices.SortFunc(unused, func(a, b Unused) int { return strings.Compare(a.Name, b.Name) })
	more, err := layProperties(laid, changing)
	if err != nil {
		return config.Configuration{}, nil, err
	}
	next, err := with(c, laid)
	return next, append(unused, more...), err
}

// with returns the configuration with a part of a file laid over it.
func with(c *config.Configuration, over overlay) (config.Configuration, error) {
	file, err := asOverlay(c)
	if err != nil {
		return config.Configuration{}, err
	}
	file.merge(over)
	return file.parse()
}

// toField lays a text as it is.
func toField(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		to.set(field, value)
		return nil
	}
}

// boolTo reads true or false.
func boolTo(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		if value != "true" && value != "false" {
			return errors.New("it is neither true nor false")
		}
		to.set(field, value == "true")
		return nil
	}
}

// seconds reads a whole number of seconds above 0.
func seconds(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
			return errors.New("it is no whole number")
		case n < 1 || n > config.MaxSeconds:
			return errors.New("it is not more than 0 seconds, or more than 100 years")
		}
		to.set(field, (time.Duration(n) * time.Second).String())
		return nil
	}
}

// portTo reads a port, and has what is there served at it on all addresses.
func portTo(field string) func(overlay, string) error {
	return func(to overlay, value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 {
			return errors.New("it is no port between 1 and 65535")
		}
		to.set(field, ":"+value)
		return nil
	}
}

func layParallelism(to overlay, value string) error {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return errors.New("it is no whole number")
	case n < 1:
		return errors.New("there is no number of workers without a bound")
	case n > config.MaxWorkers:
		return fmt.Errorf("it is more than %d", config.MaxWorkers)
	}
	to.set("controller.workers", n)
	return nil
}

// layNamespaces takes * for all namespaces, whatever their labels.
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
			return refused("%q is no name of a namespace: %s", name, problems[0])
		}
		if !slices.Contains(names, any(name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return refused("it names no namespace; * means all of them")
	}
	to.set("namespaces.names", names)
	return nil
}

func laySelector(to overlay, value string) error {
	if _, err := labels.Parse(value); err != nil {
		return refused("it is no selector over labels: %v", err)
	}
	to.set("apache.labelSelector", value)
	return nil
}

// laySource takes anything but file for ConfigMaps, as that operator does.
func laySource(to overlay, value string) error {
	source := config.SourceConfigMap
	if value == "file" {
		source = config.SourceFile
	}
	to.set("dynamicConfig.source", source)
	return nil
}

// layReload takes what is no time for that operator's default.
func layReload(to overlay, value string) error {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n < 1 {
		value = "60"
	}
	return seconds("dynamicConfig.reloadInterval")(to, value)
}

// layNamespace is where the lease and the ConfigMaps of dynamic settings are.
func layNamespace(to overlay, value string) error {
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return errors.New("it is no name of a namespace: " + problems[0])
	}
	to.set("leaderElection.namespace", value)
	to.set("dynamicConfig.namespace", value)
	return nil
}

// layName is a label's value.
func layName(to overlay, value string) error {
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return errors.New("it is no value of a label: " + problems[0])
	}
	to.set("apache.operatorName", value)
	return nil
}

// layDelay switches the probes on: who gave a delay has sentinels.
func layDelay(to overlay, value string) error {
	if err := seconds("apache.sentinels.delay")(to, value); err != nil {
		return err
	}
	to.set("apache.sentinels.enabled", true)
	return nil
}

// layConfigSelector is a selector of ConfigMaps.
func layConfigSelector(to overlay, value string) error {
	if selector, err := labels.Parse(value); err != nil || selector.Empty() {
		return errors.New("it is no selector over labels, or selects everything")
	}
	to.set("dynamicConfig.selector", value)
	return nil
}

func layLeaseName(to overlay, value string) error {
	if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 {
		return errors.New("it is no name of a Lease: " + problems[0])
	}
	to.set("leaderElection.leaseName", value)
	return nil
}

// layPath is a path of HTTP.
func layPath(to overlay, value string) error {
	if !config.IsPath(value) {
		return errors.New("it " + config.NotPath)
	}
	to.set("apache.metrics.path", value)
	return nil
}
