package e2e

import "github.com/sparkoperator/spark-operator/test/e2e/stored"

// programs lists the test programs, whose sources are in testdata/lines.
var programs = []program{
	{
		name:     "java",
		manifest: "java.yaml",
		submit: []string{
			"--class", "dev.example.proof.Proof",
			"--proxy-user", "alice",
			"--packages", "dev.example:greeting:1.0",
			"--repositories", "file:///opt/proof/repository",
			"local:///opt/proof/proof.jar", "two words", "", "$(SPARK_USER)", "${spark.app.name}", "--name",
		},
		properties: `
spark.executor.instances 1
spark.kubernetes.driver.label.example.dev/team proof
spark.kubernetes.driver.annotation.example.dev/application {{"{{APP_ID}}"}}
spark.kubernetes.driver.secrets.proof-token /etc/proof
spark.kubernetes.driver.secretKeyRef.PROOF_TOKEN proof-token:token
spark.kubernetes.executor.secrets.proof-token /etc/proof
spark.kubernetes.executor.secretKeyRef.PROOF_TOKEN proof-token:token
spark.kubernetes.executor.volumes.persistentVolumeClaim.scratch.options.claimName OnDemand
spark.kubernetes.executor.volumes.persistentVolumeClaim.scratch.options.storageClass standard
spark.kubernetes.executor.volumes.persistentVolumeClaim.scratch.options.sizeLimit 32Mi
spark.kubernetes.executor.volumes.persistentVolumeClaim.scratch.mount.path /scratch
`,
		facts: map[string]string{
			"arguments":        "two words||alice|${spark.app.name}|--name", // the kubelet fills in the variable
			"sum":              "36",
			"user":             "alice, in Spark alice",
			"driver's package": "hello driver",
			"driver's secret":  "open sesame and open sesame",
			"sidecar":          "beside the driver",
			"executor":         "hello executor; secret open sesame and open sesame; template from the template; claim kept mounted",
		},
		executors: 1,
		claims:    true,
	},
	{
		name:     "python",
		manifest: "python.yaml",
		submit: []string{
			"--py-files", "http://proof-workbench.default.svc:8000/words.py",
			"local:///opt/proof/main.py", "one", "two words",
		},
		properties: `
spark.executor.instances 1
spark.dynamicAllocation.enabled true
spark.dynamicAllocation.initialExecutors 0
spark.dynamicAllocation.minExecutors 0
spark.dynamicAllocation.maxExecutors 2
spark.dynamicAllocation.shuffleTracking.enabled true
spark.dynamicAllocation.shuffleTracking.timeout 1000ms
spark.dynamicAllocation.executorIdleTimeout 3s
spark.kubernetes.allocation.batch.delay 500ms
`,
		facts: map[string]string{
			"arguments":              "one|two words",
			"executors with work":    "2",
			"template":               "['from the template']",
			"counts":                 "[('be', 2), ('is', 1), ('not', 1), ('or', 1), ('question', 1), ('that', 1), ('the', 1), ('to', 2)]",
			"executors without work": "0",
			"sidecar":                "before the driver",
			"user":                   "spark",
		},
		executors: 2,
	},
}

// everyProperty holds the properties that every program passes to spark-submit. If the operator submits the program
// instead, fields of the SparkApplication contain the same settings.
const everyProperty = `
spark.kubernetes.container.image {{.Image}}
spark.kubernetes.authenticate.driver.serviceAccountName spark-operator-spark
spark.kubernetes.driver.request.cores 100m
spark.driver.memory 512m
spark.kubernetes.executor.request.cores 100m
spark.executor.memory 512m
spark.kubernetes.driver.podTemplateFile /opt/submit/driver.yaml
spark.kubernetes.executor.podTemplateFile /opt/submit/executor.yaml
spark.kubernetes.submission.waitAppCompletion false
`

// timeouts holds the timeouts of Spark's Kubernetes client in milliseconds. They apply to applications of the operator
// and of spark-submit. The default of ten seconds is too short if many JVMs start at the same time.
var timeouts = map[string]string{
	"spark.kubernetes.submission.connectionTimeout": "60000",
	"spark.kubernetes.submission.requestTimeout":    "60000",
	"spark.kubernetes.driver.connectionTimeout":     "60000",
	"spark.kubernetes.driver.requestTimeout":        "60000",
}

