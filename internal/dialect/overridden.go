package dialect

import (
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Overridden returns a warning for each key of sparkConf without effect, because another field or the operator sets it.
// The argument effective is the configuration of the launch. The function fieldOf returns the field that sets a key, or
// "" for the operator. Options of JVMs that the effective value contains have an effect.
func Overridden(sparkConf map[string]string, effective *conf.Conf, fieldOf func(key string) string) []string {
	var warnings conf.Messages
	for _, key := range conf.SortedKeys(sparkConf) {
		own := sparkConf[key]

		now, set := effective.Get(key)
		if set && (now == own || strings.HasSuffix(key, "JavaOptions") && strings.Contains(now, own)) {
			continue
		}

		if warnings.Full() {
			warnings.Add("") // this warning is only counted, because its text takes time
			continue
		}

		value := "it"
		if set {
			value = conf.Quote(key, now)
		}

		if by := fieldOf(key); by != "" {
			value += "; remove one of them"
			warnings.Add("spec.sparkConf[%s]: %s has no effect: %s sets %s", conf.Shorten(key), conf.Quote(key, own), by, value)
		} else {
			warnings.Add("spec.sparkConf[%s]: %s has no effect: the operator sets %s; remove the key", conf.Shorten(key), conf.Quote(key, own), value)
		}
	}
	return warnings.All()
}
