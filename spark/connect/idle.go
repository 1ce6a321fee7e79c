package connect

import "strings"

// idleKeys begin the keys by which a submission in cluster mode makes the driver's pod (KubernetesDriverBuilder and its feature steps). A server's pod is
// made from its template, so they do nothing for it; what else says the same is named by instead.
var idleKeys = []struct {
	begin, instead string
	// alone tells that the executors have it all the same.
	alone bool
}{
	{begin: "spark.kubernetes.driverEnv.", instead: "env of its container in the server's template"},
	{begin: "spark.kubernetes.driver.secretKeyRef.", instead: "env of its container in the server's template"},
	{begin: "spark.kubernetes.driver.secrets.", instead: "volumes in the server's template"},
	{begin: "spark.kubernetes.driver.volumes.", instead: "volumes in the server's template"},
	{begin: "spark.kubernetes.driver.node.selector.", instead: "nodeSelector in the server's template"},
	{begin: "spark.kubernetes.node.selector.", instead: "nodeSelector in the server's template", alone: true},
	{begin: "spark.kubernetes.driver.scheduler.name", instead: "schedulerName in the server's template"},
	{begin: "spark.kubernetes.scheduler.name", instead: "schedulerName in the server's template", alone: true},
	{begin: "spark.kubernetes.driver.securityContext.", instead: "securityContext of its container in the server's template"},
	{begin: "spark.kubernetes.securityContext.", instead: "securityContext of its container in the server's template", alone: true},
	{begin: "spark.kubernetes.driver.podTemplateFile", instead: "the server's template itself"},
	{begin: "spark.kubernetes.driver.pod.featureSteps", instead: "the server's template"},
	{begin: "spark.kubernetes.driver.service.", instead: "the server's Service"},
	{begin: "spark.kubernetes.submission.", instead: "nothing: nobody waits for a server's submission"},
}

// tellIdle warns of what is said in vain about the server's pod, once for each kind of key, and of an image that nobody runs.
func (d *draft) tellIdle() {
	for _, idle := range idleKeys {
		first, more := "", 0
		for key := range d.conf.All() {
			switch {
			case !strings.HasPrefix(key, idle.begin):
			case first == "":
				first = key
			default:
				more++
			}
		}
		if first == "" {
			continue
		}
		vain := "has no effect: a Connect server's pod is made from its template"
		if idle.alone {
			vain = "reaches the executors alone: a Connect server's pod is made from its template"
		}
		if more > 0 {
			d.warns.OfKey(first, "%s; write %s instead (so for %d more keys that begin with %s)", vain, idle.instead, more, idle.begin)
		} else {
			d.warns.OfKey(first, "%s; write %s instead", vain, idle.instead)
		}
	}
	const devices = "spark.driver.resource."
	for key := range d.conf.WithPrefix(devices) {
		if strings.HasSuffix(key, ".amount") {
			d.warns.OfKey(devices+key, "gives the server's pod no device; write limits into resources of its container in the server's template as well")
		}
	}
	if image, said := d.conf.Get(imageKey); said && d.r.Image != "" && image != d.r.Image {
		d.warns.OfKey(imageKey, "has no effect beside the field image, which server and executors run; change that, or name another image in a template or by %s", executorImageKey)
	}
}
