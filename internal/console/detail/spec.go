package detail

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/redact"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// runsOf selects the runs of a schedule.
func runsOf(schedule string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{v1beta2.ScheduledAppNameLabel: schedule})
}

// spec reads the manifest of an object, and computes what the operator makes of it.
func (s *subject) spec() (model.Spec, error) {
	out := model.Spec{Manifest: manifestOf(s.object)}

	launched, err := s.operator.Launch(s.object)
	if err != nil { // the manifest is shown nevertheless
		out.Missing = bounds.Line("The objects of the operator are missing: " + err.Error())
		return out, nil //nolint:nilerr // the page says why
	}

	source := s.object
	if len(launched.Runs) > 0 { // of a schedule: the next run, and what the operator makes of it
		source = launched.Runs[0]
		out.Rendered = append(out.Rendered, model.Rendered{
			Kind: source.GetObjectKind().GroupVersionKind().Kind, Name: bounds.Line(source.GetName()), YAML: manifestOf(source),
		})

		if launched, err = s.operator.Launch(source); err != nil {
			out.Missing = bounds.Line("The objects of the next run are missing: " + err.Error())
			return out, nil //nolint:nilerr // the page says why
		}
	}

	out.Missing = bounds.Line(strings.Join(append(slices.Clone(launched.Warnings), launched.Why), "; "))
	if launched.Why == "" {
		out.Missing = bounds.Line(strings.Join(launched.Warnings, "; "))
	}

	used := preview.UsedDefaults(s.operator.Defaults(source), launched.Objects)
	for _, d := range used {
		out.Origins = append(out.Origins, originOf(d.Setting, d.Value, d.Origin))
	}

	for _, p := range launched.Properties(used) {
		out.Properties = append(out.Properties, originOf(p.Key, p.Value, p.Origin))
	}

	hidden, err := redact.Objects(launched.Objects)
	if err != nil {
		return out, err
	}

	for _, object := range hidden {
		out.Rendered = append(out.Rendered, rendered(object))
		out.Effective += propertiesOf(object)
	}

	err = s.compareAttempts(&out, launched.Objects)
	return out, err
}

func originOf(name, value, from string) model.Origin {
	return model.Origin{Name: bounds.Line(name), Value: bounds.Line(value), From: bounds.Line(from)}
}

func rendered(object client.Object) model.Rendered {
	return model.Rendered{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: bounds.Line(object.GetName()), YAML: yamlOf(object)}
}

// yamlOf returns an object as YAML, with visible control characters.
func yamlOf(object client.Object) string {
	var out bytes.Buffer
	if err := preview.Write(&out, []client.Object{object}, preview.YAML); err != nil {
		return bounds.Line(err.Error())
	}
	return bounds.Text(strings.TrimPrefix(out.String(), "---\n"))
}

// manifestOf returns the manifest of an object. Values that look like secrets are hidden, because a page is more
// often shown to others than a terminal.
func manifestOf(object client.Object) string {
	shown := object.DeepCopyObject().(client.Object)
	shown.SetManagedFields(nil)

	hidden, err := redact.Objects([]client.Object{shown})
	if err != nil {
		return bounds.Line(err.Error())
	}
	return yamlOf(hidden[0])
}

// propertiesOf returns Spark's properties in a rendered ConfigMap: the effective configuration.
func propertiesOf(object client.Object) (text string) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil || object.GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
		return ""
	}

	data, _, _ := unstructured.NestedStringMap(tree, "data")
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if strings.HasSuffix(name, ".properties") || name == "spark-defaults.conf" {
			text += bounds.Text(data[name])
		}
	}
	return text
}

// compareAttempts compares the driver pods of two attempts, which the parameters a and b name: by default of the last
// two attempts whose pods exist, or else of the last one and what the operator would create now.
func (s *subject) compareAttempts(out *model.Spec, wanted []client.Object) error {
	pods := map[string]*corev1.Pod{}
	for i := range s.pods {
		if number := fmt.Sprint(identity.Attempt(&s.pods[i])); identity.IsDriver(&s.pods[i]) && pods[number] == nil {
			out.Attempts, pods[number] = append(out.Attempts, number), &s.pods[i]
		}
	}

	slices.SortFunc(out.Attempts, func(a, b string) int { return int(identity.Attempt(pods[a]) - identity.Attempt(pods[b])) })

	existing := len(out.Attempts)
	for _, object := range wanted {
		if pod, ok := object.(*corev1.Pod); ok && identity.IsDriver(pod) {
			out.Attempts, pods[model.Now] = append(out.Attempts, model.Now), pod
		}
	}

	if len(out.Attempts) < 2 {
		return nil
	}

	last := max(existing, 2)
	out.A = cmp.Or(bounds.Line(s.FormValue("a")), out.Attempts[last-2])
	out.B = cmp.Or(bounds.Line(s.FormValue("b")), out.Attempts[last-1])

	for _, name := range []string{out.A, out.B} {
		if pods[name] == nil {
			out.Missing = strings.TrimPrefix(out.Missing+"; the driver pod of attempt "+name+" is gone", "; ")
			return nil
		}
	}

	differences, err := preview.DifferencesOf(factsOf(pods[out.A]), factsOf(pods[out.B]))
	out.Changes = changesOf(differences)
	return err
}

// factsOf returns the parts of a driver pod that follow from a spec. The API server and other webhooks add many others.
func factsOf(pod *corev1.Pod) map[string]any {
	facts := map[string]any{"nodeSelector": pod.Spec.NodeSelector, "serviceAccount": pod.Spec.ServiceAccountName, "priorityClass": pod.Spec.PriorityClassName}
	if len(pod.Spec.Containers) == 0 {
		return facts
	}

	spark := &pod.Spec.Containers[0]

	env := map[string]string{}
	for _, v := range spark.Env {
		if v.ValueFrom == nil && !strings.HasPrefix(v.Name, "SPARK_") { // those that Spark sets name the attempt
			env[v.Name] = conf.Redact(v.Name, v.Value)
		}
	}

	facts["image"], facts["args"], facts["env"] = spark.Image, spark.Args, env
	facts["requests"], facts["limits"] = spark.Resources.Requests, spark.Resources.Limits
	return facts
}
