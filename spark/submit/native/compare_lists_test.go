package native_test

import (
	"regexp"
	"slices"

	"github.com/sparkoperator/spark-operator/test/record"
)

// listed is a known difference between Build and spark-submit.
type listed struct {
	// text is a regular expression that matches the whole report of a difference, or the whole message of an error.
	text string
	// cases is a regular expression that matches the whole names of cases; empty means all cases.
	cases string
	// lines are the Spark lines, such as "3.5", that have the difference; an empty list means all lines.
	lines  []string
	reason string
}

// find returns the first entry of list that matches the name of a test case, the Spark version, and the text of a
// difference or an error. It returns nil if no entry matches.
func find(list []listed, name, version, text string) *listed {
	for i, l := range list {
		if (len(l.lines) == 0 || slices.Contains(l.lines, record.Line(version))) && matches(l.cases, name) &&
			matches(l.text, text) {
			return &list[i]
		}
	}
	return nil
}

var forms = map[string]*regexp.Regexp{}

// matches reports whether an expression matches the whole text. An empty expression matches every text.
func matches(expression, text string) bool {
	if expression == "" {
		return true
	}

	form, ok := forms[expression]
	if !ok {
		form = regexp.MustCompile(`(?s)^(?:` + expression + `)$`)
		forms[expression] = form
	}
	return form.MatchString(text)
}

// intended contains the differences in which Build is better than spark-submit. The package comment in doc.go describes
// these differences.
var intended = []listed{
	{text: `[A-Z]\w+ \S+: /metadata/ownerReferences/.*, Build has nothing`,
		reason: "the caller's object owns the objects; the driver pod does not"},
	{text: `Pod \S+: /spec/enableServiceLinks: spark-submit has nothing, Build has false`,
		reason: "no variables for the Services of the namespace (enableServiceLinks)"},
	{text: `Pod \S+: /spec/(initContainers|containers)/[^/]+/terminationMessagePolicy: spark-submit has nothing, Build has "FallbackToLogsOnError"`,
		reason: "the end of the log is the termination message (terminationMessagePolicy)"},
	{text: `Pod \S+: /metadata/annotations/kubectl.kubernetes.io~1default-container: spark-submit has nothing, .*`,
		reason: "an annotation names Spark's container (default-container)"},
	{text: `order: Pod: spark-submit has before the others, Build has after the others`,
		reason: "the pod is written last, so that it never waits for its mounts"},
	{text: `(NetworkPolicy|PersistentVolumeClaim) \S+: /metadata/labels/spark-app-selector: .*, Build has nothing`,
		reason: "the driver's own clean-up finds no policy or claim by its label"},
	{text: `ConfigMap \S+: /data/podspec-configmap-key/(apiVersion|kind|spec/enableServiceLinks|spec/(initContainers|containers)/[^/]+/terminationMessagePolicy): spark-submit has nothing, .*`,
		reason: "the executors' template sets the same fields (enableServiceLinks, terminationMessagePolicy)"},
	{text: `ConfigMap \S+: /data/podspec-configmap-key/spec/containers/spark-kubernetes-executor(/name)?: spark-submit has nothing, .*`, cases: `templates|mixed-names`,
		reason: "the executors' template names Spark's container"},
	{text: `ConfigMap \S+: /data/spark.properties/spark.kubernetes.namespace: spark-submit has nothing, Build has "default"`,
		reason: "the namespace is always written; Spark's default is not the pod's own"},
	{text: `ConfigMap \S+: /data/spark.properties/spark.kubernetes.namespace: spark-submit has "[^"]*\$\{.*`,
		cases:  `reference-spark|reference-env`,
		reason: "Build replaces the references in the namespace, because the driver may not be able to"},
	{text: `ConfigMap \S+: /data/spark.properties/(.*podTemplateFile|.*authenticate.driver.\w+File|.*krb5.path|.*podGroupTemplateFile): .*, Build has nothing`,
		reason: "keys that name files of the submitter are not passed on"},
	{text: `Pod \S+: /metadata/generateName: .*, Build has nothing`, cases: `template-metadata`,
		reason: "a pod that has a name needs no generateName"},
	{text: `Pod \S+: /spec/volumes/krb5-file/configMap/items/other.conf/path: .*, Build has "krb5.conf"`,
		cases:  `krb5-other-name`,
		reason: "krb5.conf is mounted whatever its file is called"},
	{text: `(order: (others|variables of \S+)|[A-Z].*([Hh]adoop|HADOOP).*): .*`, cases: `hadoop-no-directory`,
		reason: "a HADOOP_CONF_DIR without files counts as not set; spark-submit writes an empty ConfigMap"},
	{text: `Pod \S+: /spec/.*([Ll]ocal-dir|LOCAL_DIRS|volumeMounts).*`, cases: `local-dirs-odd`,
		reason: "blanks around entries of a list, and empty entries, are ignored"},
	{text: `(Pod|Service|ConfigMap|NetworkPolicy) \S+: /\S+: (spark-submit has nothing, .*|.*, Build has nothing)`,
		cases:  `name-empty`,
		reason: "an empty name counts as none: objects have other names"},
	{text: `order: others: .* x\S+, .*Build has .* a-b-\S+, .*`, cases: `name-empty`,
		reason: "an empty name counts as none: objects have other names"},
	{text: `ConfigMap \S+: /data/spark.properties/spark.(app.name|driver.host|kubernetes.driver.pod.name): spark-submit has "(x.*)?", Build has "a.[bB].*"`, cases: `name-empty`,
		reason: "an empty name counts as none: objects have other names"},
	{text: `Pod \S+: /spec/containers/[^/]+/env/SPARK_USER/value: spark-submit has nothing, Build has "root"`,
		cases:  `user-empty`,
		reason: "an empty SPARK_USER counts as not set; the driver would fail"},
	{text: `(Pod \S+: /spec/containers/[^/]+/env/PYSPARK_(DRIVER_)?PYTHON(/name)?|order: variables of \S+): .*`,
		cases:  `python-env-empty`,
		reason: "an empty PYSPARK_PYTHON counts as not set; the driver would fail"},
	{text: `ConfigMap \S+: /data/podspec-configmap-key/.*/(prometheus.io~1scrape|PORT/value|image|runAsUser): .*`,
		cases:  `template-executor-scalars`,
		reason: "the executors' template has the types that the driver would give its values"},
	{text: `ConfigMap \S+: /data/spark.properties/spark.(files|jars): .*`, cases: `files-percent`,
		reason: "percent escapes stay in URLs; without them, signed URLs are invalid"},
}

