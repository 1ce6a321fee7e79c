package cause

// Rule recognizes one cause.
type Rule struct {
	Reason string // one CamelCase word for programs
	// Has are texts of a line, or of the description of the end. Without a text, only Kubernetes or the operator give
	// the reason.
	Has    []string
	Line   string // replaces the line, if the line alone does not explain the end
	Advice string // what to do
}

// pythonReason is the reason of an exception of a Python program that no rule knows.
const pythonReason = "PythonException"

// unschedulable is the reason of pods for which the scheduler finds no node.
const unschedulable = "Unschedulable"

// schedule is the advice for pods without a node.
const schedule = "request less CPU or memory, change node selectors and tolerations, or add a node"

// role is the command that gives an account the rights of a driver.
const role = "kubectl create rolebinding spark-driver-ACCOUNT --clusterrole=edit --serviceaccount=NAMESPACE:ACCOUNT -n NAMESPACE"

// pull is the advice for an image that cannot be pulled.
const pull = "check the image's name and tag, and imagePullSecrets"

// Rules are all causes that have a way out. Earlier rules have priority; the first one even before the exception that
// ends a Python program. ROLE stands for driver or executor. docs/failures.md has the same table.
var Rules = []Rule{
	{"OOMKilled", []string{"OOMKilled"}, "it used more memory than its limit",
		"raise spark.ROLE.memoryOverhead, because the heap (spark.ROLE.memory) is limited by the JVM itself"},
	{"PythonWorkerKilled", []string{"Python worker exited unexpectedly", "Python worker was killed"},
		"a Python worker process crashed or was killed, most often because the pod had no memory left",
		"raise spark.executor.memoryOverhead, or limit the workers with spark.executor.pyspark.memory; process smaller partitions. " +
			"spark.python.worker.faulthandler.enabled=true logs where a crash was"},
	{"NoSpaceLeft", []string{"No space left on device", "Disk quota exceeded"}, "",
		"give spark.local.dir a larger volume (a volume whose name begins with spark-local-dir-), or shuffle and cache less"},
	{"WrongJavaVersion", []string{"UnsupportedClassVersionError"}, "", "compile for the Java of the image, or use an image with the Java that the message names (class file 61 is Java 17, 65 is Java 21)"},
	{"WrongScalaVersion", []string{"'scala.", "NoSuchMethodError: scala", "NoClassDefFoundError: scala/", "ClassNotFoundException: scala."}, "",
		"compile the JAR and its libraries (the suffix _2.12 or _2.13) for the Scala version of the image's Spark: 2.13 from Spark 4.0 on"},
	{"WrongLibraryVersion", []string{"NoSuchMethodError", "NoSuchFieldError", "AbstractMethodError", "IncompatibleClassChangeError"}, "",
		"use the versions of the libraries with which the image's Spark was built, or set spark.driver.userClassPathFirst and spark.executor.userClassPathFirst"},
	{"WrongArchitecture", []string{"exec format error", "Exec format error", "cannot execute binary file"}, "",
		"build the image for the processor of the nodes, or select nodes with the label kubernetes.io/arch"},
	{"ModuleNotFound", []string{"ModuleNotFoundError", "ImportError: ", "PackageNotFoundError", "PACKAGE_NOT_INSTALLED"}, "",
		"install the package in the image, or add it with --py-files (deps.pyFiles) or an archive (spark.archives)"},
	{"ProgramNotFound", []string{"can't open file", "does not exist, skipping", "Cannot load main class from JAR"}, "",
		"correct the path of the program (local:// is a path in the image), or put the file into the image or a volume"},
	{"FileSystemMissing", []string{"No FileSystem for scheme", "S3AFileSystem not found", "FileSystem not found", "UnsupportedFileSystemException"}, "",
		"add the connector of the storage to the image or spark.jars.packages: hadoop-aws for s3a://, gcs-connector for gs://, hadoop-azure for abfss://; s3:// must be s3a://"},
	{"DataSourceNotFound", []string{"DATA_SOURCE_NOT_FOUND", "ailed to find the data source", "ailed to find data source"}, "",
		"add the library of the format to the image or to spark.jars.packages, for the image's Spark and Scala version"},
	{"ClassNotFound", []string{"ClassNotFoundException", "Failed to load class", "NoClassDefFoundError", "Could not find or load main class", "(class not found)"}, "",
		"correct the class's name (mainClass), or add the JAR that contains it with --jars (deps.jars) or spark.jars.packages"},
	{"CredentialsMissing", []string{"NoAuthWithAWS", "No AWS Credentials", "NoCredentialsError", "Unable to load credentials", "CredentialInitializationException",
		"default credentials", "DefaultAzureCredential"}, "", "give the driver and the executors credentials: the cloud identity of their service account, a Secret in env, or the provider's keys of spark.hadoop.fs.*"},
	{"StorageAccessDenied", []string{"AccessDenied", "Access Denied", "Status Code: 403", "reason=403", "403 Forbidden", "storage.objects", "AuthorizationPermissionMismatch", "AuthorizationFailure",
		"not authorized to perform", "AccessControlException"}, "", "grant the identity of the service account (or of the keys) the right to this bucket and path; check which identity the pods use"},
	{"PackagesNotResolved", []string{"unresolved dependency", "UNRESOLVED DEPENDENCIES", "Could not transfer artifact", "Could not find artifact", "Server access error"}, "",
		"correct the coordinates in spark.jars.packages, give a repository that the pods reach (spark.jars.repositories), or put the JARs into the image"},
	{"MetastoreUnreachable", []string{"Could not connect to meta store", "SessionHiveMetaStoreClient", "MetaException"}, "",
		"check the address in spark.hadoop.hive.metastore.uris, that the metastore runs, and the NetworkPolicies between them"},
	{"Forbidden", []string{"is forbidden: User"}, "",
		"give the service account a role: " + role},
	{"APIServerUnreachable", []string{"the API server cannot be reached", "External scheduler cannot be instantiated", "kubernetes.default.svc", "got no answer from the API server"}, "", "check NetworkPolicies, " +
		"DNS and the load of the API server, or raise spark.kubernetes.driver.requestTimeout and spark.kubernetes.driver.connectionTimeout (milliseconds)"},
	{"PathExists", []string{"PATH_ALREADY_EXISTS", "FileAlreadyExistsException"}, "", "write with mode overwrite or append, or to another path"},
	{"TooManyOpenFiles", []string{"Too many open files"}, "", "use fewer cores per executor or fewer shuffle partitions (spark.sql.shuffle.partitions), or raise the limit of open files of the node's container runtime"},
	{"FilePermission", []string{"Permission denied", "PermissionError", "Mkdirs failed to create"}, "", "write to a path that the pod's user (185 in Spark's images) may write, or set securityContext.fsGroup for the volume"},
	{"FetchFailed", []string{"maximum allowable number of times"}, "shuffle data was lost, most often because executors or their nodes went away",
		"see why executors failed (sparkctl events NAME); raise their memory, or set spark.decommission.enabled and spark.storage.decommission.shuffleBlocks.enabled"},
	{"LocalDirectoryLost", []string{"/blockmgr-", "no local directory could be created"}, "",
		"let no other program delete or fill the directories of spark.local.dir while Spark runs; give it a volume of its own (a volume whose name begins with spark-local-dir-)"},
	{"BucketNotFound", []string{"UnknownStoreException", "NoSuchBucket", "bucket does not exist"}, "", "correct the bucket's name; check the endpoint and the region of the store (spark.hadoop.fs.s3a.endpoint, .endpoint.region)"},
	{"PathNotFound", []string{"PATH_NOT_FOUND", "Path does not exist", "FileNotFoundException", "NoSuchFileException", "FileNotFoundError", "Input path does not exist", "NoSuchKey"}, "",
		"correct the path; file:// (and a path without a scheme, by default) must exist in the pods of the driver and of every executor"},
	{"TableNotFound", []string{"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "Table or view not found", "NoSuchTableException"}, "",
		"correct the name, or configure the catalog that has the table (spark.sql.catalog.*, spark.sql.catalogImplementation=hive)"},
	{"CheckpointIncompatible", []string{"in the checkpoint offsets", "STATE_STORE_", "the checkpoint location", "checkpointed state"}, "",
		"undo the change of the query, or start it with a new checkpointLocation, from which it reads its sources anew"},
	{"SchemaMismatch", []string{"SchemaColumnConvertNotSupportedException", "PARQUET_COLUMN_DATA_TYPE_MISMATCH", "arquet column cannot be converted"}, "",
		"read the files with the types that they have, and convert the columns afterwards; files of one table may differ"},
	{"DataCorrupt", []string{"is not a Parquet file", "MALFORMED_RECORD_IN_PARSING", "Malformed records are detected", "Malformed ORC file"}, "",
		"remove or correct the malformed file, which the log names; for CSV and JSON, the mode PERMISSIVE keeps malformed records apart"},
	{"ValueInvalid", []string{"CAST_INVALID_INPUT", "DIVIDE_BY_ZERO", "ARITHMETIC_OVERFLOW", "CAST_OVERFLOW", "INVALID_ARRAY_INDEX", "CANNOT_PARSE_TIMESTAMP"}, "",
		"correct the data, or use a function that returns NULL (try_cast, try_divide); spark.sql.ansi.enabled=false restores the rules of Spark 3"},
	{"ResultChanged", []string{"INCONSISTENT_BEHAVIOR_CROSS_VERSION", "SparkUpgradeException"}, "", "set the option that the message names, in most cases spark.sql.legacy.timeParserPolicy, to CORRECTED or LEGACY"},
	{"QueryInvalid", []string{"AnalysisException", "ParseException"}, "", "correct the query or the columns that the message names"},
	{"ResultTooLarge", []string{"spark.driver.maxResultSize"}, "", "write the result instead of collecting it, or raise spark.driver.maxResultSize and spark.driver.memory"},
	{"BufferTooSmall", []string{"spark.kryoserializer.buffer.max"}, "", "raise spark.kryoserializer.buffer.max (below 2048m), or make the records and results smaller"},
	{"BroadcastFailed", []string{"spark.sql.broadcastTimeout", "Cannot broadcast the table", "Not enough memory to build and broadcast"}, "",
		"broadcast smaller tables only (spark.sql.autoBroadcastJoinThreshold, -1 for none), or raise spark.sql.broadcastTimeout and spark.driver.memory"},
	{"OutOfNativeMemory", []string{"insufficient memory for the Java Runtime", "unable to create native thread"}, "", "raise spark.ROLE.memoryOverhead, or lower spark.ROLE.memory; check the limit of processes of the node"},
	{"OutOfHeap", []string{"java.lang.OutOfMemoryError"}, "", "raise spark.ROLE.memory, collect and broadcast less, or use more and smaller partitions"},
	{"PythonOutOfMemory", []string{"MemoryError"}, "", "process smaller partitions, or raise spark.executor.pyspark.memory (in a task) or spark.driver.memoryOverhead (in the driver)"},
	{"MemoryTooSmall", []string{"System memory ", "Executor memory "}, "", "raise spark.driver.memory or spark.executor.memory to the minimum in the message"},
	{"JavaAgentMissing", []string{"JAR manifest missing", "agent library failed", "Could not find agent library"}, "",
		"correct the path of the agent (jmxExporterJar of monitoring.prometheus, -javaagent in the Java options), or put the file into the image"},
	{"JVMOptionsInvalid", []string{"Unrecognized VM option", "Unrecognized option: -", "Could not reserve enough space", "Initial heap size", "Invalid maximum heap size", "Could not create the Java Virtual Machine"}, "",
		"correct the Java options (javaOptions, spark.ROLE.extraJavaOptions) and the memory"},
	{"ExecutorsFailed", []string{"more executors failed than", "Max number of executor failures"}, "", "see why executors failed: sparkctl events NAME, and the logs of the executors"},
	{"ExecutorLost", []string{"ExecutorLostFailure", "Remote RPC client disassociated"}, "", "see why executors failed: sparkctl events NAME; if memory ended them, raise spark.executor.memoryOverhead"},
	{"NotSerializable", []string{"Task not serializable", "PicklingError", "CONTEXT_ONLY_VALID_ON_DRIVER"}, "", "use neither the SparkSession nor open connections in functions that run on executors"},
	{"HostUnknown", []string{"UnknownHostException", "Name or service not known", "name resolution", "nodename nor servname"}, "",
		"correct the name of the host; a Service of another namespace needs its namespace in the name, as in db.data.svc"},
	{"PortInUse", []string{"Address already in use", "BindException"}, "", "remove the fixed port (spark.driver.port, spark.ui.port, spark.blockManager.port) or hostNetwork, or raise spark.port.maxRetries"},
	{"ConnectionRefused", []string{"Connection refused", "ConnectException", "No route to host"}, "", "check that the address is right, that the server runs there, and the NetworkPolicies between them"},
	{"TLSUntrusted", []string{"PKIX path building failed", "CERTIFICATE_VERIFY_FAILED", "SSLHandshakeException"}, "", "add the server's CA to the trust store of the image (JVM: -Djavax.net.ssl.trustStore in the Java options)"},
	{"CommandNotFound", []string{"(command not found)", "executable file not found", "exec: \""}, "", "use an image whose entry point is Spark's (/opt/entrypoint.sh), and check the command"},
	{"DriverUnreachable", []string{"could not be reached by heartbeats", "Cannot find driver", "CoarseGrainedScheduler@"}, "", "check why the driver ended or stopped (sparkctl log NAME), and the NetworkPolicies between executors and driver"},
	{"InitContainerFailed", []string{"init container "}, "", "read its log: kubectl logs POD -c CONTAINER"},
	{pythonReason, nil, "", "correct the program; the log has the traceback: sparkctl log NAME"},
	{"Killed", []string{"(SIGKILL)"}, "", "kubectl describe the pod and its node: memory of the node, a liveness probe, or somebody who stopped it"},

	{"Evicted", []string{"ephemeral storage limit", "ephemeral local storage usage", "Usage of EmptyDir volume"}, "",
		"raise the limit of ephemeral-storage (or the volume's sizeLimit), or give spark.local.dir a claim (a volume whose name begins with spark-local-dir-)"},
	{"Evicted", nil, "", "request as much memory and ephemeral storage as the pod uses; restartPolicy OnFailure starts it again"},
	{"Preempted", nil, "", "give the pod a higher priorityClassName, or let restartPolicy OnFailure start it again"},
	{"NodeLost", nil, "", "check the node (kubectl describe node); kubectl delete node, if it is gone, frees its pods"},
	{"DeadlineExceeded", nil, "", "raise or remove activeDeadlineSeconds in the pod template"},
	{"RunTimedOut", nil, "", "raise or remove the limit of the run's duration in the spec"},
	{"DriverStartTimedOut", nil, "", "see why the driver could not start, or raise the limit in the spec"},
	{"DriverDeleted", nil, "", "run it again: sparkctl restart NAME; the audit log of the API server shows who deleted the pod"},
	{"DriverNotFound", nil, "", "run it again: sparkctl restart NAME; the audit log of the API server shows who deleted the pod"},
	{"QuotaExceeded", nil, "", "request less, end other applications, or raise the quota: kubectl describe quota -n NAMESPACE"},
	{"PodSecurityViolation", nil, "", "set the fields that the message names (securityContext), or run in a namespace with another level"},
	{"ServiceAccountNotFound", nil, "", "name an account that exists in serviceAccount, or create it with a role, and then run sparkctl restart NAME: kubectl create serviceaccount ACCOUNT -n NAMESPACE && " + role},
	{"ServiceAccountRecreated", nil, "", "only a new driver gets a valid token: sparkctl restart NAME"},
	{"ServerNotReady", nil, "", "read the server's log (sparkctl log NAME) and the answers to the probe (sparkctl events NAME); sparkctl restart NAME starts a new server, which ends all sessions"},
	{"ExecutorsMissing", nil, "", "look for failed requests in the driver's log (sparkctl log NAME); a program that has stopped its SparkContext needs no executors"},
	{"PodHasFinalizers", nil, "", "let the programs that set the finalizers remove them, or remove them with kubectl patch"},
	{"SidecarRuns", nil, "", "end the container with the driver, or declare it as an init container with restartPolicy Always"},
	{"NameTaken", nil, "", "delete the object that the message names, or give the application another name"},
	{unschedulable, nil, "", schedule},
	{"FailedScheduling", nil, "", schedule},
	{"SchedulingGated", nil, "", "a queue holds the pod back; see the queue's own status"},
	{"ImagePullBackOff", nil, "", pull},
	{"ErrImagePull", nil, "", pull},
	{"InvalidImageName", nil, "", "correct the image's name"},
	{"CreateContainerConfigError", nil, "", "create the ConfigMap or Secret that the message names, or remove the reference to it"},
	{"FailedMount", nil, "", "create the volume, ConfigMap or Secret that the message names, or remove the mount"},
	{"CrashLoopBackOff", nil, "", "read the log of the last run with --previous"},
}

// Scheduling are the ways out if Kubernetes' scheduler finds no node for a pod, by the texts of its plugins. Earlier
// rules have priority: on most clusters, the message also names taints and labels of nodes that are not meant for
// tenants. The rules are not part of Rules, because these texts may mean something else in a log.
var Scheduling = []Rule{
	{unschedulable, []string{"persistentvolumeclaim \""}, "", "create the PersistentVolumeClaim that the message names, or correct claimName"},
	{unschedulable, []string{"unbound immediate PersistentVolumeClaims", "persistent volumes to bind", "volume node affinity conflict"}, "",
		"see why the claim has no volume that a node can use: kubectl describe pvc -n NAMESPACE"},
	{unschedulable, []string{"Insufficient ", "Too many pods"}, "", "request less of the resource that the message names, end other applications, or add a larger node"},
	{unschedulable, []string{"affinity rules", "topology spread constraints", "free ports for"}, "", "relax the rules between pods (affinity, topologySpreadConstraints, hostPort), or add a node"},
	{unschedulable, []string{"node affinity/selector", "node selector"}, "", "correct nodeSelector and affinity, or give a node the label: kubectl get nodes --show-labels"},
	{unschedulable, []string{"untolerated taint"}, "", "add a toleration for the taint that the message names"},
	{unschedulable, []string{"were unschedulable"}, "", "let the node take pods again: kubectl uncordon NODE"},
}
