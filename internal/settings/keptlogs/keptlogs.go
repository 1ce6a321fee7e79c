// Package keptlogs has the configuration of the logs that are kept, its validation, and the choice for a namespace.
package keptlogs

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// These are the values of Entry.Executors.
const (
	ExecutorsFailed = "Failed"
	ExecutorsAll    = "All"
	ExecutorsNone   = "None"
)

// Entry is an entry of the list "logs" of the configuration file. It says what is kept of the logs of applications and
// Connect servers in the namespaces that it selects. If several entries select a namespace, the last one applies as a
// whole.
type Entry struct {
	// Name names the entry in messages. Default: none.
	Name string `json:"name,omitempty"`
	// NamespaceSelector selects Namespace objects by their labels, in the syntax of kubectl's --selector. With a
	// selector, the operator watches the metadata of every namespace. Default: all namespaces.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	// Store is the URL of an object store: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or
	// file:///DIRECTORY. Default: none; the logs are kept in ConfigMaps that the custom resources own, at most 512 KiB
	// after compression for each.
	Store string `json:"store,omitempty"`
	// Executors selects the executors whose logs are kept: Failed, All or None. Default Failed.
	Executors string `json:"executors,omitempty"`
	// MaxBytes is how much of a driver's log is kept, before compression. Of a longer log, the first 16th and the last
	// 15 16ths of this size are kept. Default 16Mi.
	MaxBytes string `json:"maxBytes,omitempty"`
	// ExecutorMaxBytes is how much of an executor's log is kept: its end. Default 256Ki.
	ExecutorMaxBytes string `json:"executorMaxBytes,omitempty"`
	// MaxExecutors is the largest number of executors of an attempt whose logs are kept: the first ones that end.
	// Default 20.
	MaxExecutors *int `json:"maxExecutors,omitempty"`
	// Wait is how long the deletion of a pod is delayed until its log is kept. With 0s, deletions do not wait. Default
	// 10s.
	Wait *metav1.Duration `json:"wait,omitempty"`
	// StreamInterval is the time between two uploads of the log of a driver that runs, from 5s to 5m. It needs a store.
	// Default: none; the log is read when the driver ends.
	StreamInterval metav1.Duration `json:"streamInterval,omitzero"`
	// Retention is how long logs are kept in an object store. Default: forever.
	Retention *metav1.Duration `json:"retention,omitempty"`
	// Redact hides values in the log that look like secrets, as in messages. Default false.
	Redact bool `json:"redact,omitempty"`
}

// The limits of an Entry.
const (
	maxLogEntries   = 100
	maxLogBytes     = 64 << 20
	maxLogExecutors = 1000
	maxInConfigMap  = 100 // executors
	maxLogWait      = time.Minute
	minRetention    = time.Hour
	minInterval     = 5 * time.Second
	maxInterval     = 5 * time.Minute
)

// logSchemes are the schemes of stores.
var logSchemes = []string{"s3", "gs", "azblob", "file"}

// ApplyDefaults sets the defaults of fields that are not set.
func ApplyDefaults(entries []Entry) {
	for i := range entries {
		l := &entries[i]
		l.Executors = cmp.Or(l.Executors, ExecutorsFailed)
		l.MaxBytes, l.ExecutorMaxBytes = cmp.Or(l.MaxBytes, "16Mi"), cmp.Or(l.ExecutorMaxBytes, "256Ki")
		l.MaxExecutors, l.Wait = cmp.Or(l.MaxExecutors, new(20)), cmp.Or(l.Wait, &metav1.Duration{Duration: 10 * time.Second})
	}
}

// Selects reports whether one of the entries depends on the labels of namespaces.
func Selects(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(l Entry) bool { return l.NamespaceSelector != "" })
}

// Bytes returns a size of a valid entry.
func Bytes(size string) int64 {
	quantity, _ := bounds.Quantity(size) // Validate checks it
	return quantity.Value()
}

// ConfigMapVerbs returns the verbs on ConfigMaps that the operator needs only to keep logs: none if each entry has a
// store.
func ConfigMapVerbs(entries []Entry) string {
	if slices.ContainsFunc(entries, func(l Entry) bool { return l.Store == "" }) {
		return "update"
	}
	return ""
}

// Of returns the entry that applies to a namespace with the given labels, or nil if there is none.
func Of(entries []Entry, namespace map[string]string) *Entry {
	for i := range slices.Backward(entries) {
		selector, err := labels.Parse(entries[i].NamespaceSelector)
		if err == nil && selector.Matches(labels.Set(namespace)) {
			return &entries[i]
		}
	}
	return nil
}

