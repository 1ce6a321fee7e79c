package standalone

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The labels by which users and the NetworkPolicies select a cluster's objects and pods.
const (
	labelOperatorName = "spark.operator/name"
	LabelClusterName  = "spark.operator/spark-cluster-name"
	LabelRole         = "spark-role"
	LabelVersion      = "spark-version"
)

// The values of LabelRole on a cluster's pods, StatefulSets and Services, and on a driver's pod.
const (
	RoleMaster = "master"
	RoleWorker = "worker"
	roleDriver = "driver"
)

// defaultDigestAnnotation is the pods' annotation with the digest of their template and configuration, unless
// Request.DigestAnnotation names another annotation.
const defaultDigestAnnotation = "sparkoperator.dev/template-digest"

// maxName is the maximum length of a cluster's name. The pods of its workers carry a label (controller-revision-hash)
// with their StatefulSet's name, a hyphen and a hash of ten characters, and a label value has at most 63 characters.
const maxName = 63 - 1 - 10 - len("-"+RoleWorker)

// The default ports of the daemons. The Services have these ports, whatever ports the configuration sets.
const (
	masterPort   = 7077
	masterUIPort = 8080
	restPort     = 6066
	workerUIPort = 8081
)

// The names of the daemons' ports, to which the target ports of the Services refer.
const (
	portWeb   = "web"
	portSpark = "spark"
	portREST  = "rest"
)

// StatefulSetName returns the name of a role's StatefulSet: "<name>-master" or "<name>-worker". The role's
// NetworkPolicy has the same name.
func StatefulSetName(name, role string) string { return name + "-" + role }

// serviceName returns the name of a role's Service: "<name>-master-svc" or "<name>-worker-svc".
func serviceName(name, role string) string { return name + "-" + role + "-svc" }

// Scaled returns the objects of a cluster that keep pods running: its StatefulSets, its autoscaler and the workers'
// budget. Only their kinds, namespaces and names are set.
func Scaled(namespace, name string) []Object {
	metaOf := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	set := metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
	return []Object{
		&appsv1.StatefulSet{TypeMeta: set, ObjectMeta: metaOf(StatefulSetName(name, RoleWorker))},
		&appsv1.StatefulSet{TypeMeta: set, ObjectMeta: metaOf(StatefulSetName(name, RoleMaster))},
		&autoscalingv2.HorizontalPodAutoscaler{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"}, ObjectMeta: metaOf(autoscalerName(name))},
		&policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: metaOf(budgetName(name))},
	}
}

// autoscalerName returns the name of the workers' HorizontalPodAutoscaler.
func autoscalerName(name string) string { return name + "-worker-hpa" }

// budgetName returns the name of the workers' PodDisruptionBudget.
func budgetName(name string) string { return name + "-worker-pdb" }

// configMapName returns the name of the ConfigMap with the options of both daemons.
func configMapName(name string) string { return name + "-cluster-conf" }

// masterURL returns the master's address, to which workers, and applications in the same namespace, connect.
func masterURL(name string) string { return "spark://" + serviceName(name, RoleMaster) + ":7077" }
