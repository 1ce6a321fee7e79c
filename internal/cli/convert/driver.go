package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// own is the prefix of the operator's own annotations.
const own = "sparkoperator.dev/"

func (c *Comment) explains(part string) bool {
	return slices.ContainsFunc(c.Pod, func(pattern string) bool { return regexp.MustCompile("^" + pattern + "$").MatchString(part) })
}

// differences returns the paths of all parts that differ between the driver pods of two applications, such as
// spec.containers[spark-kubernetes-driver].image.
//
// It ignores names and labels, the operator's own annotations, and the order of lists whose items have names. If an
// environment variable is set several times, only its last value counts, as in Kubernetes.
func differences(o preview.Operator, a, b client.Object) (parts []string, err error) {
	var flat [2]map[string]string
	for i, object := range []client.Object{a, b} {
		if flat[i], err = driverParts(o, object); err != nil {
			return nil, err
		}
	}

	all := maps.Clone(flat[0])
	maps.Copy(all, flat[1])

	for _, part := range slices.Sorted(maps.Keys(all)) {
		if flat[0][part] != flat[1][part] {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// objectsOf returns the objects that the operator creates for the first attempt of an application. It ignores whether
// the application is suspended.
func objectsOf(o preview.Operator, object client.Object) (submit.Objects, error) {
	if app, ok := object.(*v1beta2.SparkApplication); ok {
		app = app.DeepCopy()
		app.Spec.Submission = nil
		object = app
	}

	k, err := o.Kind(object)
	if err != nil {
		return submit.Objects{}, err
	}
	return k.Render(o.Fresh(object), lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, o.Now)
}

// driverParts returns all values in an application's driver pod. The keys are the paths of the values, and the values
// are JSON.
func driverParts(o preview.Operator, object client.Object) (map[string]string, error) {
	made, err := objectsOf(o, object)
	if err != nil {
		return nil, err
	}

	driver, err := made.DriverObject()
	if err != nil {
		return nil, err
	}

	text, err := json.Marshal(driver)
	if err != nil {
		return nil, err
	}

	text = localDirectory.ReplaceAll(text, []byte("/var/data/spark-ID"))

	var pod map[string]any
	if err := utiljson.Unmarshal(text, &pod); err != nil {
		return nil, err
	}

	meta, _ := pod["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return strings.HasPrefix(key, own) })

	parts := map[string]string{}
	if err := flatten(parts, "metadata.annotations", annotations); err != nil {
		return nil, err
	}

	if err := flatten(parts, "spec", pod["spec"]); err != nil {
		return nil, err
	}

	maps.DeleteFunc(parts, func(part, _ string) bool { return isName.MatchString(part) })
	return parts, nil
}

// isName matches the paths of those values that differ in each attempt: names of other objects, and the id of Spark's
// application.
var isName = regexp.MustCompile(`^spec\.volumes\[(spark-conf-volume-driver|pod-template-volume|sparkoperator-submit)\]\.(configMap\.name|secret\.secretName)$|` +
	`\.env\[SPARK_APPLICATION_ID\]`)

// localDirectory matches the path of a driver's local directory. The path contains a random id (LocalDirsFeatureStep).
var localDirectory = regexp.MustCompile(`/var/data/spark-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// identity lists the fields by which an item of a list can be identified. The first field that the item has is used.
var identity = []string{"mountPath", "name", "containerPort"}

// flatten adds all values of a JSON tree to parts, by their paths. In a path, an item of a list has the name that
// identifies it. Empty objects and lists are left out.
func flatten(parts map[string]string, path string, value any) error {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for key := range value {
			if err := flatten(parts, path+"."+key, value[key]); err != nil {
				return err
			}
		}
	case []any:
		return flattenList(parts, path, value)
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}

		parts[path] = string(text)
	}
	return nil
}

func flattenList(parts map[string]string, path string, list []any) error {
	for i, item := range list {
		name := fmt.Sprint(i)

		fields, _ := item.(map[string]any)
		for _, key := range identity {
			if field, ok := fields[key]; ok {
				name = fmt.Sprint(field)
				break
			}
		}

		at := path + "[" + name + "]"
		// The last of several items with the same name counts.
		maps.DeleteFunc(parts, func(part, _ string) bool { return strings.HasPrefix(part, at+".") })

		if err := flatten(parts, at, item); err != nil {
			return err
		}
	}
	return nil
}
