package native_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/record"
)

// facts maps the paths of values in objects to the values: "Pod: /spec/restartPolicy" -> "Never". Two submissions are
// equal if their facts are equal; facts do not contain values that have no meaning, such as empty lists.
type facts map[string]string

// difference is a fact that differs between spark-submit (theirs) and Build (ours). An empty value means that the fact
// is missing on that side.
type difference struct{ path, theirs, ours string }

func (d difference) String() string {
	show := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return text
	}
	return fmt.Sprintf("%s: spark-submit has %s, Build has %s", d.path, show(d.theirs), show(d.ours))
}

func compare(theirs, ours facts) []difference {
	all := maps.Clone(theirs)
	maps.Copy(all, ours)

	var out []difference
	for _, key := range slices.Sorted(maps.Keys(all)) {
		// The text of a property is compared only if its value is equal.
		value := strings.Replace(key, " (text)/", "/", 1)
		if theirs[key] != ours[key] && (value == key || theirs[value] == ours[value]) {
			out = append(out, difference{key, theirs[key], ours[key]})
		}
	}
	return out
}

// object is an object that was written to the API server. If it was written several times, this is the last version.
type object struct {
	kind, name string
	tree       map[string]any
}

// recordedObjects returns the objects that spark-submit wrote, in the order in which they were first written. If an
// object does not name its namespace, it gets the namespace of the HTTP request.
func recordedObjects(t *testing.T, r record.Recording) []object {
	t.Helper()

	var out []object
	for _, request := range r.Requests {
		if request.Method == http.MethodDelete {
			t.Fatalf("a recording with a DELETE is one of a submission that failed half way: %s", request.Path)
		}

		o := object{tree: decode(t, request.Body)}
		o.kind, _ = o.tree["kind"].(string)
		metadata, _ := o.tree["metadata"].(map[string]any)

		o.name, _ = metadata["name"].(string)
		if _, ok := metadata["namespace"]; !ok {
			_, rest, _ := strings.Cut(request.Path, "/namespaces/")
			metadata["namespace"], _, _ = strings.Cut(rest, "/")
		}

		if i := slices.IndexFunc(out,
			func(before object) bool { return before.kind == o.kind && before.name == o.name }); i >= 0 {
			out[i].tree = o.tree
			continue
		}

		out = append(out, o)
	}
	return out
}

// builtObjects returns the objects that Build returned, in the order in which they would be written.
func builtObjects(t *testing.T, o submit.Objects, version, service string) []object {
	t.Helper()

	driver, err := o.DriverObject()
	if err != nil {
		t.Fatal(err)
	}

	var out []object
	for _, built := range append(slices.Clone(o.Before), driver) {
		text, err := json.Marshal(built)
		if err != nil {
			t.Fatal(err)
		}

		if service != "" {
			text = []byte(strings.ReplaceAll(string(text), service, "spark-"+record.ServiceID+"-driver-svc"))
		}

		tree := decode(t, text)
		delete(tree, "status")
		neutralVersion(tree, version)
		kind, _ := tree["kind"].(string)
		name, _ := tree["metadata"].(map[string]any)["name"].(string)
		out = append(out, object{kind, name, tree})
	}
	return out
}

// neutralVersion replaces the version in every label spark-version by the placeholder that the recordings contain.
func neutralVersion(value any, version string) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if key == submit.VersionLabel && field == version {
				value[key] = record.Version
			}

			neutralVersion(field, version)
		}
	case []any:
		for _, element := range value {
			neutralVersion(element, version)
		}
	}
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()

	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return tree
}

