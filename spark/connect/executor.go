package connect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// executorTemplate is the executors' pod template in the form that the server reads.
type executorTemplate struct {
	// text is the template as JSON. It is empty if the Request has no template.
	text string
	// image is the executors' image.
	image string
	// pod is the pod of the template, or nil if the Request has no template.
	pod *corev1.Pod
}

// executors parses the executors' pod template and completes it: Spark requires a whole Pod, and setPodDefaults adds
// the defaults of every pod.
func (d *draft) executors() (executorTemplate, error) {
	t, err := podtemplate.Read(d.r.ExecutorTemplate)
	if err != nil {
		return executorTemplate{}, submit.FieldErrorf("ExecutorTemplate", "%v", err)
	}

	d.warnDropped("ExecutorTemplate", t.Dropped)

	wanted, err := d.conf.String(templateNameKey, overlay.ExecutorContainer)
	if err != nil {
		return executorTemplate{}, submit.AsError(err)
	}

	spark := &t.Pod.Spec.Containers[t.FindOrAdd(wanted, overlay.ExecutorContainer)]

	image := cmp.Or(spark.Image, d.r.Image)
	if image == "" {
		if image, err = d.conf.String(executorImageKey, ""); err == nil && image == "" {
			image, err = d.conf.String(imageKey, "")
		}

		if err != nil {
			return executorTemplate{}, submit.AsError(err)
		}
	}

	if image == "" {
		return executorTemplate{}, submit.Missing(submit.FieldErrorf("Image", "the executors need an image: set one for the server and the executors, or in the executors' template"))
	}

	if len(d.r.ExecutorTemplate) == 0 {
		return executorTemplate{image: image}, nil
	}

	setPodDefaults(t.Pod, spark)
	t.Pod.APIVersion, t.Pod.Kind = "v1", "Pod"

	tree, err := podtemplate.Tree(t.Pod)
	if err != nil {
		return executorTemplate{}, submit.FieldErrorf("ExecutorTemplate", "%v", err)
	}

	podtemplate.Graft(tree, runtime.DeepCopyJSON(t.Extra), func(path string) { d.warns.OfField("ExecutorTemplate", "%s: has fields that cannot be kept", path) })

	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		return executorTemplate{}, submit.FieldErrorf("ExecutorTemplate", "%v", err)
	}
	return executorTemplate{text: string(text) + "\n", image: image, pod: t.Pod}, nil
}

// warnDropped adds a warning for each field that the operator removed from a template because it sets the field itself.
func (d *draft) warnDropped(field string, left []string) {
	for _, name := range left {
		d.warns.OfField(field, "%s is left out: the operator sets it", name)
	}
}

// setPodDefaults sets two defaults of every pod unless the pod's template sets them. The pod gets no environment
// variables for the namespace's Services, because Spark's scripts would read some of these variables. If a container
// fails without a message, the end of its log becomes its message.
func setPodDefaults(pod *corev1.Pod, spark *corev1.Container) {
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = new(false)
	}

	if spark.TerminationMessagePolicy == "" {
		spark.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
}

// Executor returns the pod that NewExecutors(r).Pod returns.
func Executor(r Request, id int, server types.UID) (*corev1.Pod, error) {
	return NewExecutors(r).Pod(id, server)
}

// Executors builds the executors of one server. All of them come from the same submission, so it costs less than
// Executor for each. It is not safe for concurrent use.
//
// A value may contain a reference that only the server's process can replace, such as ${env:NAME}. If such a value is
// invalid without the replacement, the pods are built with Spark's default for the value's key.
type Executors struct {
	request submit.Request
	// err is the error for which no executor can be built.
	err error
	// submission is the submission of request; nil if it must be built again.
	submission *native.Submission
	// ignored are the keys whose values were replaced by Spark's defaults.
	ignored []string
	tries   int
}

// NewExecutors returns the executors of the server of r.
func NewExecutors(r Request) *Executors {
	e := &Executors{}
	e.request, e.ignored, e.err = executorRequest(r)
	return e
}

// Pod returns the pod that the server would create for the executor with this ID. IDs begin at 1. The argument server
// is the UID of the server's pod, which owns the executor; if server is empty, the pod has no owner. The operator does
// not create this pod, because only servers create executors. The operator sends the pod to the API server in a dry
// run, to find out whether the API server would accept it. The errors are those of native.Executor.
func (e *Executors) Pod(id int, server types.UID) (*corev1.Pod, error) {
	return e.tolerant(func(s *native.Submission) (*corev1.Pod, error) { return s.Executor(id, server) })
}

// Bound returns an executor that is an upper bound for quotas, queues and the rules of a platform (native.Bound). It
// also returns the keys that are ignored although they change the pod. If there are such keys, the pod is no bound.
func (e *Executors) Bound() (pod *corev1.Pod, unknown []string, err error) {
	pod, err = e.tolerant((*native.Submission).Bound)
	for _, key := range e.ignored {
		if key != "spark.executor.instances" && !strings.HasPrefix(key, "spark.dynamicAllocation.") {
			unknown = append(unknown, key)
		}
	}
	return pod, unknown, err
}