// gaps are differences that should not exist. The number of entries must only decrease.
var gaps = []listed{}

// The reasons why Build rejects a case that spark-submit accepts.
const (
	forRunner   = "only spark-submit on the machine with the files can do it; the error says so (NotNative)"
	noSuchName  = "the API server would reject the object after it accepted others"
	diesInJVM   = "the pod would start, but its JVM would fail"
	neverStarts = "the driver or its executors would never start"
)

// weRefuse are the cases that Build rejects and spark-submit accepts.
var weRefuse = []listed{
	{text: `.* is a file of the submitter, .*`, cases: `upload|upload-python|upload-pattern`, reason: forRunner},
	{text: `.* is a file of the submitter, .*`, cases: `pattern-nothing|files-directory`,
		reason: "spark-submit finds no file and continues without an error"},
	{text: `ConfFiles: .* is not a valid ConfigMap key.*`, cases: `conf-dir-name-odd`, reason: noSuchName},
	{text: `.* is not a valid label value.*`, cases: `labels-invalid`, reason: noSuchName},
	{text: `.* is not a valid label value.*`, cases: `labels-ids-in-labels|metadata`, lines: []string{"3.5"},
		reason: noSuchName},
	{text: `DriverPodName: .*`, cases: `pod-name-odd`, reason: noSuchName},
	{text: `ResourceNamePrefix: .*`, cases: `name-300`, reason: noSuchName},
	{text: `.* is not a valid volume name.*`, cases: `volume-name-odd`, reason: noSuchName},
	{text: `Driver.Volumes: .*`, cases: `volume-same-kind-names`, reason: noSuchName},
	{text: `.*options.sizeLimit: .*`, cases: `volume-size-odd`, reason: noSuchName},
	{text: `.*"2" is below the request, "4".*`, cases: `cores-limit`, reason: noSuchName},
	{text: `.*should be a port from 1 to 65535.*`, cases: `ports-zero`, reason: noSuchName},
	{text: `.*is port 7000, which.*`, cases: `ports-same`, reason: noSuchName},
	{text: `.*becomes the option -Xmx.*`, cases: `memory-no-unit|memory-two-letters`, reason: diesInJVM},
	{text: `spark.executor.extraJavaOptions: .*`, cases: `java-options-executor`, reason: diesInJVM},
	{text: `.*: Spark ends the driver at its start`, cases: `executor-allocation-odd`, reason: diesInJVM},
	{text: `.*the driver cannot run without DriverServiceFeatureStep`, cases: `steps-excluded-service`,
		reason: diesInJVM},
	{text: `.*podTemplateFile: .* contains no pod`, cases: `template-executor-invalid`, reason: neverStarts},
	{text: `.*a claim on demand needs.*`, cases: `volume-claim-bare`, reason: neverStarts},
	{text: `.*subPathExpr: is not known to Spark 3.5.*`, cases: `volume-claim-expression`, lines: []string{"3.5"},
		reason: "spark-submit of this line drops the setting without a warning, and mounts the whole volume"},
	{text: `.*service.label.spark-app-selector: .*`, cases: `service-label-selector`,
		reason: "the Service would be deleted when another application ends"},
	{text: `.*: is set twice in the same object; .*`, cases: `template-json-twice`,
		reason: "a reader would not notice that one of the two is ignored"},
	{text: `.* has the merge key << .*`, cases: `template-yaml-merge`,
		reason: "spark-submit merges nothing and keeps the key as a field that no pod has"},
	{text: `.*authenticate.submission.oauthToken: .*`, cases: `credentials-submission`,
		reason: "the caller has credentials of its own"},
}

// theyRefuse are the cases that spark-submit rejects and Build accepts.
var theyRefuse = []listed{
	{text: `.*S3AFileSystem not found`, cases: `jars-s3a`, reason: "only the driver needs the file system's client"},
	{text: `.*ipFamilies.*`, cases: `service-families-blanks`, reason: "blanks around entries of a list are ignored"},
	{text: `Could not load pod from template file.*`, cases: `template-empty|template-no-spec`,
		reason: "a template may be empty, or contain only metadata"},
}
