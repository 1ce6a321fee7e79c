package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/launch"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// own is the prefix of the operator's own annotations.
const own = "sparkoperator.dev/"

func (c *Comment) explains(part string) bool {
	return slices.ContainsFunc(c.Pod, func(pattern string) bool { return regexp.MustCompile("^" + pattern + "$").MatchString(part) })
}

// Differences returns the parts of the driver pods of two applications that differ, such as
// spec.containers[spark-kubernetes-driver].image. It ignores names and labels, the operator's own annotations, and the
// order of lists whose items have names. If a variable is set several times, only its last value counts, as in
// Kubernetes.
func Differences(o launch.Operator, a, b client.Object) (parts []string, err error) {
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

// objectsOf returns the objects that the operator creates for the first attempt of an application, whether or not the
// application is suspended.
func objectsOf(o launch.Operator, object client.Object) (submit.Objects, error) {
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

// driverParts returns the values in an application's driver pod, as JSON, by their paths.
func driverParts(o launch.Operator, object client.Object) (map[string]string, error) {
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
	if err := json.Unmarshal(text, &pod); err != nil {
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

// isName matches the parts of a driver pod whose values depend on the attempt: names of other objects, and the id of
// Spark's application.
var isName = regexp.MustCompile(`^spec\.volumes\[(spark-conf-volume-driver|pod-template-volume|sparkoperator-submit)\]\.(configMap\.name|secret\.secretName)$|` +
	`\.env\[SPARK_APPLICATION_ID\]`)

// localDirectory matches the path of a driver's local directory, which contains an id of the attempt
// (LocalDirsFeatureStep).
var localDirectory = regexp.MustCompile(`/var/data/spark-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// identity are the fields that identify an item of a list, in the order of preference.
var identity = []string{"mountPath", "name", "containerPort"}

// flatten adds the values of a JSON tree to parts. Items of lists are named by the field that identifies them. Objects
// and lists without content are left out.
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
