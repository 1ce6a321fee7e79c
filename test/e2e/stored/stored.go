// Package stored compares the objects of two runs of one application: one run that the operator submitted, and one that
// spark-submit submitted. It does no I/O. The caller reads the objects from the API server.
//
// The comparison flattens an object into facts, which map a path to a value. It identifies an element of a list by its
// name if the element has one, so that the order of the elements does not matter. Placeholders replace values that
// differ from run to run, such as names, ids and times. A list of intended differences gives a reason for each
// difference. A difference that is not in this list is an error. An entry of the list that explains no difference is
// also an error.
package stored

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Set holds the objects of one run. The keys are their roles, such as "driver pod". Each object has the form of the API
// server's JSON.
type Set map[string]map[string]any

// Difference is one fact that differs between two runs. A value that is missing in one run is the empty string. Other
// values are JSON.
type Difference struct {
	Role, Path        string
	Native, Submitted string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s\n  native:       %s\n  spark-submit: %s", d.Role, d.Path, cmp.Or(d.Native, "absent"), cmp.Or(d.Submitted, "absent"))
}

// Intended describes intended differences and gives the reason for them. In the role and the path, "*" matches any
// text.
type Intended struct {
	Role, Path string
	// Lines lists the Spark lines that have this difference, such as "4.3". If it is empty, all lines have the
	// difference.
	Lines []string
	// Programs lists the programs that have this difference. If it is empty, all programs have the difference.
	Programs []string
	Reason   string
}

// String returns the entry as text.
func (i Intended) String() string { return fmt.Sprintf("%s %s (%s)", i.Role, i.Path, i.Reason) }

// On reports whether the intended difference can occur in the given program on the given Spark line.
func (i Intended) On(line, program string) bool {
	return (len(i.Lines) == 0 || slices.Contains(i.Lines, line)) && (len(i.Programs) == 0 || slices.Contains(i.Programs, program))
}

func (i Intended) explains(d Difference) bool {
	return matches(i.Role, d.Role) && matches(i.Path, d.Path)
}

func matches(pattern, text string) bool {
	expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	return regexp.MustCompile("^" + expression + "$").MatchString(text)
}

// Compare returns the differences between two runs, sorted by role and path.
func Compare(native, submitted Set, ofNative, ofSubmitted *Names) []Difference {
	var found []Difference
	roles := maps.Clone(native)
	maps.Copy(roles, submitted)

	for _, role := range slices.Sorted(maps.Keys(roles)) {
		ours, theirs := Facts(native[role], ofNative), Facts(submitted[role], ofSubmitted)
		paths := maps.Clone(ours)
		maps.Copy(paths, theirs)

		for _, path := range slices.Sorted(maps.Keys(paths)) {
			if ours[path] != theirs[path] {
				found = append(found, Difference{Role: role, Path: path, Native: ours[path], Submitted: theirs[path]})
			}
		}
	}
	return found
}

// Explain compares the differences with the intended ones. It returns the unexplained differences and the number of
// differences that each entry explains. An entry that explains no difference is obsolete. If several entries match a
// difference, the first one explains it.
func Explain(differences []Difference, intended []Intended) (unexplained []Difference, explained []int) {
	explained = make([]int, len(intended))
	for _, d := range differences {
		if i := slices.IndexFunc(intended, func(entry Intended) bool { return entry.explains(d) }); i >= 0 {
			explained[i]++
		} else {
			unexplained = append(unexplained, d)
		}
	}
	return unexplained, explained
}

// Names replaces the generated names and ids of one run with placeholders, so that the objects of two runs can be
// compared.
type Names struct{ replacer *strings.Replacer }

// NewNames returns the Names of a run. The keys of its argument are texts that occur in the run's objects, and the
// values are their placeholders. If two keys match at the same place, the longer one is replaced.
func NewNames(placeholders map[string]string) *Names {
	texts := slices.SortedFunc(maps.Keys(placeholders), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})

	var pairs []string
	for _, text := range texts {
		if text != "" {
			pairs = append(pairs, text, "{"+placeholders[text]+"}")
		}
	}
	return &Names{strings.NewReplacer(pairs...)}
}

