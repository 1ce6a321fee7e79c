package convert

import (
	"encoding/json"
	"slices"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// template is a pod template without the defaults that the operator adds to every pod template.
type template struct {
	tree map[string]any
	// container is Spark's container, the first one.
	container map[string]any
	// name is the default name of Spark's container.
	name string
	// links is the removed value of enableServiceLinks.
	links bool
}

const messagePolicy, messageDefault = "terminationMessagePolicy", "FallbackToLogsOnError"

// readDriver reads the driver's pod template as the operator writes it for spark-submit. Spark's container is the last
// one.
func readDriver(text []byte) (*template, error) {
	return readTemplate(text, overlay.DriverContainer, func(containers int) int { return containers - 1 })
}

// readExecutor reads the executors' pod template as the operator writes it for spark-submit. Spark's container is the
// first one.
func readExecutor(text []byte) (*template, error) {
	return readTemplate(text, overlay.ExecutorContainer, func(int) int { return 0 })
}

// readTemplate reads a pod template. Spark's container has the given name by default. The callback returns the index of
// Spark's container in a template with the given number of containers.
func readTemplate(text []byte, name string, place func(containers int) int) (*template, error) {
	tree, err := podtemplate.Decode(text)
	if err != nil {
		return nil, err
	}

	t := &template{tree: tree, name: name}
	delete(tree, "apiVersion")
	delete(tree, "kind")

	spec := t.spec()
	if links, _ := spec["enableServiceLinks"].(bool); !links {
		delete(spec, "enableServiceLinks")
	} else {
		t.links = true
	}

	t.sparkFirst(place)

	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for i, container := range containers {
			fields, _ := container.(map[string]any)
			if fields[messagePolicy] == messageDefault && (list == "initContainers" || i == 0) {
				delete(fields, messagePolicy)
			}

			if resources, _ := fields["resources"].(map[string]any); len(resources) == 0 {
				delete(fields, "resources")
			}
		}
	}

	t.dropAnnotation()
	return t, nil
}

// sparkFirst moves Spark's container to the first place. The callback returns the present index of Spark's container in
// a template with the given number of containers. The move does not change the pod, because Spark always puts its own
// container last. If the template has no containers, sparkFirst adds an empty one.
func (t *template) sparkFirst(place func(containers int) int) {
	spec := t.spec()

	containers, _ := spec["containers"].([]any)
	if len(containers) == 0 {
		containers = []any{map[string]any{"name": t.name}}
	}

	at := place(len(containers))
	t.container, _ = containers[at].(map[string]any)
	spec["containers"] = slices.Concat(containers[at:at+1], containers[:at], containers[at+1:])
}

// dropAnnotation removes the annotation that makes Spark's container the default of kubectl. The operator adds the same
// annotation to pods with several containers.
func (t *template) dropAnnotation() {
	meta, _ := t.tree["metadata"].(map[string]any)

	annotations, _ := meta["annotations"].(map[string]any)
	if annotations[submit.DefaultContainerAnnotation] != t.container["name"] {
		return
	}

	delete(annotations, submit.DefaultContainerAnnotation)

	if len(annotations) == 0 {
		delete(meta, "annotations")
	}

	if len(meta) == 0 {
		delete(t.tree, "metadata")
	}
}

// spec returns the template's spec.
func (t *template) spec() map[string]any {
	spec, ok := t.tree["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		t.tree["spec"] = spec
	}
	return spec
}

// plain reports whether the template has no settings: its only container has the default name and nothing else.
func (t *template) plain() bool {
	return len(t.tree) == 1 && len(t.spec()) == 1 && len(t.spec()["containers"].([]any)) == 1 && len(t.container) == 1 && t.container["name"] == t.name
}

// onlyEscalation reports whether the only setting of the template is allowPrivilegeEscalation: false.
func (t *template) onlyEscalation() bool {
	security, _ := t.container["securityContext"].(map[string]any)
	if len(t.container) != 2 || len(security) != 1 || security["allowPrivilegeEscalation"] != false {
		return false
	}

	delete(t.container, "securityContext")
	plain := t.plain()
	t.container["securityContext"] = security
	return plain
}

// dropMemoryLimit removes the memory limit of Spark's container.
func (t *template) dropMemoryLimit() {
	resources, _ := t.container["resources"].(map[string]any)
	limits, _ := resources["limits"].(map[string]any)
	delete(limits, "memory")

	if len(limits) == 0 {
		delete(resources, "limits")
	}

	if len(resources) == 0 {
		delete(t.container, "resources")
	}
}

func (t *template) json() []byte {
	text, err := json.Marshal(t.tree)
	if err != nil {
		panic(err) // decoded JSON can always be written
	}
	return text
}