// takeApart converts objects into facts.
func takeApart(t *testing.T, objects []object) facts {
	t.Helper()

	f := facts{}
	names, families := neutralNames(objects), familiesOf(t, objects)

	var order []string
	for _, o := range objects {
		name := names.Replace(o.name)
		if o.kind == "Pod" {
			f["order: Pod"] = "after the others"
			if len(order) == 0 {
				f["order: Pod"] = "before the others"
			}

			f.podOrder(o.tree, families)
		} else {
			order = append(order, o.kind+" "+name)
		}

		text, err := json.Marshal(o.tree)
		if err != nil {
			t.Fatal(err)
		}

		f.add(o.kind+" "+name+": ", "", decode(t, []byte(names.Replace(string(text)))))
	}
	// Spark numbers claims in the order of a hash table.
	slices.SortStableFunc(order, func(a, b string) int {
		if strings.HasPrefix(a, "PersistentVolumeClaim") && strings.HasPrefix(b, "PersistentVolumeClaim") {
			return strings.Compare(a, b)
		}
		return 0
	})
	f["order: others"] = strings.Join(order, ", ")
	return f
}

// podOrder adds facts for the order of the containers and of their environment variables. Containers start in this
// order, and a variable may refer to earlier variables: $(NAME). The variables that come from one group of keys have
// the random order of a hash table, so podOrder lists the group instead of the variables. The argument families maps
// these variables to their groups (familiesOf).
func (f facts) podOrder(tree map[string]any, families map[string]string) {
	spec, _ := tree["spec"].(map[string]any)
	for _, list := range []string{"initContainers", "containers"} {
		var names []string
		for name, container := range named(spec[list]) {
			names = append(names, name)

			var variables []string
			for variable := range named(container["env"]) {
				if family := families[variable]; family != "" {
					variable = family
				}

				variables = append(variables, variable)
			}

			f["order: variables of "+name] = strings.Join(slices.Compact(variables), ", ")
		}

		f["order: "+list] = strings.Join(names, ", ")
	}
}

// named yields the elements of a list of objects, with their names.
func named(list any) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		elements, _ := list.([]any)
		for _, element := range elements {
			fields, _ := element.(map[string]any)
			if name, _ := fields["name"].(string); !yield(name, fields) {
				return
			}
		}
	}
}

// familiesOf maps each variable that comes from a group of keys in spark.properties, such as
// spark.kubernetes.driverEnv.*, to the group.
func familiesOf(t *testing.T, objects []object) map[string]string {
	families := map[string]string{}
	for _, o := range objects {
		data, _ := o.tree["data"].(map[string]any)
		text, _ := data["spark.properties"].(string)

		c, err := conf.UnmarshalProperties(text)
		if err != nil {
			t.Fatal(err)
		}

		for _, family := range []string{"spark.kubernetes.driverEnv.", "spark.kubernetes.driver.secretKeyRef."} {
			for name := range c.WithPrefix(family) {
				families[name] = family + "*"
			}
		}
	}
	return families
}

var (
	claimOnDemand = regexp.MustCompile(`-driver-pvc-[0-9]+`)
	localDirName  = regexp.MustCompile(`^spark-local-dir-[0-9]+$`)
)

// neutralNames returns a replacer for the numbers that Spark assigns in a random order. It replaces the number of a
// claim by the name of the claim's volume, and the number of a local directory by the directory's index in the sorted
// paths.
func neutralNames(objects []object) *strings.Replacer {
	var pairs []string
	for _, o := range objects {
		if o.kind != "Pod" {
			continue
		}

		spec, _ := o.tree["spec"].(map[string]any)
		for name, volume := range named(spec["volumes"]) {
			source, _ := volume["persistentVolumeClaim"].(map[string]any)
			if claim, _ := source["claimName"].(string); claimOnDemand.MatchString(claim) {
				pairs = append(pairs, claim, claimOnDemand.ReplaceAllString(claim, "-driver-pvc-of-"+name))
			}
		}

		pairs = append(pairs, localDirPairs(spec)...)
	}
	return strings.NewReplacer(pairs...)
}

func localDirPairs(spec map[string]any) []string {
	var paths []string

	names := map[string]string{}
	for _, container := range named(spec["containers"]) {
		for name, mount := range named(container["volumeMounts"]) {
			if at, _ := mount["mountPath"].(string); localDirName.MatchString(name) {
				paths, names[at] = append(paths, at), name
			}
		}
	}

	slices.Sort(paths)

	var pairs []string
	for i, at := range paths {
		pairs = append(pairs, strconv.Quote(names[at]), strconv.Quote(fmt.Sprint("spark-local-dir-sorted-", i+1)))
	}
	return pairs
}

