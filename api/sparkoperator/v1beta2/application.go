package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These labels of this API group select objects. Other operators of the API set them too.
const (
	// AppNameLabel has the name of a SparkApplication, on each of its objects.
	AppNameLabel = "sparkoperator.k8s.io/app-name"
	// ScheduledAppNameLabel has the name of a ScheduledSparkApplication, on each of its runs.
	ScheduledAppNameLabel = "sparkoperator.k8s.io/scheduled-app-name"
	// SubmissionIDLabel has the identifier of an attempt, on each of its objects.
	SubmissionIDLabel = "sparkoperator.k8s.io/submission-id"
)

// SparkApplication is one Spark application: what to run, with how many executors, and what to do when it ends.
//
// The rule for metadata.name is checked only at creation, so that a stored object whose name breaks the rule can still
// be edited and deleted.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=sparkapplications,singular=sparkapplication,shortName=sparkapp
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:name="Suspend",type="boolean",JSONPath=".spec.suspend"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.applicationState.state"
// +kubebuilder:printcolumn:name="Attempts",type="string",JSONPath=".status.executionAttempts"
// +kubebuilder:printcolumn:name="Start",type="string",JSONPath=".status.lastSubmissionAttemptTime"
// +kubebuilder:printcolumn:name="Finish",type="string",JSONPath=".status.terminationTime"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Cause",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:validation:XValidation:rule=`oldSelf.hasValue() || self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,optionalOldSelf=true,message="is not valid as the beginning of a Service's name: use at most 63 lower case letters, digits and '-', beginning with a letter and not ending with '-'",fieldPath=".metadata.name"
type SparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be a DNS label that starts with a letter, because the names of the driver
	// pod and its Service are derived from it.
	metav1.ObjectMeta `json:"metadata"`

	// The application that should run. Most edits end a running attempt and start the application anew.
	Spec SparkApplicationSpec `json:"spec"`
	// The last observed state. Only the operator writes it.
	// +optional
	Status SparkApplicationStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and how to correct it.
	// The spec is then empty, and encoding the object is an error, so that no update stores the empty spec.
	// UnmarshalJSON sets this field; it is not stored.
	OutOfBounds string `json:"-"`
	// The length of the spec's JSON in bytes, or 0 if the spec was not read. UnmarshalJSON sets this field; it is not
	// stored.
	SpecBytes int `json:"-"`
}

// SparkApplicationList is a list of SparkApplications.
//
// +kubebuilder:object:root=true
type SparkApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SparkApplication `json:"items"`
}

