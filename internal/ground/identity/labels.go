// Package identity finds the owner and the attempt of a dependent: by labels, by owner references and, for objects of
// another operator, by a label that names the custom resource.
//
// An identity is the pair of the owner's UID and the attempt, never a name. Labels carry this pair, so that caches and
// live lists can select by it. But anybody who may create a pod can set a label. So labels are used only to find an
// object, and the owner references decide who owns the object.
package identity

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/standalone"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// FieldOwner is the field manager of every write by the operator.
const FieldOwner = "spark-operator"

// These labels carry the identity of a dependent.
const (
	// AppUIDLabel has the UID of the custom resource that owns the dependent. Only this operator sets it.
	AppUIDLabel = lifecycle.AppUIDLabel
	// AttemptLabel has the number of the attempt that the dependent belongs to.
	AttemptLabel = lifecycle.AttemptLabel
	// ManagedLabel marks the pods of this operator. The pod webhook of another operator can exclude these pods by this
	// label.
	ManagedLabel = dialect.ManagedLabel
	// ConnectNameLabel has the name of a pod's SparkConnect. Other operators of that API set it too.
	ConnectNameLabel = v1alpha1.ConnectNameLabel
	// ApacheAppNameLabel has the name of a pod's SparkApplication of spark.apache.org. Other operators of that API set
	// it too.
	ApacheAppNameLabel = sparkv1.AppNameLabel
	// ClusterNameLabel has the name of a pod's SparkCluster of spark.apache.org. Other operators of that API set it
	// too.
	ClusterNameLabel = standalone.LabelClusterName
	// RoleLabel has the role of a pod. Spark itself sets it on drivers and executors.
	RoleLabel = submit.RoleLabel
)

// These are the values of RoleLabel.
const (
	RoleDriver    = submit.RoleDriver
	RoleExecutor  = submit.RoleExecutor
	RoleSubmitter = submit.RoleSubmitter
	// RoleMaster and RoleWorker are the roles of the pods of a standalone cluster. No driver runs in them.
	RoleMaster = standalone.RoleMaster
	RoleWorker = standalone.RoleWorker
	// RoleServer is the role of a Spark Connect server. Its pod is the driver of its executors.
	RoleServer = connect.RoleServer
)

// NameLabels are the labels of other operators' pods that contain the name of the pods' custom resource. Each kind of
// custom resource has its own label, because custom resources of different kinds can have the same name.
var NameLabels = []string{v1beta2.AppNameLabel, ConnectNameLabel, ApacheAppNameLabel, ClusterNameLabel}

// driverRoles are the roles of the pods that a Spark driver runs in, for all kinds.
var driverRoles = []string{RoleDriver, RoleServer}

// launchedRoles are the roles of the pods that the operator launches: submitters, and the pods in which a driver runs.
// In the submission mode SparkSubmit, the submitter creates the driver pod.
var launchedRoles = append([]string{RoleSubmitter}, driverRoles...)

// clusterRoles are the roles of the pods of standalone clusters. StatefulSets create them.
var clusterRoles = []string{RoleMaster, RoleWorker}

// IsClusterPod reports whether an object has the role of a standalone cluster's pod. The role does not show who owns
// the pod: its owner is the owner of the StatefulSet that controls the pod.
func IsClusterPod(object metav1.Object) bool {
	return slices.Contains(clusterRoles, object.GetLabels()[RoleLabel])
}

// IsDriver reports whether an object has the role of a pod in which a Spark driver runs. The role does not show who
// owns the pod: its owner is its controller.
func IsDriver(object metav1.Object) bool {
	return slices.Contains(driverRoles, object.GetLabels()[RoleLabel])
}

// IsLaunched reports whether an object has one of launchedRoles: the role of a driver, of a Connect server or of a
// submitter.
func IsLaunched(object metav1.Object) bool {
	return slices.Contains(launchedRoles, object.GetLabels()[RoleLabel])
}

// IsAuxiliary reports whether an object is an auxiliary object of a driver, such as the UI Service, or a part of a
// standalone cluster.
//
// Some other objects of a driver belong to its attempt, because Spark deletes them when it stops. An example is the
// Service through which executors reach their driver. These objects have Spark's selector label, so IsAuxiliary returns
// false for them, whatever other labels a user gave them.
func IsAuxiliary(object metav1.Object) bool {
	labels := object.GetLabels()
	return labels[lifecycle.ContentLabel] != "" && labels[submit.SelectorLabel] == ""
}

// Unlabelled reports whether an object lacks AppUIDLabel, which means that this operator did not create the object.
func Unlabelled(object metav1.Object) bool { return object.GetLabels()[AppUIDLabel] == "" }

// Attempt returns the number in the attempt label of an object. It returns 0 if the label is missing or is not a
// number.
func Attempt(object metav1.Object) int32 {
	n, err := strconv.ParseInt(object.GetLabels()[AttemptLabel], 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// PodOf returns an object as a typed pod, even if the object is an unstructured tree with fields that the type lacks.
// It returns nil if the object is not a pod.
func PodOf(object client.Object) *corev1.Pod {
	switch o := object.(type) {
	case *corev1.Pod:
		return o
	case *unstructured.Unstructured:
		pod := &corev1.Pod{}
		if o.GetKind() == "Pod" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod) == nil {
			return pod
		}
	}
	return nil
}
