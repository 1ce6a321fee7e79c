package standalone

// The labels by which users and the NetworkPolicies select a cluster's objects and pods.
const (
	LabelOperatorName = "spark.operator/name"
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

// DefaultDigestAnnotation is the pods' annotation with the digest of their template and configuration, unless
// Request.DigestAnnotation names another annotation.
const DefaultDigestAnnotation = "sparkoperator.dev/template-digest"

// MaxName is the maximum length of a cluster's name. The pods of its workers carry a label (controller-revision-hash)
// with their StatefulSet's name, a hyphen and a hash of ten characters, and a label value has at most 63 characters.
const MaxName = 63 - 1 - 10 - len("-"+RoleWorker)

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

// ServiceName returns the name of a role's Service: "<name>-master-svc" or "<name>-worker-svc".
func ServiceName(name, role string) string { return name + "-" + role + "-svc" }

// AutoscalerName returns the name of the workers' HorizontalPodAutoscaler.
func AutoscalerName(name string) string { return name + "-worker-hpa" }

// BudgetName returns the name of the workers' PodDisruptionBudget.
func BudgetName(name string) string { return name + "-worker-pdb" }

// ConfigMapName returns the name of the ConfigMap with the options of both daemons.
func ConfigMapName(name string) string { return name + "-cluster-conf" }

// MasterURL returns the master's address, to which workers, and applications in the same namespace, connect.
func MasterURL(name string) string { return "spark://" + ServiceName(name, RoleMaster) + ":7077" }
