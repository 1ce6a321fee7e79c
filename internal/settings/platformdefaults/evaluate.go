package platformdefaults

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// These are the Spark configuration keys that the fields eventLogDirectory and imagePullSecrets set.
const (
	eventLogKey        = "spark.eventLog.dir"
	eventLogEnabledKey = "spark.eventLog.enabled"
	pullSecretsKey     = "spark.kubernetes.container.image.pullSecrets"
)

// Set is the list of entries of a valid configuration, prepared for evaluation.
type Set struct {
	entries   []Default
	selectors []labels.Selector
	// known caches the evaluated settings. Namespaces with the same selected entries share their settings. A key has one
	// character for each entry: + if it is selected, - otherwise.
	mu    sync.Mutex
	known map[string]*platform.Settings
}

// New prepares a list of entries. An entry whose selector cannot be parsed selects no namespace; Validate reports it.
func New(entries []Default) *Set {
	s := &Set{entries: entries, known: map[string]*platform.Settings{}}
	for i := range entries {
		selector, err := labels.Parse(entries[i].NamespaceSelector)
		if err != nil {
			selector = labels.Nothing()
		}

		s.selectors = append(s.selectors, selector)
	}
	return s
}

// maxKnown is the largest number of settings that Set.known caches.
const maxKnown = 1024

