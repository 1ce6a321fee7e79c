package launch

import (
	"cmp"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// propertiesFile is the key of Spark's configuration in the ConfigMap of a driver.
const propertiesFile = "spark.properties"

// ErrDefaultsChanged is the error that the dialects' methods Executor return if the platform's defaults have changed
// since the attempt was launched. An executor that is rendered with the present defaults would differ from the
// executors of the attempt. The error is not a fault of the custom resource.
var ErrDefaultsChanged = &submit.Error{Field: "Conf", Message: "the platform's defaults have changed since the launch", NotNative: true}

// ErrNoExecutors is the error that the dialects' methods Executor return if the driver runs its tasks itself, or in
// another cluster. The error is not a fault of the custom resource.
var ErrNoExecutors = &submit.Error{Field: "Conf", Message: "the driver requests no executors", NotNative: true}

// Defaults are the platform's defaults in a custom resource. The zero value has none.
type Defaults struct {
	*platform.Settings
	// Own is the user's sparkConf, before the defaults were merged into it.
	Own map[string]string
	// Filled are the settings of the defaults that templates and typed fields use.
	Filled []string
}

// Present returns the defaults with which the operator decides about the current attempt. These are the defaults of its
// launch, which the status stores (the argument o). They are the present ones if no attempt was launched yet. An
// attempt that another operator launched has none.
func Present(present *platform.Settings, o *statusv1.OperatorStatus, inherited bool) *platform.Settings {
	switch {
	case o != nil && o.Attempt > 0:
		return platform.Recall(o.Defaults)
	case inherited:
		return nil
	}
	return present
}

// Placed returns the present defaults with what a queue has added to the pods of an attempt, as its status (the
// argument o) stores it.
func Placed(present *platform.Settings, o *statusv1.OperatorStatus, attempt int32) *platform.Settings {
	if o == nil || o.Attempt != attempt || o.Defaults == nil {
		return present
	}
	return present.Placed(platform.Recall(o.Defaults).Placements())
}

// Admitted returns the defaults with what a queue adds to the pods that it has just admitted.
func Admitted(present *platform.Settings, seen lifecycle.Observed) *platform.Settings {
	if seen.Quota == nil || !seen.Quota.Asked {
		return present
	}
	return present.Placed(seen.Quota.Placement)
}

// Changed reports whether the platform's defaults have changed since the launch of an attempt (ErrDefaultsChanged).
func Changed(present *platform.Settings, o *statusv1.OperatorStatus, attempt int32) bool {
	return o != nil && o.Attempt == attempt && !present.IsVersion(o.Defaults)
}

// Remember stores the defaults in a status if a decision launched an attempt. The arguments before and next are the
// memory before and after the decision.
func Remember(present *platform.Settings, o *statusv1.OperatorStatus, before, next lifecycle.Memory) {
	if o != nil && next.Attempt != before.Attempt {
		o.Defaults = present.Remember()
	}
}

// Spark configuration of event logs.
const (
	eventLogEnabledKey = "spark.eventLog.enabled"
	eventLogDirKey     = "spark.eventLog.dir"
)

// Link stores the address of an attempt's page in the History Server in a status (the argument o). The argument m is
// the memory after the decision, own is the user's sparkConf, and id is Spark's id of the attempt, or "" if it is
// unknown.
//
// An attempt keeps its address. An application that has ended without an address gets none. Otherwise the operator
// would write the statuses of all applications after a change of its configuration. An attempt that was launched with
// other defaults gets none either, because it may write no event log, or write it elsewhere.
func Link(present *platform.Settings, own map[string]string, o *statusv1.OperatorStatus, m lifecycle.Memory, id string) {
	switch {
	case o == nil || id != "" && strings.HasSuffix(o.HistoryServerURL, "/"+id+"/"):
	case id == "" || !m.Phase.Live() || present == nil || present.HistoryServer == "" || !present.IsVersion(o.Defaults) ||
		cmp.Or(own[eventLogDirKey], present.SparkConf[eventLogDirKey]) != present.SparkConf[eventLogDirKey] ||
		cmp.Or(own[eventLogEnabledKey], present.SparkConf[eventLogEnabledKey]) != "true":
		o.HistoryServerURL = ""
	default:
		o.HistoryServerURL = HistoryPage(present.HistoryServer, id)
	}
}

// HistoryPage returns the address of an application's page in a History Server.
func HistoryPage(server, id string) string {
	return strings.TrimRight(server, "/") + "/history/" + url.PathEscape(id) + "/"
}

// Annotations returns the annotations by which the operator recognizes the launch of a driver that was not stored, even
// if the spec, the restart request or the defaults have changed in the meantime. The argument specHash may be empty.
func Annotations(owner metav1.Object, specHash string, s *platform.Settings) map[string]string {
	all := map[string]string{}
	if specHash != "" {
		all[lifecycle.SpecHashAnnotation] = specHash
	}

	if request := lifecycle.RestartRequest(owner.GetAnnotations()); request != "" {
		all[lifecycle.RestartRequestAnnotation] = request
	}

	if s != nil && s.Version != "" {
		all[platform.VersionAnnotation] = s.Version
	}
	return all
}

// Annotate adds annotations to the driver's ConfigMap: the version of the defaults, and the origins of the defaults
// that the attempt uses. If spark-submit creates the driver and its ConfigMap, the annotations are on the pod that runs
// spark-submit instead. The argument c is the configuration of the request.
func (d Defaults) Annotate(objects submit.Objects, c *conf.Conf) {
	for _, object := range objects.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data[propertiesFile] != "" {
			d.AnnotateObject(config, c)
			return
		}
	}

	if objects.Driver != nil {
		d.AnnotateObject(objects.Driver, c)
	}
}

// AnnotateObject is Annotate for an object.
func (d Defaults) AnnotateObject(object metav1.Object, c *conf.Conf) {
	if d.Settings != nil {
		d.Settings.Annotate(object, d.Used(d.Filled, c.Get, func(key string) bool { _, own := d.Own[key]; return own }))
	}
}

// Explain extends the message of each fault that one of the defaults has caused: a fault of a configuration key that
// the custom resource itself does not set. The added text names the entry of the operator's configuration that contains
// the default.
func (d Defaults) Explain(faults []*dialect.FieldError) []*dialect.FieldError {
	for i, fault := range faults {
		key, isKey := strings.CutPrefix(fault.Field, "spec.sparkConf[")

		key = strings.TrimSuffix(key, "]")
		if _, isOwn := d.Own[key]; !isKey || isOwn || d.Settings == nil {
			continue
		}

		if _, isDefault := d.SparkConf[key]; isDefault {
			origin := cmp.Or(d.Origins[platform.ConfSetting(key)], "defaults")
			faults[i] = &dialect.FieldError{Field: fault.Field, Incomplete: fault.Incomplete, Message: fault.Message + " (the value is a default of the operator's configuration, " + origin + "; set the key in spec.sparkConf to override it)"}
		}
	}
	return faults
}

// ExplainError is Explain for an error that is one fault.
func (d Defaults) ExplainError(err error) error {
	if err == nil || d.Settings == nil {
		return err
	}
	return d.Explain(dialect.AsFaults(err))[0]
}
