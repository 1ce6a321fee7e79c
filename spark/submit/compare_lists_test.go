//go:build compare

package submit_test

import (
	"regexp"
	"slices"

	"github.com/sparkoperator/spark-operator/internal/record"
)

// listed is a difference that is known.
type listed struct {
	// path is a regular expression that the whole path of a difference matches, or the whole message of a refusal.
	path string
	// cases is a regular expression of whole names of cases; empty means all.
	cases string
	// lines are the Spark lines in which the difference is; none means all.
	lines  []string
	reason string
}

// find returns the first entry that a difference, or the message of a refusal, matches, or nil.
func find(list []listed, name, version, path string) *listed {
	for i, l := range list {
		if (len(l.lines) == 0 || slices.Contains(l.lines, record.Line(version))) && matches(l.cases, name) && matches(l.path, path) {
			return &list[i]
		}
	}
	return nil
}

var forms = map[string]*regexp.Regexp{}

// matches holds a whole text against an expression; an empty one matches all.
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

// intended are differences by which Build is better than spark-submit; doc.go tells them.
var intended = []listed{
	{path: `[A-Z]\w+ \S+: /metadata/ownerReferences/.*`, reason: "objects are owned by the caller's, not by the driver pod"},
	{path: `Pod \S+: /spec/enableServiceLinks`, reason: "no variables for the Services of the namespace (enableServiceLinks)"},
	{path: `Pod \S+: /spec/containers/[^/]+/terminationMessagePolicy`, reason: "the end of the log is the termination message (terminationMessagePolicy)"},
	{path: `Pod \S+: /metadata/annotations/kubectl.kubernetes.io~1default-container`, reason: "which container is Spark's is told (default-container)"},
	{path: `order: Pod`, reason: "the pod is written last, so that it never waits for what it mounts"},
	{path: `(NetworkPolicy|PersistentVolumeClaim) \S+: /metadata/labels/spark-app-selector`, reason: "the driver's own clean-up finds no policy or claim by its label"},
	{path: `ConfigMap \S+: /data/podspec-configmap-key/(apiVersion|kind|spec/enableServiceLinks|spec/containers/[^/]+/terminationMessagePolicy)`, reason: "executors get the same (enableServiceLinks, terminationMessagePolicy) by their template"},
	{path: `ConfigMap \S+: /data/spark.properties/spark.kubernetes.namespace`, reason: "the namespace is always written; Spark's default is not the pod's own"},
	{path: `ConfigMap \S+: /data/spark.properties/(.*podTemplateFile|.*authenticate.driver.\w+File|.*krb5.path|.*podGroupTemplateFile)`, reason: "keys that name files of the submitter are not passed on"},
	{path: `Pod \S+: /metadata/generateName`, cases: `template-metadata`, reason: "a pod that has a name needs no generateName"},
	{path: `ConfigMap \S+: /data/podspec-configmap-key/spec/containers/spark-kubernetes-executor(/name)?`, cases: `templates|mixed-names`, reason: "the executors' template names Spark's container"},
	{path: `Pod \S+: /spec/volumes/krb5-file/configMap/items/other.conf/path`, cases: `krb5-other-name`, reason: "krb5.conf is mounted whatever its file is called"},
	{path: `.*([Hh]adoop|HADOOP).*`, cases: `hadoop-no-directory`, reason: "a HADOOP_CONF_DIR without files is none; spark-submit writes an empty ConfigMap"},
	{path: `order: (others|variables of \S+)`, cases: `hadoop-no-directory`, reason: "a HADOOP_CONF_DIR without files is none; spark-submit writes an empty ConfigMap"},
	{path: `Pod \S+: /spec/.*([Ll]ocal-dir|LOCAL_DIRS|volumeMounts).*`, cases: `local-dirs-odd`, reason: "blanks around entries of a list, and empty ones, are no part of them"},
	{path: `.*`, cases: `name-empty`, reason: "an empty name counts as none"},
	{path: `Pod \S+: /spec/containers/[^/]+/args/[0-9]+`, cases: `app-args|app-args-python|mixed-java`, reason: "arguments reach the application as they are ($( is escaped)"},
}

// gaps are differences that should not be. They may only become fewer.
var gaps = []listed{}

// What a refusal of ours alone is good for.
const (
	forRunner   = "only spark-submit itself can do it, in a pod (section submission.mode): files of the submitter"
	noSuchName  = "the API server would refuse the object after others are written"
	diesInJVM   = "the pod would start and its JVM fail"
	neverStarts = "the driver or its executors would wait for ever"
)

// weRefuse are cases that only Build refuses.
var weRefuse = []listed{
	{path: `.* is a file of the submitter, .*`, cases: `upload|upload-python|upload-pattern|pattern-nothing|files-directory`, reason: forRunner},
	{path: `ConfFiles: .* is no key of a ConfigMap.*`, cases: `conf-dir-name-odd`, reason: noSuchName},
	{path: `.* is no value of a label.*`, cases: `labels-invalid`, reason: noSuchName},
	{path: `.* is no value of a label.*`, cases: `labels-ids-in-labels|metadata`, lines: []string{"3.5"}, reason: noSuchName},
	{path: `DriverPodName: .*`, cases: `pod-name-odd`, reason: noSuchName},
	{path: `ResourceNamePrefix: .*`, cases: `name-300`, reason: noSuchName},
	{path: `.* is no name of a volume.*`, cases: `volume-name-odd`, reason: noSuchName},
	{path: `Driver.Volumes: .*`, cases: `volume-same-kind-names`, reason: noSuchName},
	{path: `.*options.sizeLimit: .*`, cases: `volume-size-odd`, reason: noSuchName},
	{path: `.*limit of 2 is below the request of 4`, cases: `cores-limit`, reason: noSuchName},
	{path: `.*should be a port from 1 to 65535.*`, cases: `ports-zero`, reason: noSuchName},
	{path: `.*port 7000 is also.*`, cases: `ports-same`, reason: noSuchName},
	{path: `.*reaches the driver's JVM as -Xmx.*`, cases: `memory-no-unit|memory-two-letters`, reason: diesInJVM},
	{path: `spark.executor.extraJavaOptions: .*`, cases: `java-options-executor`, reason: diesInJVM},
	{path: `.*the driver cannot run without DriverServiceFeatureStep`, cases: `steps-excluded-service`, reason: diesInJVM},
	{path: `.*podTemplateFile: .* holds no pod`, cases: `template-executor-invalid`, reason: neverStarts},
	{path: `.*a claim on demand needs.*`, cases: `volume-claim-bare`, reason: neverStarts},
	{path: `.*subPathExpr: is not known to Spark 3.5.*`, cases: `volume-claim-expression`, lines: []string{"3.5"}, reason: "spark-submit of this line drops the setting in silence, and mounts the whole volume"},
	{path: `.*service.label.spark-app-selector: .*`, cases: `service-label-selector`, reason: "the Service would be deleted when another application ends"},
	{path: `.*authenticate.submission.oauthToken: .*`, cases: `credentials-submission`, reason: "the caller has credentials of its own"},
}

// theyRefuse are cases that only spark-submit refuses.
var theyRefuse = []listed{
	{path: `.*S3AFileSystem not found`, cases: `jars-s3a`, reason: "the file system's client need only be where the driver is"},
	{path: `.*ipFamilies.*`, cases: `service-families-blanks`, reason: "blanks around entries of a list are no part of them"},
	{path: `Could not load pod from template file.*`, cases: `template-empty|template-no-spec`, reason: "a template may say nothing, or metadata alone"},
}
