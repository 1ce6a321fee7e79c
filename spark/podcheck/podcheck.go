// Package podcheck finds values of pods that the API server would refuse, or with which no kubelet starts a container,
// and says what to write instead. It covers the mistakes that users make most often. The API server checks more.
package podcheck

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Fault is a value that the API server would refuse. Path is its path in the pod, such as spec.containers[0].image.
type Fault struct{ Path, Message string }

// rule is a rule for the values at a path. In a path, [] stands for the elements of a list, {} for the values of a map
// and {k} for its keys. The path of a container applies to init containers too.
type rule struct {
	path  string
	valid func(text string) bool
	words string
}

// These are the words for values that several fields have.
const (
	labelName  = "is not a valid name: write NAME or PREFIX/NAME; NAME has at most 63 letters, digits, '-', '_' and '.'"
	labelValue = "is not a valid label value; use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	dnsLabel   = "is not a valid name; use at most 63 lower case letters, digits and '-', beginning and ending with a letter or digit"
	dnsName    = "is not a valid name; use lower case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	portNumber = "is not a port; write a number from 1 to 65535"
)

// rules are the rules of the API server (core/validation), and the grammar of images, which the kubelet checks.
var rules = []rule{
	{"metadata.labels{k}", IsLabelKey, labelName},
	{"metadata.labels{}", IsLabelValue, labelValue},
	{"metadata.annotations{k}", func(text string) bool { return IsLabelKey(strings.ToLower(text)) }, labelName},
	{"spec.nodeSelector{k}", IsLabelKey, labelName},
	{"spec.nodeSelector{}", IsLabelValue, labelValue},
	{"spec.tolerations[].key", optional(IsLabelKey), labelName},
	{"spec.tolerations[].operator", oneOf("", "Exists", "Equal", "Lt", "Gt"), "is not an operator of tolerations; write Exists or Equal"},
	{"spec.tolerations[].effect", oneOf("", "NoSchedule", "PreferNoSchedule", "NoExecute"), "is not an effect of taints; write NoSchedule, PreferNoSchedule or NoExecute"},
	{"spec.containers[].name", isLabel, dnsLabel},
	{"spec.containers[].image", isImage, "is not the name of an image; write one such as registry.example.com/team/spark:4.1.4, without blanks, and in lower case before the tag"},
	{"spec.containers[].imagePullPolicy", oneOf("", "Always", "IfNotPresent", "Never"), "is not a pull policy; write Always, IfNotPresent or Never"},
	{"spec.containers[].env[].name", isVariable, "is not a name of a variable; leave out '=' and characters that cannot be printed"},
	{"spec.containers[].ports[].containerPort", isPort, portNumber},
	{"spec.containers[].ports[].hostPort", func(text string) bool { return text == "0" || isPort(text) }, portNumber},
	{"spec.containers[].ports[].name", optional(passes(validation.IsValidPortName)), "is not a name of a port; use at most 15 lower case letters, digits and single '-', with a letter among them"},
	{"spec.containers[].ports[].protocol", oneOf("", "TCP", "UDP", "SCTP"), "is not a protocol; write TCP, UDP or SCTP"},
	{"spec.containers[].resources.limits{k}", IsLabelKey, labelName},
	{"spec.containers[].resources.requests{k}", IsLabelKey, labelName},
	{"spec.volumes[].name", isLabel, dnsLabel},
	{"spec.priorityClassName", optional(passes(validation.IsDNS1123Subdomain)), dnsName},
	{"spec.runtimeClassName", passes(validation.IsDNS1123Subdomain), dnsName},
	{"spec.serviceAccountName", optional(passes(validation.IsDNS1123Subdomain)), dnsName},
	{"spec.dnsPolicy", oneOf("", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"), "is not a DNS policy; write ClusterFirst, ClusterFirstWithHostNet, Default or None"},
}

// image matches the name of an image, as github.com/distribution/reference reads it.
var image = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)

// IsLabelKey reports whether text is a valid name of a label, an annotation or a node selector
// (validation.IsQualifiedName). The patterns of Kubernetes are only matched with texts that a scan does not accept,
// because they take a tenth of the time of a launch.
func IsLabelKey(text string) bool {
	prefix, name, found := strings.Cut(text, "/")
	if !found {
		prefix, name = "", text
	}

	plain := isPlain(name, "-_.") && (!found || len(prefix) <= validation.DNS1123SubdomainMaxLength && isPlainSubdomain(prefix))
	return plain || len(validation.IsQualifiedName(text)) == 0
}

// IsLabelValue reports whether text is a valid value of a label (validation.IsValidLabelValue).
func IsLabelValue(text string) bool {
	return text == "" || isPlain(text, "-_.") || len(validation.IsValidLabelValue(text)) == 0
}

// isPlain reports whether text has 1 to 63 letters, digits and characters of inner, with a letter or digit at both
// ends.
func isPlain(text, inner string) bool {
	for i := range len(text) {
		c := text[i]
		if alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'; alphanumeric {
			continue
		}

		if i == 0 || i == len(text)-1 || strings.IndexByte(inner, c) < 0 {
			return false
		}
	}
	return text != "" && len(text) <= validation.LabelValueMaxLength
}

