package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These are the values of DynamicConfig.Source.
const (
	SourceConfigMap = "ConfigMap"
	SourceFile      = "File"
)

// DynamicConfig lets a few settings change while the operator runs: the served namespaces, and a few settings of
// section apache. The source contains properties with the same names as in the operator of spark.apache.org.
// docs/configuration.md lists these properties.
type DynamicConfig struct {
	// Enabled makes the operator follow the source of dynamic settings. The operator then watches all namespaces, so it
	// needs its rights in the whole cluster. Default false.
	Enabled bool `json:"enabled,omitempty"`
	// Source is ConfigMap or File. Default ConfigMap.
	Source string `json:"source,omitempty"`
	// Namespace is the namespace of the ConfigMaps. Default: the namespace that the operator runs in; required outside
	// a cluster.
	Namespace string `json:"namespace,omitempty"`
	// Selector selects ConfigMaps by their labels. If it selects several, the last one in the order of their names
	// takes precedence. Default:
	// app.kubernetes.io/name=OPERATORNAME,app.kubernetes.io/component=operator-dynamic-config-overrides, where
	// OPERATORNAME is the operatorName of section apache.
	Selector string `json:"selector,omitempty"`
	// File is the path of a properties file that the operator reads periodically. Default
	// /opt/spark-operator/dynamic-conf/spark-operator-dynamic.properties.
	File string `json:"file,omitempty"`
	// ReloadInterval is the time between two reads of the file. Default 60s.
	ReloadInterval metav1.Duration `json:"reloadInterval,omitzero"`
}

// applyDefaults sets the defaults of the section. It must run after the defaults of section apache are set, because it
// needs the operator's name.
func (d *DynamicConfig) applyDefaults(operatorName string) {
	setDefault(&d.Source, SourceConfigMap)
	setDefault(&d.Selector, "app.kubernetes.io/name="+operatorName+",app.kubernetes.io/component=operator-dynamic-config-overrides")
	setDefault(&d.File, "/opt/spark-operator/dynamic-conf/spark-operator-dynamic.properties")
	setDefault(&d.ReloadInterval.Duration, time.Minute)
}

func validateDynamicConfig(c *Configuration) (errs field.ErrorList) {
	path, d := field.NewPath("dynamicConfig"), &c.DynamicConfig
	errs = append(errs, oneOf(path.Child("source"), d.Source, SourceConfigMap, SourceFile)...)

	errs = append(errs, optional(path.Child("namespace"), d.Namespace, validation.IsDNS1123Label)...)

	switch selector, err := labels.Parse(d.Selector); {
	case err != nil:
		errs = append(errs, field.Invalid(path.Child("selector"), d.Selector, err.Error()))
	case selector.Empty():
		errs = append(errs, field.Invalid(path.Child("selector"), d.Selector, "selects every ConfigMap; require at least one label"))
	}
	return append(errs, positive(path.Child("reloadInterval"), d.ReloadInterval)...)
}