// intendedDifferences lists the intended differences between the objects of the operator and the objects of
// spark-submit. Every other difference fails the test.
var intendedDifferences = []stored.Intended{
	{Role: "driver *", Path: "metadata.labels[sparkoperator.*",
		Reason: "the operator finds the objects of an attempt by these labels"},
	{Role: "executor template", Path: "metadata.labels[sparkoperator.*",
		Reason: "the operator finds the objects of an attempt by these labels"},
	{Role: "executor Pod", Path: "metadata.labels[sparkoperator.*",
		Reason: "the operator watches executors by these labels"},
	{Role: "driver ConfigMap", Path: "data[spark.properties][spark.kubernetes.executor.label.sparkoperator.*",
		Reason: "Spark gives executors the labels in this property"},
	{Role: "driver Service", Path: "spec.selector[sparkoperator.*",
		Reason: "Spark selects by all labels of the driver"},

	{Role: "driver Pod", Path: "metadata.ownerReferences[SparkApplication]*",
		Reason: "deleting the application deletes its driver"},
	{Role: "driver *", Path: "metadata.ownerReferences[*]*",
		Reason: "the application owns the objects that the operator creates before the driver pod; with spark-submit the pod owns them"},
	{Role: "executor template", Path: "metadata.ownerReferences[*]*",
		Reason: "the application owns the objects that the operator creates before the driver pod; with spark-submit the pod owns them"},
	{Role: "executor Pod", Path: "metadata.ownerReferences[SparkApplication]*",
		Reason: "the application is an additional owner, by which other programs find its executors"},
	{Role: "executor template", Path: "data[podspec-configmap-key].metadata.ownerReferences[SparkApplication]*",
		Reason: "Spark gives executors the owner in this template"},

	{Role: "driver Pod", Path: "metadata.annotations[sparkoperator.dev/spec-hash]",
		Reason: "the annotation identifies the spec from which the operator built the driver"},
	{Role: "driver Pod", Path: "metadata.annotations[sparkoperator.dev/objects]",
		Reason: "the annotation counts the objects of the driver, so that a deleted one is noticed"},
	{Role: "driver Pod", Path: "metadata.annotations[kubectl.kubernetes.io/default-container]",
		Programs: []string{"java"}, Reason: "in a pod with a sidecar, the annotation selects Spark's container for kubectl logs"},

	{Role: "* Pod", Path: "spec.enableServiceLinks",
		Reason: "without this setting, each Service of the namespace adds variables to the pods"},
	{Role: "* Pod", Path: "spec.containers[*].terminationMessagePolicy",
		Reason: "the end of a failed container's log contains the cause"},
	{Role: "driver Pod", Path: "spec.initContainers[*].terminationMessagePolicy", Programs: []string{"python"},
		Reason: "the same, for init containers"},
	{Role: "executor template", Path: "data[podspec-configmap-key].spec.enableServiceLinks",
		Reason: "the same, for executors"},
	{Role: "executor template", Path: "data[podspec-configmap-key].spec.containers[*].terminationMessagePolicy",
		Reason: "the same, for executors"},
	{Role: "executor template", Path: "data[podspec-configmap-key].spec.containers[*].resources",
		Reason: "an empty field has no effect"},

	{Role: "driver ConfigMap", Path: "data[spark.properties][spark.kubernetes.driver.annotateExitException]",
		Programs: []string{"java"}, Reason: "the status shows the exception that ended the driver; Spark before 4.1 ignores the key"},
	{Role: "driver ConfigMap", Path: "data[spark.properties][spark.kubernetes.driver.podTemplateFile]",
		Reason: "it names a file that only the submitter had"},
	{Role: "driver ConfigMap", Path: "data[spark.properties][spark.kubernetes.namespace]",
		Reason: "always written: Spark's default is the namespace default, not the pod's own"},

	{Role: "driver NetworkPolicy", Path: "metadata.labels[spark-app-selector]", Lines: []string{"4.2", "4.3"},
		Reason: "only the driver's Service carries the label by which a driver deletes"},
}