// SparkApplicationSpec describes a Spark application.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.nodeSelector) || self.nodeSelector.size() == 0 || !has(self.driver.nodeSelector) || self.driver.nodeSelector.size() == 0`,message="cannot be set together with driver.nodeSelector; move all entries to driver.nodeSelector",fieldPath=".nodeSelector"
// +kubebuilder:validation:XValidation:rule=`!has(self.nodeSelector) || self.nodeSelector.size() == 0 || !has(self.executor.nodeSelector) || self.executor.nodeSelector.size() == 0`,message="cannot be set together with executor.nodeSelector; move all entries to executor.nodeSelector",fieldPath=".nodeSelector"
// +kubebuilder:validation:XValidation:rule=`!has(self.driver.volumeMounts) || has(self.driver.template) || [has(self.volumes) ? self.volumes.map(v, v.name) : []].all(names, self.driver.volumeMounts.all(m, m.name in names))`,message="names a volume that is not in volumes; add it there",fieldPath=".driver.volumeMounts"
// +kubebuilder:validation:XValidation:rule=`!has(self.executor.volumeMounts) || has(self.executor.template) || [has(self.volumes) ? self.volumes.map(v, v.name) : []].all(names, self.executor.volumeMounts.all(m, m.name in names))`,message="names a volume that is not in volumes; add it there",fieldPath=".executor.volumeMounts"
// +kubebuilder:validation:XValidation:rule=`!has(self.monitoring) || !has(self.monitoring.prometheus) || !self.monitoring.exposeExecutorMetrics || !has(self.executor.ports) || self.executor.ports.all(p, p.containerPort == (has(self.monitoring.prometheus.port) ? self.monitoring.prometheus.port : 8090) || !(p.name in (has(self.monitoring.prometheus.portName) && self.monitoring.prometheus.portName.size() > 0 ? [self.monitoring.prometheus.portName] : ['jmx-exporter'])))`,message="is also the name of a port of executor.ports; choose another",fieldPath=".monitoring.prometheus.portName"
type SparkApplicationSpec struct {
	// Suspends the application while true. Setting it on a running application ends the run, and clearing it starts
	// another. A change of this field alone does not count as an edit of the application.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// The language of the application: Java, Python, Scala or R. It has no effect on the run: Spark determines the
	// language from mainApplicationFile. If the two contradict each other, an event reports that.
	Type SparkApplicationType `json:"type"`

	// The Spark version inside the image, for example 4.1.4. The operator builds the driver pod by the rules of this
	// version. The version does not select the image.
	// +kubebuilder:validation:MaxLength=256
	SparkVersion string `json:"sparkVersion" bounds:"max=256"`

	// Where the driver runs: cluster (the default) or client. Both mean the same: the driver runs in its own pod.
	// +optional
	Mode DeployMode `json:"mode,omitempty"`

	// The user to impersonate, as spark-submit's --proxy-user does.
	// +optional
	ProxyUser *string `json:"proxyUser,omitempty"`

	// The image of driver and executors (spark.kubernetes.container.image), unless driver.image or executor.image names
	// another image.
	// +optional
	Image *string `json:"image,omitempty"`

	// When the image is pulled: Always, IfNotPresent or Never (spark.kubernetes.container.image.pullPolicy). Spark's
	// default is IfNotPresent.
	// +optional
	ImagePullPolicy *string `json:"imagePullPolicy,omitempty"`

	// Names of Secrets in the application's namespace with which images are pulled
	// (spark.kubernetes.container.image.pullSecrets).
	// +optional
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`

	// The class whose main method runs, for Java and Scala applications (spark-submit's --class).
	// +optional
	MainClass *string `json:"mainClass,omitempty"`

	// The application's main file: a jar, a Python file or an R file. local:///path names a file inside the image. The
	// driver downloads files with other schemes.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^!-~]*-')`,message="would be read as an option by spark-submit; name a file that does not begin with a hyphen"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('$(')`,message="has a reference to a variable, whose value could be an option of spark-submit; write the name without $("
	MainApplicationFile string `json:"mainApplicationFile"`

	// Arguments of the application. Each is passed unchanged as one argument.
	// +optional
	Arguments []string `json:"arguments,omitempty"`

	// Spark properties, by name, for example spark.eventLog.enabled. Properties that only the operator may set (master,
	// namespace, service accounts, credentials, images) are rejected here; other fields set them.
	// +kubebuilder:validation:XValidation:rule=`!('spark.master' in self)`,message="is not allowed: the operator sets it; remove the key",fieldPath="['spark.master']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.driver.master' in self)`,message="is not allowed: use driver.kubernetesMaster",fieldPath="['spark.kubernetes.driver.master']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.container.image' in self)`,message="is not allowed: use image",fieldPath="['spark.kubernetes.container.image']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.driver.container.image' in self)`,message="is not allowed: use driver.image",fieldPath="['spark.kubernetes.driver.container.image']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.executor.container.image' in self)`,message="is not allowed: use executor.image",fieldPath="['spark.kubernetes.executor.container.image']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.driver.podTemplateFile' in self)`,message="is not allowed: use driver.template",fieldPath="['spark.kubernetes.driver.podTemplateFile']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.authenticate.driver.serviceAccountName' in self)`,message="is not allowed: use driver.serviceAccount",fieldPath="['spark.kubernetes.authenticate.driver.serviceAccountName']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.authenticate.executor.serviceAccountName' in self)`,message="is not allowed: use executor.serviceAccount",fieldPath="['spark.kubernetes.authenticate.executor.serviceAccountName']"
	// +kubebuilder:validation:XValidation:rule=`!('spark.kubernetes.executor.podTemplateFile' in self)`,message="is not allowed: use executor.template",fieldPath="['spark.kubernetes.executor.podTemplateFile']"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('spark.kubernetes.authenticate.') || k.startsWith('spark.kubernetes.authenticate.driver.mounted.') || k in ['spark.kubernetes.authenticate.submission.serviceAccountName', 'spark.kubernetes.authenticate.driver.serviceAccountName', 'spark.kubernetes.authenticate.executor.serviceAccountName'])`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('spark.kubernetes.authenticate.') || k.startsWith('spark.kubernetes.authenticate.driver.mounted.') || k in ['spark.kubernetes.authenticate.submission.serviceAccountName', 'spark.kubernetes.authenticate.driver.serviceAccountName', 'spark.kubernetes.authenticate.executor.serviceAccountName']))[0] + '] is not allowed: driver and executors authenticate with the token of their service account, which Kubernetes mounts; remove the key'`,message="is not allowed: driver and executors authenticate with the token of their service account, which Kubernetes mounts; remove the key"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !k.startsWith('spark.kubernetes.driver.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.label.sparkoperator.dev/'))`,messageExpression=`'[' + self.filter(k, !(!k.startsWith('spark.kubernetes.driver.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.driver.service.label.sparkoperator.dev/') && !k.startsWith('spark.kubernetes.executor.label.sparkoperator.dev/')))[0] + '] labels that begin with sparkoperator.dev/ are the operator\'s own; remove the key, or give the label another name'`,message="labels that begin with sparkoperator.dev/ are the operator's own; remove the key, or give the label another name"
	// +optional
	SparkConf map[string]string `json:"sparkConf,omitempty"`

	// Hadoop properties, by name. Each becomes the Spark property spark.hadoop.NAME.
	// +optional
	HadoopConf map[string]string `json:"hadoopConf,omitempty"`

	// Name of a ConfigMap with Spark's configuration files. It is mounted at /etc/spark/conf, and SPARK_CONF_DIR is set
	// to that path.
	// +optional
	SparkConfigMap *string `json:"sparkConfigMap,omitempty"`

	// Name of a ConfigMap with Hadoop's configuration files. It is mounted at /etc/hadoop/conf, and HADOOP_CONF_DIR is
	// set to that path.
	// +optional
	HadoopConfigMap *string `json:"hadoopConfigMap,omitempty"`

	// Volumes for driver.volumeMounts and executor.volumeMounts. A volume whose name begins with spark-local-dir-
	// becomes Spark's scratch space.
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// The driver: its pod, its resources, and its options of Spark.
	Driver DriverSpec `json:"driver"`

	// The executors: their number, their pods, their resources, and their options of Spark.
	Executor ExecutorSpec `json:"executor"`

	// Files, jars and packages that the application needs besides its main file.
	// +optional
	Deps Dependencies `json:"deps,omitzero"`

	// Whether and when the application runs again after it ends. Default: never.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitzero"`

	// Node labels that driver and executors need (spark.kubernetes.node.selector.NAME). This field cannot be combined
	// with nodeSelector of driver or executor; prefer those fields.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Has no effect; kept so that old manifests are accepted. Use restartPolicy.onFailureRetries.
	// +optional
	FailureRetries *int32 `json:"failureRetries,omitempty"`

	// Has no effect; kept so that old manifests are accepted. Use restartPolicy.onFailureRetryInterval.
	// +optional
	RetryInterval *int64 `json:"retryInterval,omitempty"`

	// Major version of Python, 2 or 3 (spark.kubernetes.pyspark.pythonVersion). Spark has ignored it since 3.1; set
	// PYSPARK_PYTHON instead.
	// +kubebuilder:validation:Enum={"2","3"}
	// +optional
	PythonVersion *string `json:"pythonVersion,omitempty"`

	// Share of the heap that is added to the pods' memory for use outside the heap, for example "0.2"
	// (spark.kubernetes.memoryOverheadFactor). Spark's default is 0.1 for Java and Scala, 0.4 for Python and R.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.contains('${') || self.trim().matches(r'^[+]?([\d.]*\d[\d.]*([eE][-+\d]+)?|0[xX].+|[iI].+)$')`,message="is not a number of 0 or more; write one such as 0.2"
	// +optional
	MemoryOverheadFactor *string `json:"memoryOverheadFactor,omitempty"`

	// How metrics are exposed. If absent, the operator exposes no metrics.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`

	// The batch scheduler that places the pods as a whole: volcano, yunikorn, or the name of a scheduler with the
	// coscheduling plugin.
	// +optional
	BatchScheduler *string `json:"batchScheduler,omitempty"`

	// How long the finished application is kept, in seconds after its end. 0 or less deletes it at once. Default:
	// forever. A change of this field alone does not count as an edit of the application.
	// +optional
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`

	// Queue, priority and resources of the application, for the batch scheduler.
	// +optional
	BatchSchedulerOptions *BatchSchedulerConfiguration `json:"batchSchedulerOptions,omitempty"`

	// How Spark's web UI is reached.
	// +optional
	SparkUIOptions *SparkUIConfiguration `json:"sparkUIOptions,omitempty"`

	// Additional Services and Ingresses for ports of the driver. Each entry creates one Service and one Ingress.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	DriverIngressOptions []DriverIngressConfiguration `json:"driverIngressOptions,omitempty" bounds:"max=20"`

	// Spark's own scaling of executors according to load.
	// +optional
	DynamicAllocation *DynamicAllocation `json:"dynamicAllocation,omitempty"`

	// Protects the driver pod from voluntary evictions with a PodDisruptionBudget. A change of this field alone does
	// not count as an edit of the application.
	// +optional
	DriverPodDisruptionBudget *bool `json:"driverPodDisruptionBudget,omitempty"`

	// How the driver pod is created. Optional, specific to this operator.
	// +optional
	Submission *SubmissionSpec `json:"submission,omitempty"`

	// Time limits for the phases of an attempt. Optional, specific to this operator.
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`
}

