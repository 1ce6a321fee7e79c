package standalone

// Labels by which a cluster's objects and pods are found, by users and by the NetworkPolicies.
const (
	LabelOperatorName = "spark.operator/name"
	LabelClusterName  = "spark.operator/spark-cluster-name"
	LabelRole         = "spark-role"
	LabelVersion      = "spark-version"
)

// Values of LabelRole of a cluster's pods, StatefulSets and Services, and of a driver's pod.
const (
	RoleMaster = "master"
	RoleWorker = "worker"
	roleDriver = "driver"
)

// DefaultDigestAnnotation is the annotation of pods that says what they are made of, where a Request names none.
const DefaultDigestAnnotation = "sparkoperator.dev/template-digest"

// MaxName is how long a cluster's name may be: the pods of its workers carry their StatefulSet's name, an hyphen and a hash of ten characters as a label
// (controller-revision-hash), and a label has 63 at most.
const MaxName = 63 - 1 - 10 - len("-"+RoleWorker)

// Ports of the daemons, where the configuration does not say others, and of the Services in every case.
const (
	masterPort   = 7077
	masterUIPort = 8080
	restPort     = 6066
	workerUIPort = 8081
)

// Names of the ports, by which Services lead to them.
const (
	portWeb   = "web"
	portSpark = "spark"
	portREST  = "rest"
)

// StatefulSetName is the name of a role's StatefulSet: "<name>-master", "<name>-worker". The NetworkPolicies have the same.
func StatefulSetName(name, role string) string { return name + "-" + role }

// ServiceName is the name of a role's Service: "<name>-master-svc", "<name>-worker-svc".
func ServiceName(name, role string) string { return name + "-" + role + "-svc" }

// AutoscalerName is the name of the workers' HorizontalPodAutoscaler.
func AutoscalerName(name string) string { return name + "-worker-hpa" }

// BudgetName is the name of the workers' PodDisruptionBudget.
func BudgetName(name string) string { return name + "-worker-pdb" }

// ConfigMapName is the name of the ConfigMap with the options of both daemons.
func ConfigMapName(name string) string { return name + "-cluster-conf" }

// MasterURL is what workers, and applications in the same namespace, connect to.
func MasterURL(name string) string { return "spark://" + ServiceName(name, RoleMaster) + ":7077" }
