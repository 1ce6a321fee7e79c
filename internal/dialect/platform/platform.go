// Package platform merges a platform's default settings into custom resources. It uses a default only if the custom
// resource does not set the value itself. The package is pure: its functions read nothing but their arguments.
//
// The settings of an attempt are fixed at its launch. A part of them, and their version, is stored in the status
// (Remember), because later decisions about the attempt need them after the operator's configuration has changed.
package platform

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Annotations of an attempt's objects.
const (
	// VersionAnnotation is an annotation of the driver pod and its ConfigMap. Its value is the version of the settings.
	VersionAnnotation = "sparkoperator.dev/defaults"
	// OriginsAnnotation is an annotation of the driver's ConfigMap. Its value is a JSON object with an entry for each
	// default that the attempt uses. The entry's value is the part of the operator's configuration that sets the
	// default.
	OriginsAnnotation = "sparkoperator.dev/defaults-origins"
)

// ImageKey is the configuration key of the image of drivers and executors.
const ImageKey = "spark.kubernetes.container.image"

// Settings are the default settings of the custom resources in one namespace. The zero value has no defaults.
type Settings struct {
	// Version identifies the content. It does not depend on the origins.
	Version string `json:"-"`
	// SparkConf is Spark configuration, without the image.
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// HistoryServer is the address of the History Server that reads the event logs. It is no part of what the version
	// identifies, because no object is rendered from it.
	HistoryServer string `json:"-"`
	// Images maps lines of Spark, such as "4.1", to images. The empty line stands for all other lines.
	Images map[string]string `json:"images,omitempty"`
	// Driver contains the settings of pods of drivers, Connect servers and masters. Executor contains those of
	// executors and workers.
	Driver   Pod `json:"driver,omitzero"`
	Executor Pod `json:"executor,omitzero"`
	// PullSecrets are the default image pull secrets of pods.
	PullSecrets []string `json:"imagePullSecrets,omitempty"`
	Timeouts    Timeouts `json:"timeouts,omitzero"`
	// TimeToLiveSeconds is how long an application is kept after its end; nil if there is no default.
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
	// Placement is what a queue has added to the pods of an attempt, by role; see Placed.
	Placement map[string]lifecycle.Placement `json:"placement,omitempty"`
	// Origins maps the settings to the entries of the operator's configuration that set them.
	Origins map[string]string `json:"origins,omitempty"`
}