// SparkApplicationType is the language of an application.
//
// +kubebuilder:validation:Enum={Java,Python,Scala,R}
type SparkApplicationType string

// The languages of applications.
const (
	SparkApplicationTypeJava   SparkApplicationType = "Java"
	SparkApplicationTypeScala  SparkApplicationType = "Scala"
	SparkApplicationTypePython SparkApplicationType = "Python"
	SparkApplicationTypeR      SparkApplicationType = "R"
)

// DeployMode says where the driver runs.
//
// +kubebuilder:validation:Enum={cluster,client}
type DeployMode string

// The deploy modes. The schema accepts only DeployModeCluster and DeployModeClient. DeployModeInClusterClient exists
// only so that programs that use the Go types of the kubeflow operator still compile.
const (
	DeployModeCluster         DeployMode = "cluster"
	DeployModeClient          DeployMode = "client"
	DeployModeInClusterClient DeployMode = "in-cluster-client"
)

// Dependencies are the files that an application needs besides its main file. Each entry is a URI; local:///path names
// a file inside the image.
type Dependencies struct {
	// Jars for the class paths of driver and executors (spark.jars).
	// +optional
	Jars []string `json:"jars,omitempty"`
	// Files for the working directories of driver and executors (spark.files).
	// +optional
	Files []string `json:"files,omitempty"`
	// Python files and archives of Python files, for the Python path (spark.submit.pyFiles).
	// +optional
	PyFiles []string `json:"pyFiles,omitempty"`
	// Maven coordinates, group:artifact:version, which are downloaded with their dependencies (spark.jars.packages).
	// +optional
	Packages []string `json:"packages,omitempty"`
	// Maven coordinates, group:artifact, that are excluded while packages are resolved (spark.jars.excludes).
	// +optional
	ExcludePackages []string `json:"excludePackages,omitempty"`
	// Additional Maven repositories to search for packages (spark.jars.repositories).
	// +optional
	Repositories []string `json:"repositories,omitempty"`
	// Archives to unpack into the working directories of driver and executors (spark.archives). URI#name unpacks into
	// name.
	// +optional
	Archives []string `json:"archives,omitempty"`
}

