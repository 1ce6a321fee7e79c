package connect

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// sizeKeys are the keys that determine the size of a driver.
var sizeKeys = []string{
	"spark.driver.cores", "spark.kubernetes.driver.request.cores", "spark.kubernetes.driver.limit.cores",
	"spark.driver.memory", "spark.driver.memoryOverhead", "spark.driver.memoryOverheadFactor", "spark.driver.minMemoryOverhead",
	"spark.kubernetes.memoryOverheadFactor",
}

// resources sets the resources that Spark gives a driver in cluster mode: cores as the CPU request, and heap plus
// overhead as memory request and limit. If the template sets the CPU or the memory, that resource stays unchanged.
// Without these resources, the kubelet of a full node would evict the pod first, and the scheduler would not reserve
// room for the pod.
func (d *draft) resources(s *server) error {
	size, err := d.size()
	if err != nil {
		return err
	}

	res := &s.container().Resources
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if mentions(res, name) || s.Pod.Spec.Resources != nil && mentions(s.Pod.Spec.Resources, name) {
			continue
		}

		set(&res.Requests, size.Requests, name)
		set(&res.Limits, size.Limits, name)
	}

	needed, limit := size.Requests[corev1.ResourceMemory], res.Limits[corev1.ResourceMemory]
	if !limit.IsZero() && limit.Cmp(needed) < 0 {
		d.warns.OfField("ServerTemplate", "resources.limits.memory: %s is less than heap and overhead of the server (spark.driver.memory), %s; the server may be killed when it uses more than the limit",
			limit.String(), needed.String())
	}
	return nil
}

// size returns the resources that Spark would set on a driver with the server's configuration (BasicDriverFeatureStep).
func (d *draft) size() (corev1.ResourceRequirements, error) {
	c := conf.New()
	c.Set(imageKey, "any")

	for _, key := range sizeKeys {
		if _, _, ok := d.conf.Lookup(key); !ok {
			continue
		}

		value, err := d.conf.String(key, "")
		if err != nil {
			return corev1.ResourceRequirements{}, submit.AsError(err)
		}

		c.Set(key, value)
	}

	pod, err := native.Driver(submit.Request{
		SparkVersion: d.r.SparkVersion, Namespace: d.r.Namespace, AppName: d.r.Name, AppID: d.r.Name, ResourceNamePrefix: d.r.Name, MainClass: mainClass, Conf: c,
	})
	if err != nil {
		return corev1.ResourceRequirements{}, err
	}
	return pod.Spec.Containers[len(pod.Spec.Containers)-1].Resources, nil
}

// mentions reports whether the requests or the limits of res contain the resource.
func mentions(res *corev1.ResourceRequirements, name corev1.ResourceName) bool {
	_, requested := res.Requests[name]
	_, limited := res.Limits[name]
	return requested || limited
}

// set copies the amount of one resource from source to list. If source does not have the resource, set does nothing.
func set(list *corev1.ResourceList, source corev1.ResourceList, name corev1.ResourceName) {
	amount, ok := source[name]
	if !ok {
		return
	}

	if *list == nil {
		*list = corev1.ResourceList{}
	}

	(*list)[name] = amount
}
