package preview

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Property is a property of Spark's configuration, its value, and where the value comes from.
type Property struct{ Key, Value, Origin string }

// byOperator is the origin of a property that neither a field nor a default sets.
const byOperator = "the operator"

// settingsOf returns the Spark configuration with which an action launches an attempt, and the field that sets each
// key. It is that which the platform's rules judge. Actions that launch nothing have none.
func settingsOf(action lifecycle.Action) []dialect.Setting {
	launch, ok := action.Built.(interface{ Settings() []dialect.Setting })
	if !ok {
		return nil
	}
	return launch.Settings()
}

// Properties returns the Spark configuration of the driver, sorted by key. The origin of a property is the entry of the
// operator's configuration whose default it is, the field of the custom resource that sets it, or the operator. The
// argument used has the result of UsedDefaults. Values that look like secrets are hidden. If spark-submit creates the
// driver, what it adds is left out. The result is empty for kinds without attempts.
func (l *Launch) Properties(used []Default) (all []Property) {
	origins, effective := map[string]string{}, conf.New()
	for _, s := range l.settings {
		effective.Set(s.Key, s.Value)

		origins[s.Key] = s.Field
	}

	for _, d := range used {
		if key, isConf := strings.CutPrefix(d.Setting, "sparkConf["); isConf {
			origins[strings.TrimSuffix(key, "]")] = d.Origin
		} else if strings.HasPrefix(d.Setting, "images[") {
			origins[platform.ImageKey] = d.Origin
		}
	}

	for key, value := range l.written(effective).All() {
		all = append(all, Property{key, conf.Redact(key, value), cmp.Or(origins[key], byOperator)})
	}

	slices.SortFunc(all, func(a, b Property) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// written returns the settings with the keys that the operator has added: the configuration in the driver's ConfigMap,
// or that on the command line of a Connect server.
func (l *Launch) written(settings *conf.Conf) *conf.Conf {
	if len(l.settings) == 0 {
		return settings
	}

	for _, object := range l.Objects {
		switch object := object.(type) {
		case *corev1.ConfigMap:
			if c, err := conf.UnmarshalProperties(object.Data["spark.properties"]); err == nil && c.Len() > 0 {
				return c
			}
		case *corev1.Pod:
			for i := range object.Spec.Containers {
				addOptions(settings, object.Spec.Containers[i].Args)
			}
		}
	}
	return settings
}

// addOptions adds what the options --conf of a command line set, except for keys whose values are known: Kubernetes
// wants some characters doubled.
func addOptions(c *conf.Conf, args []string) {
	for i, arg := range args {
		if arg == "--conf" && i+1 < len(args) {
			key, value, _ := strings.Cut(args[i+1], "=")
			c.SetIfMissing(key, value)
		}
	}
}
