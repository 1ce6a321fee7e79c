// Package stored compares what an API server stored for one application that was submitted in two ways. It is pure: who watches the server
// is the caller.
//
// An object becomes a flat list of facts, path to value. Lists whose elements have names are read by name, so that their order does not
// count. What belongs to the one run alone (names, ids, times) is replaced by placeholders before. Differences that are left are held
// against a list of intended ones, each with its reason: a difference that is not on the list fails, and so does an entry of the list that
// explains nothing any more.
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

// Set holds the objects of one run by their role in it, such as "driver pod". An object is what the API server answers, as JSON.
type Set map[string]map[string]any

// Difference is one fact that two runs do not share. An absent value is the empty text; every value that is there is JSON.
type Difference struct {
	Role, Path        string
	Native, Submitted string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s\n  native:       %s\n  spark-submit: %s", d.Role, d.Path, cmp.Or(d.Native, "absent"), cmp.Or(d.Submitted, "absent"))
}

// Intended is a difference that should be: by role and path, in which "*" stands for anything.
type Intended struct {
	Role, Path string
	// Lines are the Spark lines that have it, such as "4.3"; none means all.
	Lines []string
	// Programs are the names of the programs that show it; none means all.
	Programs []string
	Reason   string
}

// String names the entry.
func (i Intended) String() string { return fmt.Sprintf("%s %s (%s)", i.Role, i.Path, i.Reason) }

// On says whether the entry counts for a program on a Spark line.
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

// Compare returns what differs between two runs, by role and path.
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

// Explain holds differences against the intended ones. It returns those that nothing explains, and how many each entry explains: an entry
// with none is not true any more. A difference counts for the first entry that explains it.
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

// Names replaces what belongs to one run alone.
type Names struct{ replacer *strings.Replacer }

// NewNames takes texts of a run and what each stands for. A longer text wins over a shorter one that begins at the same place.
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

// random are texts that are made anew in each run and that nothing else tells.
var random = []struct {
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
	for _, r := range random {
		text = r.pattern.ReplaceAllString(text, r.as)
	}
	return text
}

// serverFields are the API server's own in every object's metadata.
var serverFields = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}

// Facts flattens an object. Its status and what the API server adds to every object's metadata are left out.
func Facts(object map[string]any, names *Names) map[string]string {
	facts := flat{names: names, facts: map[string]string{}}
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

// flat gathers facts.
type flat struct {
	names *Names
	facts map[string]string
}

func (f *flat) walk(path, field string, value any) {
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

// named says which field of an element names it, by the list's field.
var named = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "ports": "name", "imagePullSecrets": "name",
	"volumeMounts": "mountPath", "items": "key", "ownerReferences": "kind", "tolerations": "key",
}

// javaOption is a variable that carries one option of an executor's Java machine; the order of the options does not count.
var javaOption = regexp.MustCompile(`^SPARK_JAVA_OPT_\d+$`)

func (f *flat) list(path, field string, list []any) {
	if len(list) == 0 {
		f.facts[path] = "[]"
	}
	seen := map[string]int{}
	var order []string
	for i, element := range list {
		name := strconv.Itoa(i)
		if inner, ok := element.(map[string]any); ok && named[field] != "" {
			name = f.names.replace(fmt.Sprint(inner[named[field]]))
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
	// Programs take the first or the last container for Spark's.
	if field == "containers" || field == "initContainers" {
		f.facts[path+" in order"] = quote(order)
	}
}

// data reads a ConfigMap's: properties and YAML by what they say.
func (f *flat) data(value any) {
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

// plain keys are letters and digits.
var plain = regexp.MustCompile(`^[a-zA-Z0-9]*$`)

// join writes a key that is not plain in brackets.
func join(path, key string) string {
	if plain.MatchString(key) {
		return path + "." + key
	}
	return path + "[" + key + "]"
}

func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // only what came as JSON is handed in
	}
	return string(text)
}
