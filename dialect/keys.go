package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// OwnPrefix begins labels and annotations of ours.
const OwnPrefix = "sparkoperator.dev/"

// ManagedLabel is on everything that is made for a custom resource of either API group.
const ManagedLabel = OwnPrefix + "managed"

// OwnKeys refuses the keys of a field that are the operator's own; what is "labels" or "annotations".
func OwnKeys(field, what string, keys []string) (wrong []*FieldError) {
	for _, key := range keys {
		if strings.HasPrefix(key, OwnPrefix) {
			wrong = append(wrong, &FieldError{Field: fmt.Sprintf("%s[%s]", field, key), Message: what + " that begin with " + OwnPrefix + " are the operator's own; remove it, or give it another name"})
		}
	}
	return wrong
}

// OwnConfLabels refuses keys of sparkConf that set labels of the operator's own.
func OwnConfLabels(sparkConf map[string]string) (wrong []*FieldError) {
	for _, key := range slices.Sorted(maps.Keys(sparkConf)) {
		if strings.Contains(key, ".label."+OwnPrefix) {
			wrong = append(wrong, &FieldError{Field: fmt.Sprintf("spec.sparkConf[%s]", key), Message: "labels that begin with " + OwnPrefix + " are the operator's own; remove the key, or give the label another name"})
		}
	}
	return wrong
}
