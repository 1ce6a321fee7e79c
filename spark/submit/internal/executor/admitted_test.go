package executor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// limited returns a Request whose executors have a memory limit that a mutating admission policy sets.
func limited(limit string) submit.Request {
	r := kit.Minimal()
	r.Admitted = admit.Settings{By: admit.Policy, Overlay: overlay.Overlay{MemoryLimit: new(resource.MustParse(limit))}}
	r.Executor.MemoryLimit = r.Admitted.Overlay.MemoryLimit
	return r
}

// TestTemplateIsMarkedForAdmission checks that the executors' template names the Spark container and the admission
// mechanism that changes the pods. It also checks that Build does not warn about a field that this mechanism sets.
func TestTemplateIsMarkedForAdmission(t *testing.T) {
	r := limited("4Gi")
	r.ExecutorTemplate = []byte(`{"spec": {"containers": [{"name": "side"}, {"name": "mine"}]}}`)
	r.Conf.Set("spark.kubernetes.executor.podTemplateContainerName", "mine")

	o := kit.Build(t, r)
	if slices.ContainsFunc(o.Warnings, func(w string) bool { return strings.HasPrefix(w, submit.OverwrittenPrefix) }) {
		t.Errorf("warnings %q", o.Warnings)
	}

	found := false
	for _, object := range o.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data["podspec-configmap-key"] != "" {
			text := config.Data["podspec-configmap-key"]
			found = strings.Contains(text, `"`+admit.Label+`": "policy"`) &&
				strings.Contains(text, `"`+admit.MemoryLimitAnnotation+`": "4Gi"`) &&
				strings.Contains(text, `"`+admit.ContainerAnnotation+`": "mine"`)
		}
	}

	if !found {
		t.Error("the template is not marked")
	}

	pod, spark := podOf(t, r)
	if got := spark.Resources.Limits.Memory().String(); got != "4Gi" || pod.Labels[admit.Label] != "policy" {
		t.Errorf("the executor has the limit %s and the labels %v", got, pod.Labels)
	}
}

// TestAdmittedLimitBelowTheRequest checks that Build rejects a memory limit below the executors' memory request, and
// that the error names the limit's field.
func TestAdmittedLimitBelowTheRequest(t *testing.T) {
	for limit, refused := range map[string]bool{"1407Mi": true, "1408Mi": false} {
		_, err := native.Build(limited(limit))

		wrong, ok := errors.AsType[*submit.Error](err)
		if ok != refused || ok && (wrong.Field != "Executor.MemoryLimit" ||
			!strings.Contains(wrong.Message, "is below the memory that executors request, 1408Mi")) {
			t.Errorf("%s: %v", limit, err)
		}
	}
}
