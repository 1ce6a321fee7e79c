package steps

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
)

const (
	podGroupVersion    = "scheduling.volcano.sh/v1beta1"
	podGroupKind       = "PodGroup"
	podGroupAnnotation = "scheduling.k8s.io/group-name"
)

// volcanoStep adds the PodGroup by which Volcano schedules the driver and the executors together (VolcanoFeatureStep).
// The PodGroup is created before the driver pod, which names the PodGroup. The executors name the PodGroup too: the
// driver runs Spark's Volcano step for each executor if spark.kubernetes.executor.pod.featureSteps contains this step.
func volcanoStep(d *draft.Draft) error {
	if !d.Volcano {
		return nil
	}

	name := d.Request.AppID + "-podgroup"
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return submit.FieldErrorf("AppID", "becomes part of a PodGroup's name, and %q is not a valid name: %s", name, errs[0])
	}

	group, err := podGroup(d)
	if err != nil {
		return err
	}

	group["apiVersion"], group["kind"] = podGroupVersion, podGroupKind
	u := &unstructured.Unstructured{Object: group}
	meta := d.Meta(name)

	labels := u.GetLabels()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := draft.CheckPair("label", key, labels[key]); err != nil {
			return submit.FieldErrorf("PodGroupTemplate", "%v", err)
		}
	}

	if labels == nil {
		labels = meta.Labels
	} else {
		maps.Copy(labels, meta.Labels)
	}

	annotations := u.GetAnnotations()

	delete(group, "metadata")
	delete(group, "status")
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)

	if len(labels) > 0 {
		u.SetLabels(labels)
	}

	if len(annotations) > 0 {
		u.SetAnnotations(annotations)
	}

	if len(meta.OwnerReferences) > 0 {
		u.SetOwnerReferences(meta.OwnerReferences)
	}

	if _, ok := group["spec"].(map[string]any); !ok {
		group["spec"] = map[string]any{}
	}
	// The PodGroup is created first, like Spark's "pre-resources".
	d.Before = slices.Insert(d.Before, 0, submit.Object(u))
	if d.Pod.Annotations == nil {
		d.Pod.Annotations = map[string]string{}
	}

	d.Pod.Annotations[podGroupAnnotation] = name
	return nil
}

// maxPodGroup is the maximum length of a PodGroup template. An ordinary template has some hundred bytes.
const maxPodGroup = 64 << 10

// podGroup returns the template of the PodGroup: the template of the Request, else the template of the configuration,
// else an empty template. The key of the configuration is named podGroupTemplateJson, so its value is parsed only as
// JSON. A YAML parser would expand aliases, so 130 KB of text from the author of an application could become gigabytes.
func podGroup(d *draft.Draft) (map[string]any, error) {
	template, read, wrong := d.Request.PodGroupTemplate, podtemplate.Decode, func(format string, args ...any) error { return submit.FieldErrorf("PodGroupTemplate", format, args...) }
	if len(template) == 0 {
		text, ok := d.Conf.Get(draft.VolcanoJSONKey)
		switch {
		case !ok:
			return map[string]any{}, nil
		case !d.Line.PodGroupJSON:
			d.Warn("%s: has no effect in Spark %s; use Spark 4.2 or later", draft.VolcanoJSONKey, d.Line)
			return map[string]any{}, nil
		}

		template, read, wrong = []byte(text), podtemplate.DecodeJSON, func(format string, args ...any) error { return submit.KeyErrorf(draft.VolcanoJSONKey, format, args...) }
	}

	if len(template) > maxPodGroup {
		return nil, wrong("is %d bytes long; the limit is %d bytes", len(template), maxPodGroup)
	}

	tree, err := read(template)
	if err != nil {
		return nil, wrong("is not a PodGroup: %s", conf.Shorten(err.Error()))
	}

	for _, f := range [...]struct{ field, want string }{{"apiVersion", podGroupVersion}, {"kind", podGroupKind}} {
		if value, ok := tree[f.field]; ok && value != f.want {
			return nil, wrong("should be a %s of %s, but has another %s", podGroupKind, podGroupVersion, f.field)
		}
	}

	for _, field := range []string{"metadata", "spec"} {
		if value, ok := tree[field]; ok && value != nil {
			if _, ok := value.(map[string]any); !ok {
				return nil, wrong("is not a PodGroup: %s should be an object", field)
			}
		}
	}
	return tree, nil
}
