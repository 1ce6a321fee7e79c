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

func find(list []listed, name, version, path string) int {
	return slices.IndexFunc(list, func(l listed) bool {
		return (len(l.lines) == 0 || slices.Contains(l.lines, record.Line(version))) && matches(l.cases, name) && matches(l.path, path)
	})
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
	{path: `ConfigMap \S+: /data/spark.properties/spark.kubernetes.driver.podTemplateFile`, reason: "keys that name files of the submitter are not passed on"},
	{path: `Pod \S+: /metadata/generateName`, cases: `template-metadata`, reason: "a pod that has a name needs no generateName"},
	{path: `ConfigMap \S+: /data/podspec-configmap-key/spec/containers/spark-kubernetes-executor(/name)?`, cases: `templates|mixed-names`, reason: "the executors' template names Spark's container"},
	{path: `.*`, cases: `name-empty`, reason: "an empty name counts as none"},
	{path: `Pod \S+: /spec/containers/[^/]+/args/[0-9]+`, cases: `app-args|app-args-python|mixed-java`, reason: "arguments reach the application as they are ($( is escaped)"},
}

// gaps are differences that should not be. They may only become fewer.
var gaps = []listed{}

// weRefuse are cases that only Build refuses.
var weRefuse = []listed{}

// theyRefuse are cases that only spark-submit refuses.
var theyRefuse = []listed{}