// RestartPolicyType says after which outcomes an application runs again.
//
// +kubebuilder:validation:Enum={Never,Always,OnFailure}
type RestartPolicyType string

// The restart policies.
const (
	RestartPolicyNever     RestartPolicyType = "Never"
	RestartPolicyOnFailure RestartPolicyType = "OnFailure"
	RestartPolicyAlways    RestartPolicyType = "Always"
)

// RestartPolicy describes whether and when an application runs again after it ends. If only this field is changed, the
// change does not count as an edit of the application.
type RestartPolicy struct {
	// Never (the default), OnFailure or Always.
	// +optional
	Type RestartPolicyType `json:"type,omitempty"`
	// How many times a failed submission is tried again. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OnSubmissionFailureRetries *int32 `json:"onSubmissionFailureRetries,omitempty"`
	// How many times a failed run is tried again: 2 means at most three runs. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	OnFailureRetries *int32 `json:"onFailureRetries,omitempty"`
	// Seconds from a failed submission to the next submission. The interval grows with each attempt. Default 5.
	// +kubebuilder:validation:Minimum=1
	// +optional
	OnSubmissionFailureRetryInterval *int64 `json:"onSubmissionFailureRetryInterval,omitempty"`
	// Seconds from a failed run to the next run. The interval grows with each attempt. Default 5.
	// +kubebuilder:validation:Minimum=1
	// +optional
	OnFailureRetryInterval *int64 `json:"onFailureRetryInterval,omitempty"`
	// How the two intervals grow. If absent, they grow by one interval with each attempt, without a limit. Optional,
	// specific to this operator.
	// +optional
	Backoff *RestartBackoff `json:"backoff,omitempty"`
}