// listKeys maps the name of a list in a Kubernetes object to the field that identifies an element of the list. Elements
// of other lists are identified by their index.
var listKeys = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath",
	"ports": "name", "items": "key",
	"imagePullSecrets": "name",
}

// emptyIsNone are the fields in which an empty or false value has the same meaning as no value.
var emptyIsNone = map[string]bool{"subPath": true, "subPathExpr": true, "medium": true, "type": true, "value": true,
	"readOnly": true, "publishNotReadyAddresses": true}

// add adds the facts of value. The argument at is the path of value. A missing value, {} and [] are equal. The only
// exception is a field of a volume: there, {} is a source with default settings.
func (f facts) add(prefix, at string, value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		if path.Base(path.Dir(path.Dir(at))) == "volumes" {
			f[prefix+at] = "present"
		}

		for key, v := range value {
			f.addKey(prefix, at+"/"+strings.ReplaceAll(key, "/", "~1"), key, v)
		}
	case []any:
		f.addList(prefix, at, value)
	case string:
		f[prefix+at] = strconv.Quote(value)
	default:
		f[prefix+at] = fmt.Sprint(value)
	}
}

// addKey adds the facts of a field. It parses configuration files, normalises quantities such as 1000m, and sorts lists
// of directories, so that equal contents give equal facts.
func (f facts) addKey(prefix, at, key string, value any) {
	text, isText := value.(string)
	switch {
	case emptyIsNone[key] && (value == false || value == ""):
	case isText && key == "spark.properties" && at == "/data/"+key:
		f.addProperties(prefix, at, text)
	case isText && key == "podspec-configmap-key":
		var tree any
		if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
			tree = text
		}

		f.add(prefix, at, tree)
	case isAmount(at):
		if q, err := resource.ParseQuantity(fmt.Sprint(value)); err == nil {
			if value, ok := new(big.Rat).SetString(q.AsDec().String()); ok {
				f[prefix+at] = value.RatString()
				return
			}
		}

		f.add(prefix, at, value)
	case isText && strings.HasSuffix(at, "/env/SPARK_LOCAL_DIRS/value"):
		dirs := strings.Split(text, ",")
		slices.Sort(dirs)
		f[prefix+at] = strconv.Quote(strings.Join(dirs, ","))
	default:
		f.add(prefix, at, value)
	}
}

func isAmount(at string) bool {
	switch path.Base(path.Dir(at)) {
	case "limits", "requests", "minResources":
		return true
	}
	return path.Base(at) == "sizeLimit"
}

func (f facts) addList(prefix, at string, list []any) {
	seen := map[string]int{}
	for i, element := range list {
		name := strconv.Itoa(i)
		if fields, ok := element.(map[string]any); ok {
			if own, ok := fields[listKeys[path.Base(at)]].(string); ok {
				name = strings.ReplaceAll(own, "/", "~1")
			}
		}
		// If a name occurs twice, the later variable counts, so their order is kept.
		if seen[name]++; seen[name] > 1 {
			name += fmt.Sprint("#", seen[name])
		}

		f[prefix+at+"/"+name] = "present"
		f.add(prefix, at+"/"+name, element)
	}
}

// addProperties adds the facts of spark.properties: the pairs that Java would read, and the text of their lines.
func (f facts) addProperties(prefix, at, text string) {
	c, err := conf.UnmarshalProperties(text)
	if err != nil {
		f[prefix+at] = err.Error()
		return
	}

	for key, value := range c.All() {
		f[prefix+at+"/"+key] = strconv.Quote(value)
	}

	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}

	for _, line := range lines {
		property, err := conf.UnmarshalProperties(line)
		if err != nil || property.Len() != 1 {
			f[prefix+at+" (text)"] = strconv.Quote(line)
			continue
		}

		f[prefix+at+" (text)/"+property.Keys()[0]] = strconv.Quote(line)
	}

	first, _, _ := strings.Cut(text, "\n")
	f[prefix+at+" (text)"] = strconv.Quote(first)
}