// For returns the settings of a namespace with the given labels, or nil if no entry selects the namespace.
func (s *Set) For(namespace map[string]string) *platform.Settings {
	if len(s.entries) == 0 {
		return nil
	}

	selected := make([]byte, len(s.entries))

	some := false
	for i, selector := range s.selectors {
		selected[i] = '-'
		if selector.Matches(labels.Set(namespace)) {
			selected[i], some = '+', true
		}
	}

	if !some {
		return nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if known, ok := s.known[string(selected)]; ok {
		return known
	}

	settings := evaluate(s.entries, func(i int) bool { return selected[i] == '+' })
	if len(s.known) >= maxKnown {
		clear(s.known)
	}

	s.known[string(selected)] = settings
	return settings
}

// evaluate merges the selected entries in their order.
func evaluate(entries []Default, selected func(int) bool) *platform.Settings {
	m := &merger{Settings: &platform.Settings{Origins: map[string]string{}}}
	for i := range entries {
		if selected(i) {
			m.origin = originOf(i, entries[i].Name)
			m.add(&entries[i])
		}
	}

	out := m.Settings
	out.Version = versionOf(out)
	return out
}

// originOf names an entry, such as "defaults[1] (team-a)".
func originOf(index int, name string) string {
	text := fmt.Sprintf("defaults[%d]", index)
	if name != "" {
		text += " (" + name + ")"
	}
	return text
}

// versionOf returns a digest of settings, without their origins.
func versionOf(s *platform.Settings) string {
	content := *s
	content.Origins = nil

	text, err := json.Marshal(content)
	if err != nil {
		text = []byte(err.Error()) // unreachable: the settings come from YAML
	}

	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// merger merges entries into settings. Later entries override earlier ones.
type merger struct {
	*platform.Settings
	origin string // of the entry that is being merged
}

func (m *merger) add(d *Default) {
	keys := confOf(d)

	// The server of an earlier entry reads the directory of that entry.
	if before, now := m.SparkConf[eventLogKey], keys[eventLogKey]; before != "" && now != "" && now != before {
		m.HistoryServer = ""
		delete(m.Origins, "historyServer")
	}

	for key, value := range keys {
		if key == platform.ImageKey {
			m.Images = map[string]string{"": value} // it replaces the images of earlier entries
		} else {
			set(&m.SparkConf, key, value)
		}

		m.Origins[platform.ConfSetting(key)] = m.origin
	}

	if d.HistoryServer != "" {
		m.HistoryServer = d.HistoryServer
		m.Origins["historyServer"] = m.origin
	}

	for line, image := range d.Images {
		set(&m.Images, line, image)
		m.Origins["images["+line+"]"] = m.origin
	}

	if len(d.ImagePullSecrets) > 0 {
		m.PullSecrets = d.ImagePullSecrets
		m.Origins["imagePullSecrets"] = m.origin
	}

	m.pod(platform.Driver, &m.Driver, &d.Driver)
	m.pod(platform.Executor, &m.Executor, &d.Executor)

	for _, limit := range []struct {
		name     string
		to, from **int64
	}{
		{"timeouts.driverStartSeconds", &m.Timeouts.DriverStartSeconds, &d.Timeouts.DriverStartSeconds},
		{"timeouts.driverReadySeconds", &m.Timeouts.DriverReadySeconds, &d.Timeouts.DriverReadySeconds},
		{"timeouts.executorsStartSeconds", &m.Timeouts.ExecutorsStartSeconds, &d.Timeouts.ExecutorsStartSeconds},
		{"timeouts.runSeconds", &m.Timeouts.RunSeconds, &d.Timeouts.RunSeconds},
		{"timeToLiveSeconds", &m.TimeToLiveSeconds, &d.TimeToLiveSeconds},
	} {
		if *limit.from != nil {
			*limit.to = *limit.from
			m.Origins[limit.name] = m.origin
		}
	}
}

// confOf returns the Spark configuration of an entry, from all its fields. Text that cannot be parsed counts as empty;
// Validate reports it.
func confOf(d *Default) map[string]string {
	all := map[string]string{}
	if parsed, err := conf.UnmarshalProperties(d.SparkDefaults); err == nil {
		maps.Copy(all, parsed.Map())
	}

	maps.Copy(all, d.SparkConf)

	if d.EventLogDirectory != "" {
		all[eventLogKey] = d.EventLogDirectory
		if _, own := all[eventLogEnabledKey]; !own {
			all[eventLogEnabledKey] = "true"
		}
	}

	for key, value := range all {
		all[key] = strings.TrimSpace(value)
	}
	return all
}

func (m *merger) pod(role string, to, from *platform.Pod) {
	m.entries(role+".labels", &to.Labels, from.Labels)
	m.entries(role+".annotations", &to.Annotations, from.Annotations)
	m.entries(role+".nodeSelector", &to.NodeSelector, from.NodeSelector)

	for i := range from.Tolerations {
		if !slices.ContainsFunc(to.Tolerations, func(t corev1.Toleration) bool { return sameJSON(t, from.Tolerations[i]) }) {
			to.Tolerations = append(slices.Clone(to.Tolerations), from.Tolerations[i])
		}

		m.Origins[role+".tolerations"] = m.origin
	}

	if from.PriorityClassName != "" {
		to.PriorityClassName = from.PriorityClassName
		m.Origins[role+".priorityClassName"] = m.origin
	}

	to.SecurityContext = mergedFields(m, role+".securityContext", to.SecurityContext, from.SecurityContext)

	to.PodSecurityContext = mergedFields(m, role+".podSecurityContext", to.PodSecurityContext, from.PodSecurityContext)
	for _, variable := range from.Env {
		kept := slices.DeleteFunc(slices.Clone(to.Env), func(v corev1.EnvVar) bool { return v.Name == variable.Name })
		to.Env = append(kept, variable)
		m.Origins[role+".env["+variable.Name+"]"] = m.origin
	}
}

func (m *merger) entries(setting string, to *map[string]string, from map[string]string) {
	for key, value := range from {
		set(to, key, value)
		m.Origins[setting+"["+key+"]"] = m.origin
	}
}

// mergedFields merges the fields of two structs. If both structs set a field, the value in `layer` takes precedence
// over the value in `base`. mergedFields also records in m the origin of the fields that `layer` sets.
func mergedFields[T any](m *merger, setting string, base, layer *T) *T {
	if layer == nil {
		return base
	}

	tree, merged := map[string]any{}, new(T)
	for _, context := range []*T{base, layer} {
		text, err := json.Marshal(context)
		if err != nil || context == nil {
			continue
		}

		fields := map[string]any{}
		_ = utiljson.Unmarshal(text, &fields)
		maps.Copy(tree, fields)

		if context == layer {
			for name := range fields {
				m.Origins[setting+"."+name] = m.origin
			}
		}
	}

	text, err := json.Marshal(tree)
	if err != nil || utiljson.Unmarshal(text, merged) != nil {
		return layer // unreachable: both are valid values of the same type
	}
	return merged
}

func sameJSON(a, b any) bool {
	one, wrong := json.Marshal(a)
	other, alsoWrong := json.Marshal(b)
	return wrong == nil && alsoWrong == nil && string(one) == string(other)
}

func set(to *map[string]string, key, value string) {
	if *to == nil {
		*to = map[string]string{}
	}

	(*to)[key] = value
}
