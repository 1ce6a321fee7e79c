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
)

// executorTemplate is the template of the executors as the server reads it.
type executorTemplate struct {
	// text is empty where there is none.
	text string
	// image of the executors.
	image string
}

// executors reads the template of the executors and makes it ready for Spark: a Pod, with what we want of every pod.
func (d *draft) executors() (executorTemplate, error) {
	t, err := podtemplate.Read(d.r.ExecutorTemplate)
	if err != nil {
		return executorTemplate{}, fieldError("ExecutorTemplate", "%v", err)
	}
	d.tellLeft("ExecutorTemplate", t.Left)
	wanted, err := d.conf.String(templateNameKey, overlay.ExecutorContainer)
	if err != nil {
		return executorTemplate{}, asError(err)
	}
	spark := &t.Pod.Spec.Containers[t.Find(wanted, overlay.ExecutorContainer)]
	image := cmp.Or(spark.Image, d.r.Image)
	if image == "" {
		if image, err = d.conf.String(executorImageKey, ""); err == nil && image == "" {
			image, err = d.conf.String(imageKey, "")
		}
		if err != nil {
			return executorTemplate{}, asError(err)
		}
	}
	if image == "" {
		return executorTemplate{}, fieldError("Image", "the executors need an image: name one for the server and them, or one in their template")
	}
	if len(d.r.ExecutorTemplate) == 0 {
		return executorTemplate{image: image}, nil
	}
	hygiene(t.Pod, spark)
	t.Pod.APIVersion, t.Pod.Kind = "v1", "Pod"
	tree, err := podtemplate.Tree(t.Pod)
	if err != nil {
		return executorTemplate{}, fieldError("ExecutorTemplate", "%v", err)
	}
	podtemplate.Graft(tree, runtime.DeepCopyJSON(t.Extra), func(path string) { d.warns.OfField("ExecutorTemplate", "%s: has fields that cannot be kept", path) })
	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		return executorTemplate{}, fieldError("ExecutorTemplate", "%v", err)
	}
	return executorTemplate{text: string(text) + "\n", image: image}, nil
}

// tellLeft warns of what a template says in vain.
func (d *draft) tellLeft(field string, left []string) {
	for _, name := range left {
		d.warns.OfField(field, "%s is left out: it is not the template's to say", name)
	}
}

// hygiene sets what we want of every pod, unless its template says otherwise: no environment variables for the namespace's Services, some of which Spark's
// scripts would read, and the end of the log as the message of a container that failed without one.
func hygiene(pod *corev1.Pod, spark *corev1.Container) {
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = new(false)
	}
	if spark.TerminationMessagePolicy == "" {
		spark.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
}

// Executor returns the pod that the server of a Request asks the API server for when it wants the executor of an id, counted from 1. Server is the UID of
// its pod, the executor's owner; without one it has none. Nobody but a server creates executors: this one is for asking the API server what it
// would say (a server-side dry run). See submit.Executor, whose errors it has. Where a value has a reference that only the server's process can
// replace, such as ${env:NAME}, and is none without it, the pod is that of Spark's default.
func Executor(r Request, id int, server types.UID) (*corev1.Pod, error) {
	d, err := newDraft(r)
	if err != nil {
		return nil, err
	}
	template, err := d.executors()
	if err != nil {
		return nil, err
	}
	settled, err := d.settled(template)
	if err != nil {
		return nil, err
	}
	request := submit.Request{
		SparkVersion: r.SparkVersion, Namespace: r.Namespace, Master: d.r.Master, AppName: r.Name, AppID: r.Name, ResourceNamePrefix: executorPrefix(r.Name),
		DriverPodName: ServerName(r.Name), MainClass: MainClass, Conf: ofExecutors(settled),
	}
	if template.text != "" {
		request.ExecutorTemplate = []byte(template.text)
	}
	for tries := 1; ; tries++ {
		pod, err := submit.Executor(request, id, server)
		refused, ok := errors.AsType[*submit.Error](err)
		if !ok || !readByServer(request.Conf, refused.Key) {
			return pod, err
		}
		request.Conf.Delete(refused.Key)
		if tries == mostTries {
			// Each key is one more build: the rest goes at once.
			for _, key := range request.Conf.Keys() {
				if readByServer(request.Conf, key) {
					request.Conf.Delete(key)
				}
			}
		}
	}
}

// mostTries is how many keys Executor leaves out one by one.
const mostTries = 8

// executorKeys begin the keys that an executor's pod follows from. A submission in cluster mode would refuse others that a server may well have, such as
// files of its own image.
var executorKeys = []string{
	"spark.executor.", "spark.executorEnv.", "spark.kubernetes.executor.", "spark.kubernetes.container.image", "spark.kubernetes.node.selector.",
	"spark.kubernetes.authenticate.executor.", "spark.kubernetes.authenticate.driver.serviceAccountName", "spark.kubernetes.memoryOverheadFactor",
	"spark.kubernetes.scheduler.name", "spark.kubernetes.local.dirs.tmpfs", "spark.kubernetes.securityContext.", "spark.memory.offHeap.",
	"spark.dynamicAllocation.", "spark.decommission.", "spark.blockManager.port", "spark.app.name",
}

// ofExecutors is the part of a configuration that an executor's pod follows from. The file of the template is not in it: a template goes by itself. What
// values refer to need not be in it, so references are replaced here, where Spark replaces them.
func ofExecutors(c *conf.Conf) *conf.Conf {
	out, refer := conf.New(), false
	for key, value := range c.All() {
		if key == templateFileKey || !slices.ContainsFunc(executorKeys, func(begin string) bool { return strings.HasPrefix(key, begin) }) {
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
	out.Set(driverImageKey, "any") // there is no driver to make
	return out
}

// verbatim are parts of keys whose values Spark takes as they stand (SparkConf.getAllWithPrefix).
var verbatim = []string{".label.", ".annotation.", ".node.selector.", ".secrets.", ".secretKeyRef.", ".volumes.", "spark.executorEnv."}

func isVerbatim(key string) bool {
	return slices.ContainsFunc(verbatim, func(part string) bool { return strings.Contains(key, part) })
}

// readByServer reports whether the value of a key has references that Spark replaces with what only the server's process knows: its environment, its
// system properties, and what Spark sets itself.
func readByServer(c *conf.Conf, key string) bool {
	text, _ := c.Get(key)
	if !strings.Contains(text, "${") || isVerbatim(key) {
		return false
	}
	replaced, err := c.Expand(text)
	return err == nil && strings.Contains(replaced, "${")
}

// digest is eight hexadecimal digits that depend on text alone.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
