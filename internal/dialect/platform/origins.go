package platform

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// maxOrigins is the maximum size of OriginsAnnotation, in bytes.
const maxOrigins = 16 << 10

// restOfOrigins is a key in OriginsAnnotation. Its value is the number of defaults for which the annotation has no
// room.
const restOfOrigins = "..."

// ConfSetting returns the name of the setting that contains the default value of a Spark configuration key.
func ConfSetting(key string) string { return "sparkConf[" + key + "]" }

// Used returns the names of the settings that an attempt uses. These are the settings in the argument filled, which
// Fill wrote into the attempt's pod templates, and the defaults in the attempt's Spark configuration. The arguments
// value and isOwn are functions of a configuration key. The first one returns the key's value in this configuration.
// The second one reports whether the custom resource itself sets the key.
func (s *Settings) Used(filled []string, value func(key string) (string, bool), isOwn func(key string) bool) []string {
	if s == nil {
		return nil
	}

	used := slices.Clone(filled)
	for _, key := range sortedKeys(s.SparkConf) {
		if text, set := value(key); set && text == s.SparkConf[key] && !isOwn(key) {
			used = append(used, ConfSetting(key))
		}
	}
	return used
}

// Annotate sets the annotations VersionAnnotation and OriginsAnnotation of a driver's ConfigMap. The argument used
// contains the names of the settings that the attempt uses. The annotation contains their origins, up to the size
// maxOrigins. Instead of the other origins, it contains their number.
func (s *Settings) Annotate(object metav1.Object, used []string) {
	if s == nil {
		return
	}

	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}

	if s.Version != "" {
		annotations[VersionAnnotation] = s.Version
	}

	if text := s.originsOf(used); text != "" {
		annotations[OriginsAnnotation] = text
	}

	object.SetAnnotations(annotations)
}

func (s *Settings) originsOf(used []string) string {
	if len(used) == 0 {
		return ""
	}

	origins, size := map[string]string{}, len(`{"...":"2147483647 more"}`)

	used = slices.Compact(slices.Sorted(slices.Values(used))) // two pods may use the same setting
	for i, setting := range used {
		origin := cmp.Or(s.Origins[setting], "defaults")
		if size += len(jsonOf(setting)) + len(jsonOf(origin)) + len(`:,`); size > maxOrigins {
			origins[restOfOrigins] = strconv.Itoa(len(used)-i) + " more"
			break
		}

		origins[setting] = origin
	}

	text, err := json.Marshal(origins)
	if err != nil {
		return "" // unreachable: a map of texts
	}
	return string(text)
}

// Origins returns the origins in OriginsAnnotation of a driver's ConfigMap, keyed by the names of the settings.
func Origins(annotations map[string]string) map[string]string {
	var origins map[string]string
	if utiljson.Unmarshal([]byte(annotations[OriginsAnnotation]), &origins) != nil {
		return nil
	}
	return origins
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Values returns the values of all settings as text, keyed by the names of the settings. It hides values that may be
// secret (conf.Redact).
func (s *Settings) Values() map[string]string {
	values := map[string]string{}
	if s == nil {
		return values
	}

	for key, value := range s.SparkConf {
		values[ConfSetting(key)] = conf.Redact(key, value)
	}

	for line, image := range s.Images {
		if line == "" {
			values[ConfSetting(ImageKey)] = image
			continue
		}

		values["images["+line+"]"] = image
	}

	if len(s.PullSecrets) > 0 {
		values["imagePullSecrets"] = jsonOf(s.PullSecrets)
	}

	if s.HistoryServer != "" {
		values["historyServer"] = s.HistoryServer
	}

	s.Driver.values(Driver, values)
	s.Executor.values(Executor, values)

	for name, limit := range s.limits() {
		values[name] = strconv.FormatInt(*limit, 10)
	}
	return values
}

// limits returns the timeouts and the time to live that are set, keyed by the names of the settings.
func (s *Settings) limits() map[string]*int64 {
	all := map[string]*int64{
		"timeouts.driverStartSeconds": s.Timeouts.DriverStartSeconds, "timeouts.driverReadySeconds": s.Timeouts.DriverReadySeconds,
		"timeouts.executorsStartSeconds": s.Timeouts.ExecutorsStartSeconds, "timeouts.runSeconds": s.Timeouts.RunSeconds,
		"timeToLiveSeconds": s.TimeToLiveSeconds,
	}
	maps.DeleteFunc(all, func(_ string, limit *int64) bool { return limit == nil })
	return all
}

// UsedLimits returns the names of the timeouts (and the time to live) for which an application uses the default,
// because it does not set them itself. The argument own contains the application's own values. Its keys are the names
// of the settings.
func (s *Settings) UsedLimits(own map[string]*int64) (used []string) {
	for _, name := range sortedKeys(s.limits()) {
		if limit, known := own[name]; known && limit == nil {
			used = append(used, name)
		}
	}
	return used
}

func (p *Pod) values(role string, values map[string]string) {
	for name, entries := range map[string]map[string]string{
		"labels": p.Labels, "annotations": p.Annotations, "nodeSelector": p.NodeSelector,
	} {
		for key, value := range entries {
			values[role+"."+name+"["+key+"]"] = value
		}
	}

	if len(p.Tolerations) > 0 {
		values[role+".tolerations"] = jsonOf(p.Tolerations)
	}

	if p.PriorityClassName != "" {
		values[role+".priorityClassName"] = p.PriorityClassName
	}

	for name, context := range map[string]map[string]any{
		"securityContext": asTree(p.SecurityContext), "podSecurityContext": asTree(p.PodSecurityContext),
	} {
		for field, value := range context {
			values[role+"."+name+"."+field] = jsonOf(value)
		}
	}

	for i := range p.Env {
		v := &p.Env[i]

		values[role+".env["+v.Name+"]"] = conf.Redact(v.Name, v.Value)
		if v.ValueFrom != nil {
			values[role+".env["+v.Name+"]"] = jsonOf(v.ValueFrom)
		}
	}
}
