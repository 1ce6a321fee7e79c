package standalone

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// autoscaled reports whether an autoscaler changes the number of workers.
func (r Request) autoscaled() bool { return r.MinWorkers < r.MaxWorkers }

// minWorkers returns the autoscaler's lower bound. It is at least 1, as the API server requires, because without
// workers the autoscaler has nothing to measure.
func (d *draft) minWorkers() int32 { return int32(max(1, d.r.MinWorkers)) }

// initialWorkers returns the number of workers with which the cluster starts. It is not zero for an autoscaled cluster,
// because an autoscaler never scales a StatefulSet that has zero replicas.
func (d *draft) initialWorkers() int32 {
	if !d.r.autoscaled() {
		return int32(d.r.InitWorkers)
	}
	return max(int32(d.r.InitWorkers), d.minWorkers())
}

// autoscaler builds the workers' HorizontalPodAutoscaler if MinWorkers is less than MaxWorkers.
func (d *draft) autoscaler(o *Objects) error {
	spec, extra, err := podtemplate.As[autoscalingv2.HorizontalPodAutoscalerSpec](d.r.Autoscaler)
	if err != nil {
		return fieldError(fieldAutoscaler, "%v", err)
	}

	if !d.r.autoscaled() {
		if len(d.r.Autoscaler) > 0 {
			d.warns.OfField(fieldAutoscaler, "has no effect: minWorkers is not less than maxWorkers, so the number of workers is constant")
		}
		return nil
	}

	if d.r.InitWorkers > d.r.MaxWorkers {
		return fieldError("InitWorkers", "%d is above maxWorkers, %d, and the autoscaler would remove the difference at once; lower it, or raise maxWorkers", d.r.InitWorkers, d.r.MaxWorkers)
	}

	if d.r.MinWorkers < 1 {
		d.warns.OfField("MinWorkers", "the autoscaler keeps at least one worker: without workers it has nothing to measure")
	}

	if d.r.InitWorkers < int64(d.minWorkers()) {
		d.warns.OfField("InitWorkers", "the cluster starts with %s: an autoscaler does not scale up from zero, and keeps at least %d", bounds.Count(d.initialWorkers(), "worker"), d.minWorkers())
	}

	spec.MinReplicas, spec.MaxReplicas = new(d.minWorkers()), int32(d.r.MaxWorkers)

	spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: StatefulSetName(d.r.Name, RoleWorker)}
	if len(d.r.Autoscaler) == 0 {
		spec.Metrics, spec.Behavior = defaultMetrics(), defaultBehavior()

		d.warnRequest(o.Workers.Spec.Template.Spec)
	}

	o.Autoscaler = &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: d.meta(autoscalerName(d.r.Name), "", Metadata{}),
		Spec:       *spec,
	}
	o.keep(o.Autoscaler, extra)
	return nil
}

// defaultMetrics returns the metrics of an autoscaler without a template. They scale by the CPU use of the daemon's
// container, in which the executors run too: the target is 30 % of the container's CPU request.
func defaultMetrics() []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ContainerResourceMetricSourceType,
		ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: corev1.ResourceCPU, Container: RoleWorker,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(30))},
		},
	}}
}

// defaultBehavior returns the behavior of an autoscaler without a template: it adds at most one worker a minute, and
// removes at most one worker in ten minutes.
func defaultBehavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	oneIn := func(seconds int32) *autoscalingv2.HPAScalingRules {
		return &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: seconds}}}
	}
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: oneIn(60), ScaleDown: oneIn(600)}
}

// warnRequest warns if the workers have neither a CPU request nor a CPU limit, which is the default of the request. The
// default metrics need the request, because they measure the CPU use relative to it.
func (d *draft) warnRequest(pod corev1.PodSpec) {
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == RoleWorker })
	if i < 0 {
		return
	}

	resources := pod.Containers[i].Resources
	if _, limited := resources.Limits[corev1.ResourceCPU]; limited {
		return
	}

	if _, asked := resources.Requests[corev1.ResourceCPU]; !asked {
		d.warns.OfField(fieldWorkerSet, "container %s has no CPU request, and the autoscaler scales by the used share of that request; set resources.requests.cpu, or other metrics", RoleWorker)
	}
}

// budget builds the workers' PodDisruptionBudget if MinWorkers is at least 1.
func (d *draft) budget(o *Objects) {
	if d.r.MinWorkers < 1 {
		return
	}

	o.Budget = &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: d.meta(budgetName(d.r.Name), "", Metadata{}),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: d.selector(RoleWorker)},
		},
	}
}
