package dialect

import (
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// OwnPrefix is the prefix of the operator's own labels and annotations.
const OwnPrefix = "sparkoperator.dev/"

// ManagedLabel is the label of every object that the operator creates for a custom resource of either API group.
const ManagedLabel = OwnPrefix + "managed"

// ReservedKeys returns an error for each of the given keys that begins with OwnPrefix. Only the operator may set such
// keys. The argument field is the path of the field that contains the keys. The argument what contains the word for
// them: "labels" or "annotations".
func ReservedKeys(field, what string, keys []string) (wrong []*FieldError) {
	for _, key := range keys {
		if strings.HasPrefix(key, OwnPrefix) {
			wrong = append(wrong, &FieldError{Field: fmt.Sprintf("%s[%s]", field, key), Message: what + " that begin with " + OwnPrefix + " are reserved for the operator; use another name"})
		}
	}
	return wrong
}

// ReservedConfLabels returns an error for each key of sparkConf that sets one of the operator's own labels.
func ReservedConfLabels(sparkConf map[string]string) (wrong []*FieldError) {
	for _, key := range conf.SortedKeys(sparkConf) {
		if strings.Contains(key, ".label."+OwnPrefix) {
			wrong = append(wrong, &FieldError{Field: ConfField(key), Message: "labels that begin with " + OwnPrefix + " are the operator's own; remove the key, or give the label another name"})
		}
	}
	return wrong
}

// ConfField returns the field that sets a Spark configuration key: an entry of sparkConf.
func ConfField(key string) string { return "spec.sparkConf[" + key + "]" }
