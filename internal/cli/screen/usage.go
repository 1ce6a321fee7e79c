package screen

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Used holds the CPU (in millicores) and the memory (in bytes) that a pod uses.
type Used struct{ CPUMillis, MemoryBytes int64 }

// podMetrics contains the fields of a PodMetricsList (metrics API) that the verb top shows.
type podMetrics struct {
	Items []struct {
		Metadata   metav1.ObjectMeta `json:"metadata"`
		Containers []struct {
			Usage corev1.ResourceList `json:"usage"`
		} `json:"containers"`
	} `json:"items"`
}

// ReadUsage returns the CPU and memory that an object's pods use, by pod name. If the metrics API does not answer, the
// second result says why there are no values.
func ReadUsage(ctx context.Context, c *kube.Client, object client.Object) (usage map[string]Used, missing string) {
	path := "/apis/metrics.k8s.io/v1beta1/namespaces/" + object.GetNamespace() + "/pods"

	text, err := c.Raw(ctx, path, "labelSelector", lifecycle.AppUIDLabel+"="+string(object.GetUID()))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsServiceUnavailable(err):
		return nil, "no values of CPU and memory: the cluster has no metrics API, or it does not answer; " + string(terminal.Hint("doctor")) + " says how to install it"
	case err != nil:
		return nil, fmt.Sprintf("no values of CPU and memory: %v", c.Explain(err))
	}

	var list podMetrics
	if err := utiljson.Unmarshal(text, &list); err != nil {
		return nil, fmt.Sprintf("no values of CPU and memory: the answer of the metrics API cannot be read: %v", err)
	}

	usage = map[string]Used{}
	for _, item := range list.Items {
		var sum Used
		for _, container := range item.Containers {
			sum.CPUMillis += container.Usage.Cpu().MilliValue()
			sum.MemoryBytes += container.Usage.Memory().Value()
		}

		usage[item.Metadata.Name] = sum
	}
	return usage, ""
}