// isLabel reports whether text is a label of DNS (validation.IsDNS1123Label).
func isLabel(text string) bool {
	return isPlainLabel(text) || len(validation.IsDNS1123Label(text)) == 0
}

// isVariable reports whether text is a name of a variable (validation.IsRelaxedEnvVarName).
func isVariable(text string) bool {
	return isPlain(text, "_") || len(validation.IsRelaxedEnvVarName(text)) == 0
}

func isPlainLabel(text string) bool { return isPlain(text, "-") && text == strings.ToLower(text) }

func isPlainSubdomain(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if !isPlainLabel(part) {
			return false
		}
	}
	return true
}

func passes(check func(string) []string) func(string) bool {
	return func(text string) bool { return len(check(text)) == 0 }
}

func optional(valid func(string) bool) func(string) bool {
	return func(text string) bool { return text == "" || valid(text) }
}

func oneOf(texts ...string) func(string) bool {
	return func(text string) bool { return slices.Contains(texts, text) }
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && len(validation.IsValidPortNum(n)) == 0
}

// isImage reports whether text is the name of an image. A text with a reference is one, since only the driver can
// replace the reference.
func isImage(text string) bool {
	return text == "" || strings.Contains(text, "${") || image.MatchString(text)
}

// Check returns the faults of a pod, at most one for each rule. It reads the pod as it is, because a tree of its JSON
// would take many times the memory of a large pod.
func Check(pod *corev1.Pod) (faults []Fault) {
	root := reflect.ValueOf(pod).Elem()
	for _, r := range resolved {
		for _, steps := range r.paths {
			if at, text, found := r.broken(root, steps); found {
				faults = append(faults, Fault{strings.TrimPrefix(at, "."), conf.Quote("", text) + " " + r.words})
				break
			}
		}
	}
	return append(faults, tolerationFaults(pod.Spec.Tolerations)...)
}

// resolvedRule is a rule with its paths as steps.
type resolvedRule struct {
	rule
	paths [][]step
}

// step is a step of a path: to a field of a struct, to the elements of a list, or to the keys or values of a map.
type step struct {
	text  string
	field int  // the index of the struct's field
	omits bool // the JSON leaves the field out if it is zero
}

// resolved resolves the paths of the rules once, because a search for fields by their names takes most of the time of a
// check.
var resolved = resolve(rules)

func resolve(rules []rule) (all []resolvedRule) {
	for _, r := range rules {
		paths := [][]step{stepsOf("." + r.path)}
		if rest, ok := strings.CutPrefix(r.path, "spec.containers"); ok {
			paths = append(paths, stepsOf(".spec.initContainers"+rest))
		}

		all = append(all, resolvedRule{r, paths})
	}
	return all
}

