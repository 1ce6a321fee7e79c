package application

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// rawTemplate returns the pod template of a role as the JSON that the user wrote, or nil if there is none.
func rawTemplate(spec *sparkv1.ApplicationSpec, role string) []byte {
	raw := rawtemplate.Bytes(fields.Template(spec, role))
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// withoutEscalation returns a driver template in which no container may gain more privileges than its parent process.
// It sets allowPrivilegeEscalation to false in each container, unless the container sets this field itself or has other
// settings that require privilege escalation. If template is nil, it returns a template that contains only this
// setting. If the template cannot be parsed, it is returned unchanged, because another check rejects it.
func withoutEscalation(template []byte) []byte {
	tree := map[string]any{}
	if template != nil {
		var err error
		if tree, err = podtemplate.Decode(template); err != nil {
			return template
		}
	}

	spec, ok := child(tree, "spec")
	if !ok {
		return template
	}

	if containers, isList := spec["containers"].([]any); isList && len(containers) == 0 || spec["containers"] == nil {
		spec["containers"] = []any{map[string]any{"name": apache.DriverContainer}}
	}

	for _, list := range []string{"initContainers", "containers"} {
		elements, _ := spec[list].([]any)
		for _, element := range elements {
			container, _ := element.(map[string]any)
			if container == nil || !leavesEscalation(container) {
				continue
			}

			if security, ok := child(container, "securityContext"); ok {
				security["allowPrivilegeEscalation"] = false
			}
		}
	}

	text, err := json.Marshal(tree)
	if err != nil {
		return template
	}
	return text
}

// child returns the object under a key, and creates the object if the key is missing. It returns false if the key has a
// value that is not an object.
func child(tree map[string]any, key string) (map[string]any, bool) {
	if tree[key] == nil {
		tree[key] = map[string]any{}
	}

	object, ok := tree[key].(map[string]any)
	return object, ok
}

// leavesEscalation reports whether a container leaves allowPrivilegeEscalation open: it sets neither this field nor
// another field that determines its value.
func leavesEscalation(container map[string]any) bool {
	var typed corev1.Container
	text, err := json.Marshal(container)
	return err == nil && utiljson.Unmarshal(text, &typed) == nil && rawtemplate.PrivilegeEscalation(typed.SecurityContext) == nil
}