// RestartBackoff describes how the time between attempts grows.
type RestartBackoff struct {
	// The factor by which the interval grows from one attempt to the next: 1 keeps the interval, 2 doubles it. If
	// absent, the interval grows by its first value with each attempt.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Factor *int32 `json:"factor,omitempty"`
	// The longest time between two attempts, in seconds. If absent, there is no limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxSeconds *int64 `json:"maxSeconds,omitempty"`
}

// SubmissionMode says how the driver pod is created.
//
// +kubebuilder:validation:Enum={Auto,Native,SparkSubmit}
type SubmissionMode string

// The submission modes.
const (
	// SubmissionModeAuto, the default: the operator creates the driver pod, unless the application needs spark-submit.
	SubmissionModeAuto SubmissionMode = "Auto"
	// SubmissionModeNative: the operator creates the driver pod. An application that needs spark-submit fails, and its
	// message gives the reason.
	SubmissionModeNative SubmissionMode = "Native"
	// SubmissionModeSparkSubmit: the spark-submit of the application's image creates the driver pod. It runs in its own
	// pod.
	SubmissionModeSparkSubmit SubmissionMode = "SparkSubmit"
)

// SubmissionSpec describes how the driver pod is created.
type SubmissionSpec struct {
	// What creates the driver pod. Auto (the default): the operator if it can, otherwise the spark-submit of the
	// application's image. Native: the operator only. SparkSubmit: always spark-submit.
	// +optional
	Mode SubmissionMode `json:"mode,omitempty"`
}

