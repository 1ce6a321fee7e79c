package dialect

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/podcheck"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// PodSource describes where a custom resource describes the pods of a role.
type PodSource struct {
	// Role is the role of the pods in Spark's configuration keys: "driver" or "executor".
	Role string
	// Part is the field with the typed fields of the pods, and Template the field with their template.
	Part, Template string
}

// podFields maps parts of a pod to the fields that may set them, in the order of their precedence. In a pod's path, [*]
// stands for an element of a list, or the key of a map. In a field, NAME stands for the name of this element.
var podFields = []struct{ pod, field string }{
	{"spec.containers", "PART.sidecars"},
	{"spec.containers[*]", "PART"},
	{"spec.containers[*].env[*]", "PART.envVars[NAME]"},
	{"spec.securityContext", "PART.podSecurityContext"},
	{"spec.serviceAccountName", "PART.serviceAccount"},
	{"spec", "PART"},
	{"metadata", "PART"},
	{"spec", "spec"},
	{"spec.containers[*]", "spec"},
	{"spec.containers[*].env[*]", "spec.sparkConf[spark.kubernetes.driverEnv.NAME]"},
	{"spec.containers[*].env[*]", "spec.sparkConf[spark.executorEnv.NAME]"},
	{"spec.containers[*].image", "spec.sparkConf[spark.kubernetes.ROLE.container.image]"},
	{"spec.containers[*].image", "spec.sparkConf[spark.kubernetes.container.image]"},
	{"spec.containers[*].imagePullPolicy", "spec.sparkConf[spark.kubernetes.container.image.pullPolicy]"},
	{"spec.imagePullSecrets[*]", "spec.sparkConf[spark.kubernetes.container.image.pullSecrets]"},
	{"spec.nodeSelector[*]", "spec.sparkConf[spark.kubernetes.ROLE.node.selector.NAME]"},
	{"spec.nodeSelector[*]", "spec.sparkConf[spark.kubernetes.node.selector.NAME]"},
	{"spec.serviceAccountName", "spec.sparkConf[spark.kubernetes.authenticate.ROLE.serviceAccountName]"},
	{"metadata.labels[*]", "spec.sparkConf[spark.kubernetes.ROLE.label.NAME]"},
	{"metadata.annotations[*]", "spec.sparkConf[spark.kubernetes.ROLE.annotation.NAME]"},
	{"spec", "TEMPLATE.spec"},
	{"metadata", "TEMPLATE.metadata"},
	{"spec.containers[*]", "TEMPLATE.spec.containers[0]"},
	{"metadata.labels", "metadata.labels"},
}

// PodSources are the sources of a driver and of its executors.
type PodSources struct{ Driver, Executor PodSource }

// Sources returns the sources of a kind. The arguments are the fields of driver and executor, and the name of the field
// with the template in them.
func Sources(driver, executor, template string) PodSources {
	return PodSources{PodSource{"driver", driver, driver + "." + template}, PodSource{"executor", executor, executor + "." + template}}
}

// Faults returns a fault for each value of the rendered pods that the API server would refuse (podcheck). It leaves out
// executors that cannot be rendered. The argument executor is nil if there are none.
func (s PodSources) Faults(owner any, driver *corev1.Pod, executor func() (*corev1.Pod, error)) []*FieldError {
	faults := s.Driver.faults(owner, driver)
	if executor == nil {
		return faults
	}

	pod, err := executor()
	if err != nil {
		return faults
	}

	for _, fault := range s.Executor.faults(owner, pod) {
		if !slices.ContainsFunc(faults, func(f *FieldError) bool { return *f == *fault }) {
			faults = append(faults, fault)
		}
	}
	return faults
}

func (s PodSource) faults(owner any, pod *corev1.Pod) (faults []*FieldError) {
	broken := podcheck.Check(pod)
	if len(broken) == 0 {
		return nil
	}

	find := s.finder(owner, pod)
	for _, fault := range broken {
		field, message := find(fault.Path), fault.Message
		if field == "" {
			field, message = s.Part, fmt.Sprintf("%s of the %s pod %s", fault.Path, s.Role, message)
		}

		faults = append(faults, &FieldError{Field: field, Message: message})
	}
	return faults
}

