package connect

import "strings"

// ineffectiveKeys are prefixes of keys. In cluster mode, such a key changes the driver's pod (KubernetesDriverBuilder
// and its feature steps). In a Connect server, it has no effect on the server's pod, which is built from a template.
// The field advice names the alternative.
var ineffectiveKeys = []struct {
	prefix, advice string
	// executorsOnly is true if the key still has an effect on executors.
	executorsOnly bool
}{
	{prefix: "spark.kubernetes.driverEnv.", advice: "set env of its container in the server's template"},
	{prefix: "spark.kubernetes.driver.secretKeyRef.", advice: "set env of its container in the server's template"},
	{prefix: "spark.kubernetes.driver.secrets.", advice: "set volumes in the server's template"},
	{prefix: "spark.kubernetes.driver.volumes.", advice: "set volumes in the server's template"},
	{prefix: "spark.kubernetes.driver.node.selector.", advice: "set nodeSelector in the server's template"},
	{prefix: "spark.kubernetes.node.selector.", advice: "set nodeSelector in the server's template", executorsOnly: true},
	{prefix: "spark.kubernetes.driver.scheduler.name", advice: "set schedulerName in the server's template"},
	{prefix: "spark.kubernetes.scheduler.name", advice: "set schedulerName in the server's template", executorsOnly: true},
	{prefix: "spark.kubernetes.driver.securityContext.", advice: "set securityContext of its container in the server's template"},
	{prefix: "spark.kubernetes.securityContext.", advice: "set securityContext of its container in the server's template", executorsOnly: true},
	{prefix: "spark.kubernetes.driver.podTemplateFile", advice: "use the server's template itself"},
	{prefix: "spark.kubernetes.driver.pod.featureSteps", advice: "use the server's template"},
	{prefix: "spark.kubernetes.driver.service.", advice: "use the server's Service"},
	{prefix: "spark.kubernetes.submission.", advice: "remove it: no client waits for the submission of a server"},
}

// warnIneffective adds three kinds of warnings: one for each prefix of ineffectiveKeys that the configuration uses, one
// for each device of the driver, and one for an image that no pod runs.
func (d *draft) warnIneffective() {
	for _, entry := range ineffectiveKeys {
		first, more := "", 0
		for key := range d.conf.All() {
			switch {
			case !strings.HasPrefix(key, entry.prefix):
			case first == "":
				first = key
			default:
				more++
			}
		}

		if first == "" {
			continue
		}

		effect := "has no effect: a Connect server's pod is made from its template"
		if entry.executorsOnly {
			effect = "affects only the executors: a Connect server's pod is made from its template"
		}

		if more > 0 {
			d.warns.OfKey(first, "%s; %s (the same holds for %d more keys that begin with %s)", effect, entry.advice, more, entry.prefix)
		} else {
			d.warns.OfKey(first, "%s; %s", effect, entry.advice)
		}
	}

	const devices = "spark.driver.resource."
	for key := range d.conf.WithPrefix(devices) {
		if strings.HasSuffix(key, ".amount") {
			d.warns.OfKey(devices+key, "adds no device to the server's pod; set limits in resources of its container in the server's template too")
		}
	}

	if image, ok := d.conf.Get(imageKey); ok && d.r.Image != "" && image != d.r.Image {
		d.warns.OfKey(imageKey, "has no effect, because the field image is set, which server and executors use; change that field, or set another image in a template or with %s", executorImageKey)
	}
}