// Timeouts limit the phases of an attempt, in seconds. If a field is absent, the operator's configured default applies;
// 0 means no limit. An attempt that exceeds a limit fails, and its message names the limit. If only these fields are
// changed, the change does not count as an edit of the application.
type Timeouts struct {
	// Time from the creation of the driver pod until its container runs. Time behind scheduling gates does not count.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DriverStartSeconds *int64 `json:"driverStartSeconds,omitempty"`
	// Time from the start of the driver container until its pod is ready.
	// +kubebuilder:validation:Minimum=0
	// +optional
	DriverReadySeconds *int64 `json:"driverReadySeconds,omitempty"`
	// Time from the moment at which the driver is ready until the initial executors run. Time behind scheduling gates
	// does not count.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ExecutorsStartSeconds *int64 `json:"executorsStartSeconds,omitempty"`
	// Time from the creation of the driver pod until the attempt ends.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RunSeconds *int64 `json:"runSeconds,omitempty"`
}

// BatchSchedulerConfiguration contains options of the batch scheduler.
type BatchSchedulerConfiguration struct {
	// The queue to which the application is submitted.
	// +optional
	Queue *string `json:"queue,omitempty"`
	// Priority class of the application's pod group.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
	// Resources that must be free before the application starts. Default: the sum over driver and executors.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// DynamicAllocation is Spark's own scaling of executors according to load (spark.dynamicAllocation.*).
// +kubebuilder:validation:XValidation:rule=`!has(self.enabled) || !self.enabled || !has(self.minExecutors) || self.minExecutors >= 0`,message="is negative, so Spark would not start; write 0 or more",fieldPath=".minExecutors"
// +kubebuilder:validation:XValidation:rule=`!has(self.enabled) || !self.enabled || !has(self.maxExecutors) || self.maxExecutors > 0`,message="is below 1, so Spark would not start; write 1 or more, or leave it out",fieldPath=".maxExecutors"
// +kubebuilder:validation:XValidation:rule=`!has(self.enabled) || !self.enabled || !has(self.minExecutors) || !has(self.maxExecutors) || self.minExecutors <= self.maxExecutors`,message="is above maxExecutors, so Spark would not start; lower it, or raise maxExecutors",fieldPath=".minExecutors"
// +kubebuilder:validation:XValidation:rule=`!has(self.enabled) || !self.enabled || !has(self.initialExecutors) || !has(self.maxExecutors) || self.initialExecutors <= self.maxExecutors`,message="is above maxExecutors, so Spark would not start; lower it, or raise maxExecutors",fieldPath=".initialExecutors"
type DynamicAllocation struct {
	// Whether Spark adds and removes executors according to load (spark.dynamicAllocation.enabled).
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// The number of executors at the start (spark.dynamicAllocation.initialExecutors).
	// +optional
	InitialExecutors *int32 `json:"initialExecutors,omitempty"`
	// The minimum number of executors (spark.dynamicAllocation.minExecutors).
	// +optional
	MinExecutors *int32 `json:"minExecutors,omitempty"`
	// The maximum number of executors (spark.dynamicAllocation.maxExecutors).
	// +optional
	MaxExecutors *int32 `json:"maxExecutors,omitempty"`
	// Whether executors with shuffle data in use are kept (spark.dynamicAllocation.shuffleTracking.enabled). Scaling
	// down without a shuffle service needs this. Default: true when enabled.
	// +optional
	ShuffleTrackingEnabled *bool `json:"shuffleTrackingEnabled,omitempty"`
	// How long executors are kept if they only store shuffle data, in milliseconds
	// (spark.dynamicAllocation.shuffleTracking.timeout).
	// +optional
	ShuffleTrackingTimeout *int64 `json:"shuffleTrackingTimeout,omitempty"`
}