// podPath matches a path of a pod in a message of the API server.
var podPath = regexp.MustCompile(`\b(?:spec|metadata)\.\w+(?:\.\w+|\[[^\]\s]*\])*`)

// Named replaces the paths of a pod in a message of the API server by the fields of the custom resource. If no field is
// known, it keeps the path and adds whose pod it is.
func (s PodSource) Named(owner any, pod *corev1.Pod, message string) string {
	find := s.finder(owner, pod)
	return podPath.ReplaceAllStringFunc(message, func(path string) string {
		if field := find(path); field != "" {
			return field
		}
		return path + " of the " + s.Role + " pod"
	})
}

// finder returns a function that returns the field of a custom resource that sets the value at a path of a pod, or ""
// if it is not known. The elements of lists are compared, since a list of a pod may have elements of several fields.
func (s PodSource) finder(owner any, pod *corev1.Pod) func(path string) string {
	resource, err := podtemplate.Tree(owner)

	tree, err2 := podtemplate.Tree(pod)
	if err != nil || err2 != nil {
		return func(string) string { return "" }
	}
	return func(path string) string { return s.field(resource, tree, path) }
}

func (s PodSource) field(resource, tree any, path string) string {
	steps := stepsOf(path)
	for _, row := range podFields {
		prefix := stepsOf(row.pod)
		if len(prefix) > len(steps) || !slices.EqualFunc(prefix, steps[:len(prefix)], func(a, b string) bool { return a == b || a == "[*]" && b[0] == '[' }) {
			continue
		}

		part, name := at(tree, steps[:len(prefix)]), ""
		if element, ok := part.(map[string]any); ok {
			name, _ = element["name"].(string)
		} else if len(prefix) > 0 {
			name = strings.Trim(steps[len(prefix)-1], "[]")
		}

		field := strings.NewReplacer("PART", s.Part, "TEMPLATE", s.Template, "ROLE", s.Role, "NAME", name).Replace(row.field)

		set := at(resource, stepsOf(field))
		if rest, found := follow(set, part, steps[len(prefix):], false); found {
			return field + rest
		}
	}
	return ""
}

var step = regexp.MustCompile(`\[[^\]]*\]|[^.\[]+`)

func stepsOf(path string) []string { return step.FindAllString(path, -1) }

// at returns the part of a tree at a path, or nil.
func at(node any, steps []string) any {
	for _, step := range steps {
		name := strings.Trim(step, "[]")
		switch parent := node.(type) {
		case map[string]any:
			node = parent[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(parent) {
				return nil
			}

			node = parent[i]
		default:
			return nil
		}
	}
	return node
}

// follow follows a path of a pod in a field of a custom resource, and returns the path below this field. It reports
// whether the field sets the value. The argument inside is true if the field sets a part that contains the value, so
// that the value may be missing in both.
func follow(field, pod any, steps []string, inside bool) (path string, found bool) {
	switch field := field.(type) {
	case nil:
		return strings.ReplaceAll(strings.Join(append([]string{""}, steps...), "."), ".[", "["), inside
	case map[string]any:
		if len(steps) == 0 {
			return "", true
		}

		name := strings.Trim(steps[0], "[]")
		if _, set := field[name]; !set && !inside {
			return "", false
		}

		rest, found := follow(field[name], at(pod, steps[:1]), steps[1:], true)
		if steps[0][0] != '[' {
			name = "." + name
		} else {
			name = steps[0]
		}
		return name + rest, found
	case []any:
		if len(steps) == 0 {
			return "", true
		}

		element := at(pod, steps[:1])

		i := slices.IndexFunc(field, func(e any) bool { return reflect.DeepEqual(e, element) })
		if i < 0 {
			i = slices.IndexFunc(field, func(e any) bool { return named(e) != "" && named(e) == named(element) })
		}

		if i < 0 || element == nil {
			return "", false
		}

		rest, found := follow(field[i], element, steps[1:], true)
		return fmt.Sprintf("[%d]", i) + rest, found
	}

	_, composed := pod.(map[string]any)
	return "", composed || pod == nil || fmt.Sprint(field) == fmt.Sprint(pod)
}

// named returns the name of an element of a list, or "".
func named(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}
