package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// ruleFaults returns the violations of the platform's rules by a cluster with the given objects.
func (c Clusters) ruleFaults(sc *sparkv1.SparkCluster, objects standalone.Objects) []*dialect.FieldError {
	if c.Rules == nil {
		return nil
	}

	sc, _ = withDefaults(sc, c.settings(sc))
	faults := c.Rules.Faults(&dialect.Subject{
		Labels: sc.Labels,
		Settings: func() (all []dialect.Setting) {
			for _, key := range slices.Sorted(maps.Keys(sc.Spec.SparkConf)) {
				all = append(all, dialect.Setting{Key: key, Value: sc.Spec.SparkConf[key], Field: clusterField(key, "")})
			}
			return all
		},
		Pods: func() ([]dialect.Pod, []*dialect.FieldError) {
			workers := podOf("worker", "spec.workerSpec", clusterFields["Workers.StatefulSet"], &objects.Workers.Spec.Template)
			workers.Worker = true
			return []dialect.Pod{podOf("master", "spec.masterSpec", clusterFields["Master.StatefulSet"], &objects.Master.Spec.Template), workers}, nil
		},
		Workers: func() dialect.Workers {
			w := dialect.Workers{Field: clusterFields["InitWorkers"], Max: int64(*objects.Workers.Spec.Replicas)}
			if objects.Autoscaler != nil {
				w.Field, w.Max = clusterFields["MaxWorkers"], int64(objects.Autoscaler.Spec.MaxReplicas)
			}
			return w
		},
	})
	r := c.request(sc)
	faults = append(faults, dialect.ServiceFaults(c.Rules, clusterFields["Master.ServiceMeta"]+".annotations", r.Master.ServiceMeta.Annotations)...)
	return append(faults, dialect.ServiceFaults(c.Rules, clusterFields["Workers.ServiceMeta"]+".annotations", r.Workers.ServiceMeta.Annotations)...)
}

// podOf describes the pods of a StatefulSet, so that the rules of the platform can be applied to them. The name of the
// pods' Spark container is the role. Unlike in a driver pod, this container need not be the last one.
func podOf(role, field, statefulSet string, template *corev1.PodTemplateSpec) dialect.Pod {
	p := dialect.PodOf(role, field, &template.ObjectMeta, &template.Spec)
	if at := slices.IndexFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == role }); at >= 0 {
		p.Container = &template.Spec.Containers[at]
		p.Image = p.Container.Image
		p.OwnCommand = standalone.ChangesCommand(p.Container)
	}

	p.OptionFiles = standalone.OptionFiles()
	p.AccountField = statefulSet + ".template.spec.serviceAccountName"
	return p
}
