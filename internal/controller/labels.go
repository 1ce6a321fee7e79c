package controller

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	sparkconnect "github.com/sparkoperator/spark-operator/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// The labels by which children are found. Identity is the owner's UID and the attempt, never a name.
const (
	labelAppUID  = lifecycle.AppUIDLabel
	labelAttempt = lifecycle.AttemptLabel
	labelManaged = sparkoperator.LabelManaged
	// labelConnectName names a pod's SparkConnect, also on what another operator of that API made.
	labelConnectName = sparkconnect.LabelConnectName
	// labelApacheAppName and labelClusterName name a pod's custom resource of spark.apache.org, also on what another operator of that API made.
	labelApacheAppName = "spark.operator/spark-app-name"
	labelClusterName   = "spark.operator/spark-cluster-name"
	labelRole          = submit.RoleLabel // Spark's own
	roleDriver         = submit.RoleDriver
	roleExecutor       = submit.RoleExecutor
	roleSubmitter      = submit.RoleSubmitter
	// roleMaster and roleWorker are the roles of the pods of a standalone cluster, which run nobody's driver.
	roleMaster = "master"
	roleWorker = "worker"
	// roleServer is the role of a Spark Connect server, whose pod is the driver of its executors.
	roleServer = connect.RoleServer
)

// driverRoles are the roles of the pods that Spark's driver runs in, of whichever kind.
var driverRoles = []string{roleDriver, roleServer}

// launchedRoles are the roles of the pods that the operator makes: drivers, and what submits them.
var launchedRoles = append([]string{roleSubmitter}, driverRoles...)

// memberRoles are the roles of the pods that standalone clusters are made of. StatefulSets make them.
var memberRoles = []string{roleMaster, roleWorker}

// isMember reports whether an object is labelled as a pod of a standalone cluster. Whose it is, its StatefulSet tells.
func isMember(object metav1.Object) bool {
	return slices.Contains(memberRoles, object.GetLabels()[labelRole])
}

// isDriver reports whether an object is labelled as a pod that Spark's driver runs in. Whose it is, its controller tells.
func isDriver(object metav1.Object) bool {
	return slices.Contains(driverRoles, object.GetLabels()[labelRole])
}

// isLaunched reports whether an object is labelled as a driver or as a pod that submits one.
func isLaunched(object metav1.Object) bool {
	return slices.Contains(launchedRoles, object.GetLabels()[labelRole])
}

// The containers that Spark runs in, unless a user's template names its own.
const (
	driverContainer   = overlay.DriverContainer
	executorContainer = overlay.ExecutorContainer
)

// serverVariable is what the container of a server has in its environment, whoever made it.
const serverVariable = "SPARK_NO_DAEMONIZE"

// sparkContainer is the name of a driver pod's container that Spark runs in. Of a server it may be one that the user's template named, among others of
// it; the cache keeps that one last (trimPod), which is the one that counts where none has the name that is returned.
func sparkContainer(pod *corev1.Pod) string {
	if pod.Labels[labelRole] != roleServer || slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == driverContainer }) {
		return driverContainer
	}
	for _, c := range pod.Spec.Containers {
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == serverVariable }) {
			return c.Name
		}
	}
	return driverContainer
}

// confVolume is the volume of a driver pod with the ConfigMap that spark-submit makes last (KubernetesClientApplication).
const confVolume = "spark-conf-volume-driver"

// fieldOwner is the field manager of every write.
const fieldOwner = "spark-operator"

// ourChildren selects what carries an application's UID.
func ourChildren() labels.Selector {
	return labels.NewSelector().Add(must(labels.NewRequirement(labelAppUID, selection.Exists, nil)))
}

// sparkPods selects drivers, Spark Connect servers among them, the pods that submit them, and executors; and the pods of standalone clusters, where those
// are served. It goes by Spark's own label, since those of another operator have none of ours.
func sparkPods(clusters bool) labels.Selector {
	roles := append([]string{roleExecutor}, launchedRoles...)
	if clusters {
		roles = append(roles, memberRoles...)
	}
	return labels.NewSelector().Add(must(labels.NewRequirement(labelRole, selection.In, roles)))
}

// launched requires what isLaunched tells.
func launched() labels.Requirement {
	return must(labels.NewRequirement(labelRole, selection.In, launchedRoles))
}

func must(r *labels.Requirement, err error) labels.Requirement {
	if err != nil {
		panic(err) // the arguments are constants
	}
	return *r
}

// attemptOf reads the attempt label; 0 when there is none that can be read.
func attemptOf(obj metav1.Object) int32 {
	n, err := strconv.ParseInt(obj.GetLabels()[labelAttempt], 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// owned reports whether uid is among the object's owners.
func owned(obj metav1.Object, uid types.UID) bool {
	for _, ref := range obj.GetOwnerReferences() {
		if ref.UID == uid {
			return true
		}
	}
	return false
}

// ofKind reports whether an owner is of a kind, in whichever version.
func ofKind(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && ref.Kind == kind.Kind && version.Group == kind.Group
}

// indexAppUID is the cache index by labelAppUID; of what has none, by the custom resource that it names (takeover.go).
const indexAppUID = "app-uid"

func byAppUID(obj client.Object) []string {
	if uid := obj.GetLabels()[labelAppUID]; uid != "" {
		return []string{uid}
	}
	return byName(obj)
}