// randomTexts lists patterns of random texts and their replacements. Names contains no placeholders for such texts,
// because no other object of the run reveals their values.
var randomTexts = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "{uuid}"},
	{regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`), "kube-api-access-{random}"},
	{regexp.MustCompile(`\b10\.88\.\d+\.\d+\b`), "{pod address}"},
	{regexp.MustCompile(`spark-exec-[0-9a-f]{16}-conf-map`), "spark-exec-{id}-conf-map"},
}

func (n *Names) replace(text string) string {
	if n != nil {
		text = n.replacer.Replace(text)
	}

	for _, r := range randomTexts {
		text = r.pattern.ReplaceAllString(text, r.as)
	}
	return text
}

// serverFields are the metadata fields that the API server sets in every object.
var serverFields = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}

// Facts flattens an object. It omits the status and the metadata that the API server sets.
func Facts(object map[string]any, names *Names) map[string]string {
	facts := flattener{names: names, facts: map[string]string{}}
	for key, value := range object {
		switch key {
		case "status":
		case "metadata":
			value, _ := value.(map[string]any)

			value = maps.Clone(value)
			for _, field := range serverFields {
				delete(value, field)
			}

			facts.walk("metadata", key, value)
		case "data":
			facts.data(value)
		default:
			facts.walk(key, key, value)
		}
	}
	return facts.facts
}

// flattener collects the facts of one object.
type flattener struct {
	names *Names
	facts map[string]string
}

func (f *flattener) walk(path, field string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			f.facts[path] = "{}"
		}

		for key, inner := range value {
			f.walk(join(path, f.names.replace(key)), key, inner)
		}
	case []any:
		f.list(path, field, value)
	case string:
		f.facts[path] = quote(f.names.replace(value))
	default:
		f.facts[path] = quote(value)
	}
}

// elementKeys lists the list fields whose elements have an identifier. The key is the name of the list field. The value
// is the field of an element that identifies it.
var elementKeys = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "ports": "name", "imagePullSecrets": "name",
	"volumeMounts": "mountPath", "items": "key", "ownerReferences": "kind", "tolerations": "key",
}

// javaOption matches the name of an environment variable that holds one Java option of an executor. The order of these
// options does not matter.
var javaOption = regexp.MustCompile(`^SPARK_JAVA_OPT_\d+$`)

func (f *flattener) list(path, field string, list []any) {
	if len(list) == 0 {
		f.facts[path] = "[]"
	}

	seen := map[string]int{}

	var order []string
	for i, element := range list {
		name := strconv.Itoa(i)
		if inner, ok := element.(map[string]any); ok && elementKeys[field] != "" {
			name = f.names.replace(fmt.Sprint(inner[elementKeys[field]]))
			if field == "ownerReferences" {
				inner = maps.Clone(inner)
				delete(inner, "uid")
				element = inner
			}

			if javaOption.MatchString(name) {
				name = f.names.replace("SPARK_JAVA_OPT " + fmt.Sprint(inner["value"]))
				element = map[string]any{}
			}
		}

		if seen[name]++; seen[name] > 1 {
			name += "#" + strconv.Itoa(seen[name])
		}

		order = append(order, name)
		f.walk(path+"["+name+"]", "", element)
	}
	// Programs identify Spark's container as the first or the last one.
	if field == "containers" || field == "initContainers" {
		f.facts[path+" in order"] = quote(order)
	}
}

// data flattens the data of a ConfigMap. It parses values that are properties files or YAML.
func (f *flattener) data(value any) {
	entries, _ := value.(map[string]any)
	for key, content := range entries {
		path := "data[" + f.names.replace(key) + "]"
		text, _ := content.(string)

		var tree map[string]any
		switch {
		case strings.HasSuffix(key, ".properties"):
			properties, err := conf.UnmarshalProperties(text)
			if err != nil {
				f.facts[path] = quote("no properties: " + err.Error())
				continue
			}

			for name, value := range properties.All() {
				if name == "spark.app.submitTime" {
					value = "{time}"
				}

				f.facts[join(path, name)] = quote(f.names.replace(value))
			}
		case key == "podspec-configmap-key" && yaml.Unmarshal([]byte(text), &tree) == nil:
			f.walk(path, key, tree)
		default:
			f.walk(path, key, content)
		}
	}
}

// plainKey matches keys that consist of letters and digits.
var plainKey = regexp.MustCompile(`^[a-zA-Z0-9]*$`)

// join appends a key to a path. It puts the key in brackets unless the key matches plainKey.
func join(path, key string) string {
	if plainKey.MatchString(key) {
		return path + "." + key
	}
	return path + "[" + key + "]"
}

func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // values come from JSON, so this does not happen
	}
	return string(text)
}