// Pod contains default settings of pods of one role.
type Pod struct {
	// Labels, Annotations and NodeSelector are merged by key. The application's entries take precedence.
	Labels       map[string]string `json:"labels,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations are added to the application's own tolerations.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PriorityClassName is the default priority class of pods.
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// SecurityContext is for the Spark container, and PodSecurityContext is for the pod. Each of their fields is a
	// separate default.
	SecurityContext    *corev1.SecurityContext    `json:"securityContext,omitempty"`
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// Env are environment variables of the Spark container, merged by name.
	Env []corev1.EnvVar `json:"env,omitempty"`
}

// Timeouts limit the phases of an application, in seconds. If a field is nil, there is no default; 0 means no limit.
type Timeouts struct {
	// DriverStartSeconds is the time from the submission until the driver container runs.
	DriverStartSeconds *int64 `json:"driverStartSeconds,omitempty"`
	// DriverReadySeconds is the time from the start of the driver container until the driver pod is ready.
	DriverReadySeconds *int64 `json:"driverReadySeconds,omitempty"`
	// ExecutorsStartSeconds is the time from the readiness of the driver pod until the initial executors run.
	ExecutorsStartSeconds *int64 `json:"executorsStartSeconds,omitempty"`
	// RunSeconds is the time from the submission until the application ends.
	RunSeconds *int64 `json:"runSeconds,omitempty"`
}

// Image returns the default image for a version of Spark, and the name of the setting that contains the image. Settings
// may contain an image for a line of versions: the version "4.1.4" belongs to the line "4.1". If there is none for the
// line, the general default image applies. In both images the version replaces "{{SPARK_VERSION}}". Both results are ""
// if there is no default image.
func (s *Settings) Image(version string) (image, setting string) {
	if s == nil {
		return "", ""
	}

	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".", 3)
	line := strings.Join(parts[:min(len(parts), 2)], ".")

	image, setting = s.Images[line], "images["+line+"]"
	if line == "" || image == "" {
		image, setting = s.Images[""], ConfSetting(ImageKey)
	}

	if replaced, err := conf.Substitute(image, conf.VersionMarker, version, conf.MaxImage); err == nil {
		image = replaced
	}

	if image == "" {
		return "", ""
	}
	return image, setting
}

// Conf adds the defaults to an application's Spark configuration (the argument own) and returns the result. It leaves
// out a default if the configuration already contains the key. It also leaves it out if another field of the
// application sets the key, which the function isSet reports. The argument isSet may be nil. If there are no defaults,
// Conf returns its argument.
func (s *Settings) Conf(own map[string]string, isSet func(key string) bool) map[string]string {
	if s == nil || len(s.SparkConf) == 0 {
		return own
	}

	merged := make(map[string]string, len(own)+len(s.SparkConf))
	for key, value := range s.SparkConf {
		if isSet == nil || !isSet(key) {
			merged[key] = value
		}
	}

	maps.Copy(merged, own)
	return merged
}

// With returns a copy of a configuration in which the given key has the given value.
func With(own map[string]string, key, value string) map[string]string {
	changed := maps.Clone(own)
	if changed == nil {
		changed = map[string]string{}
	}

	changed[key] = value
	return changed
}

// keptPrefixes are the prefixes of configuration keys that the operator still needs after an attempt was launched.
var keptPrefixes = []string{
	"spark.executor.instances", "spark.dynamicAllocation.", "spark.ui.",
	// ports of a Connect server, which its Services expose
	"spark.connect.grpc.binding.port", "spark.driver.port", "spark.driver.blockManager.port", "spark.blockManager.port",
}

// afterLaunch returns the settings that the operator still needs after an attempt was launched.
func (s *Settings) afterLaunch() *Settings {
	kept := &Settings{Timeouts: s.Timeouts, Placement: s.Placement}
	for key, value := range s.SparkConf {
		if slices.ContainsFunc(keptPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			if kept.SparkConf == nil {
				kept.SparkConf = map[string]string{}
			}

			kept.SparkConf[key] = value
		}
	}
	return kept
}

// Remember returns the part of the settings that the status of a launched attempt stores: their version, and the values
// that the operator still needs after the launch. If s is nil, it returns nil.
func (s *Settings) Remember() *statusv1.OperatorDefaults {
	if s == nil {
		return nil
	}
	return s.afterLaunch().stored(s.Version)
}

// RememberAll returns the settings in the form in which the status of a cluster stores them: their version and all
// values, because every pass renders the objects of a cluster again. If s is nil, it returns nil.
func (s *Settings) RememberAll() *statusv1.OperatorDefaults {
	if s == nil {
		return nil
	}
	return s.stored(s.Version)
}

func (s *Settings) stored(version string) *statusv1.OperatorDefaults {
	text, err := json.Marshal(s)
	if err != nil || string(text) == "{}" {
		text = nil // empty settings; an error is impossible, because all settings come from a configuration file
	}
	return &statusv1.OperatorDefaults{Version: version, Settings: string(text)}
}

// WithoutSecrets returns the settings without configuration keys and environment variables whose values may be secret
// (conf.Redact). The status of a cluster stores its settings, and a status must not contain secrets. A variable that
// refers to a Secret or contains the path of a file stays.
func (s *Settings) WithoutSecrets() *Settings {
	if s == nil {
		return nil
	}

	plain := *s
	plain.SparkConf = maps.Clone(s.SparkConf)
	maps.DeleteFunc(plain.SparkConf, func(key, value string) bool { return conf.Redact(key, value) != value })

	for _, pod := range []*Pod{&plain.Driver, &plain.Executor} {
		pod.Env = slices.DeleteFunc(slices.Clone(pod.Env), mayBeSecret)
	}
	return &plain
}

// mayBeSecret reports whether the value of an environment variable may be secret. If the name ends with _FILE and the
// value is an absolute path, as in AWS_WEB_IDENTITY_TOKEN_FILE, only the content of the file is secret. A path is not
// sufficient, because a secret key may begin with a slash.
func mayBeSecret(v corev1.EnvVar) bool {
	isFile := strings.HasSuffix(v.Name, "_FILE") && strings.HasPrefix(v.Value, "/")
	return v.ValueFrom == nil && !isFile && conf.Redact(v.Name, v.Value) != v.Value
}

// Recall returns the settings that Remember or RememberAll stored, or nil if none are stored.
func Recall(stored *statusv1.OperatorDefaults) *Settings {
	if stored == nil {
		return nil
	}

	s := &Settings{}
	if stored.Settings != "" && utiljson.Unmarshal([]byte(stored.Settings), s) != nil {
		s = &Settings{} // somebody edited the status
	}

	s.Version = stored.Version
	return s
}

// IsVersion reports whether the settings have the version that a status stores.
func (s *Settings) IsVersion(stored *statusv1.OperatorDefaults) bool {
	var present, before string
	if s != nil {
		present = s.Version
	}

	if stored != nil {
		before = stored.Version
	}
	return present == before
}