// tolerant builds a pod. If a value is invalid because only the server's process can replace its references, tolerant
// removes the key and builds the pod again.
func (e *Executors) tolerant(build func(*native.Submission) (*corev1.Pod, error)) (*corev1.Pod, error) {
	for e.err == nil {
		if e.submission == nil {
			e.submission = native.New(e.request)
		}

		c := e.request.Conf

		pod, err := build(e.submission)

		rejected, ok := errors.AsType[*submit.Error](err)
		if !ok || !isServerKey(c, rejected.Key) {
			return pod, err
		}

		invalid := []string{rejected.Key}
		if e.tries++; e.tries == maxTries {
			// Each removal costs one more build, so all remaining keys are removed at once.
			invalid = slices.DeleteFunc(c.Keys(), func(key string) bool { return !isServerKey(c, key) })
		}

		for _, key := range invalid {
			c.Delete(key)
		}

		e.ignored, e.submission = append(e.ignored, invalid...), nil
	}
	return nil, e.err
}

// executorRequest returns the submission from which executors of the server are built. If only the server's process can
// compute the language, which changes the memory of executors, the key of the language is returned, too.
func executorRequest(r Request) (request submit.Request, unknown []string, err error) {
	d, err := newDraft(r)
	if err != nil {
		return request, nil, err
	}

	template, err := d.executors()
	if err != nil {
		return request, nil, err
	}

	settings, err := d.serverConf(template)
	if err != nil {
		return request, nil, err
	}

	request = submit.Request{
		SparkVersion: r.SparkVersion, Namespace: r.Namespace, Master: d.r.Master, AppName: r.Name, AppID: r.Name, ResourceNamePrefix: executorPrefix(r.Name),
		DriverPodName: ServerName(r.Name), MainClass: mainClass, Conf: executorConf(settings),
	}
	if template.text != "" {
		request.ExecutorTemplate = []byte(template.text)
	}

	language, err := settings.String(languageKey, "")
	switch {
	case err != nil || strings.Contains(language, "${"):
		unknown = []string{languageKey}
	case language == "python":
		// Executors of a Python application get spark.executor.pyspark.memory too. A submission in cluster mode would
		// also raise the default factor of the overhead, but a server does not.
		request.Resource = "local:///server.py"
		request.Conf.SetIfMissing(factorKey, "0.1")
	}
	return request, unknown, nil
}

// languageKey is the key of an application's language, which a submission in cluster mode sets itself. Nothing sets it
// for a server except the user.
const languageKey = "spark.kubernetes.resource.type"

// factorKey is the key of the overhead's factor for driver and executors.
const factorKey = "spark.kubernetes.memoryOverheadFactor"

// maxTries is the number of times that tolerant builds the pod and, after an error, removes only the invalid key. After
// that, tolerant removes all keys whose values contain references that only the server's process can replace.
const maxTries = 8

// executorKeys are the prefixes of the keys that determine an executor's pod. Executor drops all other keys. It builds
// the pod as for a submission in cluster mode, which would reject some keys that a server may have, such as keys that
// name files in the server's image.
var executorKeys = []string{
	"spark.executor.", "spark.executorEnv.", "spark.kubernetes.executor.", "spark.kubernetes.container.image", "spark.kubernetes.node.selector.",
	"spark.kubernetes.authenticate.executor.", "spark.kubernetes.authenticate.driver.serviceAccountName", factorKey,
	"spark.kubernetes.scheduler.name", "spark.kubernetes.local.dirs.tmpfs", "spark.kubernetes.securityContext.", "spark.memory.offHeap.",
	"spark.dynamicAllocation.", "spark.decommission.", "spark.blockManager.port", "spark.app.name",
}

// executorConf returns the part of a configuration that determines an executor's pod. It omits the key of the
// template's file, because the template is passed separately. executorConf replaces the references that Spark would
// replace, because they may refer to keys that are not in this part.
func executorConf(c *conf.Conf) *conf.Conf {
	out, refer := conf.New(), false
	for key, value := range c.All() {
		name := conf.CurrentName(key) // Spark reads old names too
		if key == templateFileKey || !slices.ContainsFunc(executorKeys, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			continue
		}

		out.Set(key, value)
		refer = refer || strings.Contains(value, "${") && !isVerbatim(key)
	}

	if refer {
		all := c.Clone()
		all.ExpandAll(func(key string) bool { return out.Has(key) && !isVerbatim(key) })

		for key := range out.All() {
			value, _ := all.Get(key)
			out.Set(key, value)
		}
	}

	out.Set(driverImageKey, "any") // required by submit, but no driver is built
	return out
}

// verbatim are parts of keys whose values Spark uses without replacing references (SparkConf.getAllWithPrefix).
var verbatim = []string{".label.", ".annotation.", ".node.selector.", ".secrets.", ".secretKeyRef.", ".volumes.", "spark.executorEnv."}

func isVerbatim(key string) bool {
	return slices.ContainsFunc(verbatim, func(part string) bool { return strings.Contains(key, part) })
}

// isServerKey reports whether the value of a key contains references that only the server's process can replace:
// references to environment variables, system properties, and keys that Spark sets itself.
func isServerKey(c *conf.Conf, key string) bool {
	text, _ := c.Get(key)
	if !strings.Contains(text, "${") || isVerbatim(key) {
		return false
	}

	replaced, err := c.Expand(text)
	return err == nil && strings.Contains(replaced, "${")
}

// digest returns eight hexadecimal digits of the SHA-256 of text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
