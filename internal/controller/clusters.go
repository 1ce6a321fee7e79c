package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/internal/config"
)

// The kinds that standalone clusters are made of besides those that every application has.
var (
	statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	autoscalerKind  = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
)

// clusterKinds are those kinds, where clusters are served. Every cluster has them, but the right to see them is not in every installation.
func clusterKinds(cfg config.Configuration) []schema.GroupVersionKind {
	if !cfg.SparkClusters() {
		return nil
	}
	return []schema.GroupVersionKind{statefulSetKind, autoscalerKind}
}