// Validate returns the faults of a list of entries with their defaults, with their paths.
func Validate(path *field.Path, entries []Entry) (errs field.ErrorList) {
	if len(entries) > maxLogEntries {
		return field.ErrorList{field.TooMany(path, len(entries), maxLogEntries)}
	}

	for i := range entries {
		l, at := &entries[i], path.Index(i)
		for _, problem := range validation.IsDNS1123Label(cmp.Or(l.Name, "unnamed")) {
			errs = append(errs, field.Invalid(at.Child("name"), l.Name, problem))
		}

		selector, err := labels.Parse(l.NamespaceSelector)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at.Child("namespaceSelector"), l.NamespaceSelector, err.Error()))
		case selector.Empty() && l.NamespaceSelector != "":
			errs = append(errs, field.Invalid(at.Child("namespaceSelector"), l.NamespaceSelector, "selects every namespace; remove it, which selects every namespace, too"))
		}

		if values := []string{ExecutorsFailed, ExecutorsAll, ExecutorsNone}; !slices.Contains(values, l.Executors) {
			errs = append(errs, field.NotSupported(at.Child("executors"), l.Executors, values))
		}

		errs = append(errs, validateStore(at.Child("store"), l.Store)...)
		errs = append(errs, l.validateLimits(at)...)
	}
	return errs
}

// validateStore checks the URL of a store as far as that is possible without its client.
func validateStore(at *field.Path, store string) field.ErrorList {
	if store == "" {
		return nil
	}

	u, err := url.Parse(store)
	switch {
	case err != nil, !slices.Contains(logSchemes, u.Scheme), u.Scheme != "file" && u.Host == "", u.Scheme == "file" && (u.Host != "" || len(u.Path) < 2):
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, "must be s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or file:///DIRECTORY")}
	case u.User != nil:
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, "must not contain a password; set the credentials in the operator's environment, or use workload identity")}
	}
	return nil
}

func (l *Entry) validateLimits(at *field.Path) (errs field.ErrorList) {
	for _, size := range []struct{ name, text string }{{"maxBytes", l.MaxBytes}, {"executorMaxBytes", l.ExecutorMaxBytes}} {
		quantity, err := bounds.Quantity(size.text)
		least := resource.MustParse("1Ki")

		if err != nil || quantity.Cmp(least) < 0 || quantity.Value() > maxLogBytes {
			errs = append(errs, field.Invalid(at.Child(size.name), size.text, "must be a size from 1Ki to 64Mi"))
		}
	}

	if *l.MaxExecutors < 1 || *l.MaxExecutors > maxLogExecutors {
		errs = append(errs, field.Invalid(at.Child("maxExecutors"), *l.MaxExecutors, fmt.Sprintf("must be from 1 to %d; to keep no logs of executors, set executors to None", maxLogExecutors)))
	}

	if l.Store == "" && *l.MaxExecutors > maxInConfigMap {
		errs = append(errs, field.Invalid(at.Child("maxExecutors"), *l.MaxExecutors, fmt.Sprintf("must be at most %d, because a ConfigMap has no room for more; or set store", maxInConfigMap)))
	}

	if l.Wait.Duration < 0 || l.Wait.Duration > maxLogWait {
		errs = append(errs, field.Invalid(at.Child("wait"), l.Wait.Duration.String(), "must be at most 1m, because the deletion of the pods waits so long"))
	}

	return append(errs, l.validateTimes(at)...)
}

// validateTimes validates the fields that need a store.
func (l *Entry) validateTimes(at *field.Path) (errs field.ErrorList) {
	switch interval := l.StreamInterval.Duration; {
	case interval == 0:
	case l.Store == "":
		errs = append(errs, field.Forbidden(at.Child("streamInterval"), "needs an object store, because each upload would rewrite a ConfigMap; set store, or remove streamInterval"))
	case interval < minInterval || interval > maxInterval:
		errs = append(errs, field.Invalid(at.Child("streamInterval"), interval.String(), "must be from 5s to 5m; remove it to read logs only when drivers end"))
	}

	switch {
	case l.Retention == nil:
	case l.Store == "":
		errs = append(errs, field.Forbidden(at.Child("retention"), "ConfigMaps are deleted with their application; set store, or remove retention"))
	case l.Retention.Duration < minRetention:
		errs = append(errs, field.Invalid(at.Child("retention"), l.Retention.Duration.String(), "would delete what was just kept; set at least 1h, or remove it to keep logs forever"))
	}
	return errs
}