// stepsOf returns the steps of a path in a pod.
func stepsOf(path string) (steps []step) {
	t := reflect.TypeFor[corev1.Pod]()
	for path != "" {
		end := len(path)
		if i := strings.IndexAny(path[1:], ".[{"); i >= 0 {
			end = i + 1
		}

		s := step{text: path[:end]}
		path = path[end:]

		switch s.text {
		case "{k}", "{}":
			if texts := t == reflect.TypeFor[map[string]string](); path != "" || !texts && (s.text == "{}" || t != reflect.TypeFor[corev1.ResourceList]()) {
				panic("no rule can be checked for " + s.text + " of " + t.String())
			}
		case "[]":
			t = t.Elem()
		default:
			s.field, s.omits = fieldOf(t, s.text[1:])
			t = t.Field(s.field).Type
		}

		steps = append(steps, s)
	}
	return steps
}

// fieldOf returns the index of the field of a struct with the given name in JSON, and whether the JSON leaves it out if
// it is zero. It panics if the struct has no such field.
func fieldOf(t reflect.Type, name string) (index int, omits bool) {
	for i := range t.NumField() {
		if tag, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return i, strings.Contains(options, "omit")
		}
	}

	panic("no field " + name + " in " + t.String())
}

// broken returns the first value below a node that breaks the rule, and its path below the node. The steps are the rest
// of the rule's path.
func (r *resolvedRule) broken(node reflect.Value, steps []step) (at, text string, found bool) {
	if node.Kind() == reflect.Pointer {
		node = node.Elem()
	}

	if len(steps) == 0 {
		text = textOf(node)
		return "", text, !r.valid(text)
	}

	s, rest := steps[0], steps[1:]
	switch node.Kind() {
	case reflect.Struct:
		value := node.Field(s.field)
		if s.omits && value.IsZero() {
			return "", "", false
		}

		if at, text, found = r.broken(value, rest); found {
			at = s.text + at // an own step, because most values break no rule
		}
		return at, text, found
	case reflect.Map:
		return r.brokenEntry(node.Interface(), s.text == "{k}")
	case reflect.Slice:
		for i := range node.Len() {
			if at, text, found = r.broken(node.Index(i), rest); found {
				return fmt.Sprintf("[%d]%s", i, at), text, found
			}
		}
	}
	return "", "", false
}

// brokenEntry returns the first entry of a map, by its key, whose key or value breaks the rule. A rule does not go
// deeper than the entries of a map. Reflection would allocate memory for each entry.
func (r *resolvedRule) brokenEntry(entries any, keys bool) (at, text string, found bool) {
	first := ""
	check := func(key, entry string) {
		if (!found || key < first) && !r.valid(entry) {
			first, text, found = key, entry, true
		}
	}

	switch entries := entries.(type) {
	case map[string]string:
		for key, value := range entries {
			if keys {
				value = key
			}

			check(key, value)
		}
	case corev1.ResourceList:
		for key := range entries {
			check(string(key), string(key))
		}
	}

	if found {
		at = "[" + first + "]"
	}
	return at, text, found
}

func textOf(value reflect.Value) string {
	if value.CanInt() {
		return strconv.FormatInt(value.Int(), 10)
	}
	return value.String()
}

// tolerationFaults returns the faults of tolerations whose fields do not fit each other.
func tolerationFaults(all []corev1.Toleration) (faults []Fault) {
	for i := range all {
		t, at := &all[i], fmt.Sprintf("spec.tolerations[%d]", i)
		switch {
		case t.Operator == corev1.TolerationOpExists && t.Value != "":
			faults = append(faults, Fault{at + ".operator", "is Exists, which compares no value; remove the value, or write Equal"})
		case t.Key == "" && t.Operator != corev1.TolerationOpExists:
			faults = append(faults, Fault{at + ".operator", "should be Exists, because the toleration has no key; write Exists, or add the key"})
		case t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute:
			faults = append(faults, Fault{at + ".effect", "should be NoExecute, because the toleration has tolerationSeconds; write NoExecute"})
		}
	}
	return faults
}
