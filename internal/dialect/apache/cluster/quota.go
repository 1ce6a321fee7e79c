package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/standalone"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Pods returns the pods for which a cluster in a queue needs quota. A Spark container without a request for CPU or
// memory needs what its limit says. Without a limit, it needs what Spark uses by default, as in release 1.1: a queue
// would otherwise admit any number of such pods. The pods lack what the queue has added to those that run.
func (c Clusters) Pods(sc *sparkv1.SparkCluster) ([]dialect.Pods, error) {
	made, err := c.objectsWith(sc, c.settings(sc).Unplaced())
	if err != nil {
		return nil, err
	}

	pods := podsOf(made)
	for _, group := range pods {
		group.Pod.Spec = *group.Pod.Spec.DeepCopy()
		for i := range group.Pod.Spec.Containers {
			if container := &group.Pod.Spec.Containers[i]; container.Name == group.Role {
				estimate(container, group.Role)
			}
		}
	}
	return pods, nil
}

// estimate adds the missing requests of a Spark container.
func estimate(container *corev1.Container, role string) {
	env := func(name, fallback string) string {
		for _, v := range container.Env {
			if v.Name == name && v.Value != "" {
				return v.Value
			}
		}
		return fallback
	}

	cores, memory := "1", heap(env("SPARK_DAEMON_MEMORY", "1g"))
	if role == standalone.RoleWorker {
		cores, memory = env("SPARK_WORKER_CORES", cores), memory+heap(env("SPARK_WORKER_MEMORY", "0"))
	}

	cpu, err := bounds.Quantity(cores)
	if err != nil {
		cpu = resource.MustParse("1")
	}

	if container.Resources.Requests == nil {
		container.Resources.Requests = corev1.ResourceList{}
	}

	for name, fallback := range map[corev1.ResourceName]resource.Quantity{
		corev1.ResourceCPU:    cpu,
		corev1.ResourceMemory: *resource.NewQuantity(memory+max(memory/10, submit.LeastOverhead<<20), resource.BinarySI),
	} {
		if _, set := container.Resources.Requests[name]; set {
			continue
		}

		if limit, limited := container.Resources.Limits[name]; limited {
			fallback = limit
		}

		container.Resources.Requests[name] = fallback
	}
}

// heap returns a size of memory in Spark's notation as bytes, or 0 if it is not one.
func heap(text string) int64 {
	size, err := conf.ParseSize(text, conf.Byte)
	if err != nil {
		return 0
	}
	return size
}
