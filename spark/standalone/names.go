package standalone

// Labels by which users and the NetworkPolicies select a cluster's objects and pods.
const (
	LabelOperatorName = "spark.operator/name"
	LabelClusterName  = "spark.operator/spark-cluster-name"
	LabelRole         = "spark-role"
	LabelVersion      = "spark-version"
)

// Values of LabelRole on a cluster's pods, StatefulSets and Services, and on a driver's pod.
const (
	RoleMaster = "master"
	RoleWorker = "worker"
	roleDriver = "driver"
)

// DefaultDigestAnnotation is the annotation of pods with the digest of their template and configuration, unless a
// Request sets another.
const DefaultDigestAnnotation = "sparkoperator.dev/template-digest"

// MaxName is the maximum length of a cluster's name. The pods of its workers carry a label (controller-revision-hash)
// with their StatefulSet's name, a hyphen and a hash of ten characters, and a label value has at most 63 characters.
const MaxName = 63 - 1 - 10 - len("-"+RoleWorker)

// Default ports of the daemons. The Services have these ports whatever the configuration says.
const (
	masterPort   = 7077
	masterUIPort = 8080
	restPort     = 6066
	workerUIPort = 8081
)

// Names of the ports, to which the Services' target ports refer.
const (
	portWeb   = "web"
	portSpark = "spark"
	portREST  = "rest"
)

// StatefulSetName returns the name of a role's StatefulSet: "<name>-master", "<name>-worker". The NetworkPolicies have
// the same names.
func StatefulSetName(name, role string) string { return name + "-" + role }

// ServiceName returns the name of a role's Service: "<name>-master-svc", "<name>-worker-svc".
func ServiceName(name, role string) string { return name + "-" + role + "-svc" }

// AutoscalerName returns the name of the workers' HorizontalPodAutoscaler.
func AutoscalerName(name string) string { return name + "-worker-hpa" }

// BudgetName returns the name of the workers' PodDisruptionBudget.
func BudgetName(name string) string { return name + "-worker-pdb" }

// ConfigMapName returns the name of the ConfigMap with the options of both daemons.
func ConfigMapName(name string) string { return name + "-cluster-conf" }

// MasterURL returns the address to which workers, and applications in the same namespace, connect.
func MasterURL(name string) string { return "spark://" + ServiceName(name, RoleMaster) + ":7077" }
