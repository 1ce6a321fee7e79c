package draft

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// CheckVolumes rejects a pod that has two volumes of one name, or mounts a volume which it does not have. The argument
// name is the field of the Request with the pod's overlay o. Mounts are not checked if the user names feature steps,
// because they may add volumes.
func (d *Draft) CheckVolumes(name string, pod *corev1.Pod, o overlay.Overlay) error {
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		if volumes[v.Name] {
			return submit.FieldErrorf(name+".Volumes", "the %s pod has two volumes named %q; rename the volume of the template or overlay, since the other is Spark's", strings.ToLower(name), v.Name)
		}

		volumes[v.Name] = true
	}

	if steps, _ := d.Conf.Get("spark.kubernetes." + strings.ToLower(name) + ".pod.featureSteps"); steps != "" {
		return nil
	}

	unknown := podtemplate.FindUnknownMount(&pod.Spec)
	if unknown == nil {
		return nil
	}

	list, of := "Sidecars", o.Sidecars
	if unknown.Init {
		list, of = "InitContainers", o.InitContainers
	}

	i := slices.IndexFunc(of, func(c corev1.Container) bool { return c.Name == unknown.Container })
	if i < 0 {
		return submit.FieldErrorf(name+"Template", "%s: %s", unknown.Place, unknown.Message())
	}
	return submit.FieldErrorf(fmt.Sprintf("%s.%s[%d].%s", name, list, i, unknown.Path), "%s", unknown.Message())
}
