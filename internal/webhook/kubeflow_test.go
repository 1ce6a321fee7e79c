package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/test/kit/refusal"
)

// decision is an expected answer of the API server. If the field refused has a text, the API server refuses the object
// with a message that contains this text. Otherwise it admits the object. If the field warned has a text, the answer
// has a warning that contains this text. Otherwise the answer has no warning.
type decision struct{ refused, warned string }

// decided sends an object in a dry run and checks the answer.
func (h *hooked) decided(name string, object *unstructured.Unstructured, want decision) {
	h.T.Helper()
	h.warnings.take()
	err := h.dryRun(object)

	warned := strings.Join(h.warnings.take(), "\n")
	switch {
	case want.refused != "" && (err == nil || !strings.Contains(err.Error(), want.refused)):
		h.T.Errorf("%s: %v, want a refusal with %q", name, err, want.refused)
	case want.refused == "" && err != nil:
		h.T.Errorf("%s: %v, want it to be admitted", name, err)
	case !strings.Contains(warned, want.warned) || want.warned == "" && warned != "":
		h.T.Errorf("%s: warned of %q, want %q", name, warned, want.warned)
	}
}

// TestKubeflowCasesOfIngresses checks entries of driverIngressOptions that the webhook of kubeflow's operator refuses.
// Our API server also refuses an entry without a port. It admits entries that share a port or an address, with a
// warning, because the application still runs. A pass then reports them in the condition Exposed. It also admits an
// entry without an address, for which the operator creates only a Service.
func TestKubeflowCasesOfIngresses(t *testing.T) {
	t.Parallel()
	h := hook(t)
	h.change(func(h *hooked) { h.cfg.UI.Ingress.Enabled = new(true) })

	const second = "spec.driverIngressOptions[1]."
	for options, want := range map[string]decision{
		`{servicePort: 8888, servicePortName: a, ingressURLFormat: "{{$appName}}.example.com"}`: {},
		`{servicePort: 8888, servicePortName: a}`:                                               {},
		`{servicePort: 8888, servicePortName: a, ingressURLFormat: ""}`:                         {},
		`{servicePortName: a, ingressURLFormat: a.example.com}`:                                 {refused: "spec.driverIngressOptions[0].servicePort: Required"},
		`{servicePort: 8888, ingressURLFormat: a.example.com}`:                                  {refused: "spec.driverIngressOptions[0].servicePortName: Required"},
		`{servicePort: 0, servicePortName: a}`:                                                  {warned: "spec.driverIngressOptions[0].servicePort: 0 is not a port"},
		`{servicePort: 8888, servicePortName: a}, {servicePort: 8888, servicePortName: b}`: {warned: second +
			"servicePort: 8888 is also the port of entry 0"},
		`{servicePort: 1, servicePortName: a, ingressURLFormat: x.example.com}, {servicePort: 2, servicePortName: b, ingressURLFormat: x.example.com}`: {
			warned: second + "ingressURLFormat: x.example.com is also the address of port 1"},
		`{servicePort: 1, servicePortName: a, ingressURLFormat: x.example.com}, {servicePort: 2, servicePortName: b, ingressURLFormat: y.example.com}`: {},
		`{servicePort: 1, servicePortName: a, ingressURLFormat: "{{$name}}.example.com"}`:                                                              {warned: "spec.driverIngressOptions[0].ingressURLFormat: "},
	} {
		h.decided(options, h.object("spec: {driverIngressOptions: ["+options+"]}"), want)
	}

	h.change(func(h *hooked) { h.cfg.UI.Ingress.Enabled = new(false) })
	h.decided("Ingresses that are off",
		h.object(`spec: {driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: x.example.com}]}`),
		decision{warned: "the operator creates no Ingresses"})
}

// TestKubeflowCasesOfTemplates checks pod templates with each version of Spark. Kubeflow's operator refuses templates
// for Spark below 3.0, because spark-submit does not support templates there. This operator builds the driver pod
// itself, so templates work with every version for which it can build pods.
func TestKubeflowCasesOfTemplates(t *testing.T) {
	t.Parallel()
	h := hook(t)

	const older, unread, noServer = "is older than the oldest supported line, 3.5; the pods are built as for Spark 3.5",
		"is not a version such as", "has no Connect server"
	for version, warned := range map[string][2]string{
		"3.5.7": {"", noServer}, "4.0.1": {}, "4.1.4": {}, "v3.5.7": {"", noServer}, "3.0.0": {older, noServer},
		"2.4.8": {older, ""}, "latest": {unread, ""},
	} {
		for _, role := range []string{"driver", "executor"} {
			spec := fmt.Sprintf("spec: {sparkVersion: %q, %s: {template: {spec: {priorityClassName: low}}}}",
				version, role)
			h.decided(version+" "+role, h.object(spec), decision{warned: warned[0]})
			server := strings.Replace(spec, "driver:", "server:", 1)
			h.decided(version+" "+role+" of a server", h.object(refusal.Must(t, refusals[2]).Whole, server),
				decision{warned: warned[1]})
		}
	}
}

// TestKubeflowCasesOfDynamicAllocation checks the numbers of executors in applications, templates of schedules, and
// servers. Kubeflow's operator refuses an initial number below the minimum. This operator admits it, because Spark then
// starts with the minimum.
func TestKubeflowCasesOfDynamicAllocation(t *testing.T) {
	t.Parallel()
	h := hook(t)

	const above, negative, none = "is above maxExecutors", "is negative", "is below 1"
	for numbers, refused := range map[string]string{
		"": "", "minExecutors: 1, initialExecutors: 2, maxExecutors: 3": "", "minExecutors: 2, maxExecutors: 2": "",
		"minExecutors: 0": "", "maxExecutors: 1": "",
		"initialExecutors: 5": "", "minExecutors: 3, initialExecutors: 1, maxExecutors: 4": "",
		"minExecutors: 4, maxExecutors: 3": above, "initialExecutors: 4, maxExecutors: 3": above,
		"minExecutors: -1": negative,
		"maxExecutors: 0":  none, "maxExecutors: -1": none, "minExecutors: -2, maxExecutors: -1": negative,
	} {
		for on, want := range map[string]decision{"enabled: true": {refused: refused}, "enabled: false": {}} {
			allocation := "dynamicAllocation: {" + strings.TrimSuffix(on+", "+numbers, ", ") + "}"
			h.decided("an application with "+allocation, h.object("spec: {"+allocation+"}"), want)
			h.decided("a schedule with "+allocation,
				h.object(refusal.Must(t, refusals[1]).Whole, "spec: {template: {"+allocation+"}}"), want)
			h.decided("a server with "+allocation,
				h.object(refusal.Must(t, refusals[2]).Whole, "spec: {"+allocation+"}"), want)
		}
	}
}

// TestKubeflowCasesOfOtherKinds checks schedules and servers with names, versions, memory sizes and configuration keys
// that the webhook of kubeflow's operator admits or refuses.
func TestKubeflowCasesOfOtherKinds(t *testing.T) {
	t.Parallel()
	h := hook(t)

	schedule, server := refusal.Must(t, refusals[1]).Whole, refusal.Must(t, refusals[2]).Whole
	for name, want := range map[string]decision{
		"nightly": {}, strings.Repeat("a", 52): {}, strings.Repeat("a", 53): {refused: "metadata.name"},
		"1a": {refused: "metadata.name"}, "a.b": {refused: "metadata.name"},
	} {
		h.decided("a schedule named "+name, h.object(schedule, `metadata: {name: "`+name+`"}`), want)
	}

	for _, key := range []string{"spark.master", "spark.kubernetes.driver.master", "spark.kubernetes.container.image",
		"spark.kubernetes.authenticate.oauthToken", "spark.kubernetes.namespace"} {
		h.decided("a schedule with "+key, h.object(schedule, "spec: {template: {sparkConf: {"+key+": x}}}"),
			decision{refused: "spec.template.sparkConf"})
	}

	h.decided("a schedule with its own namespace",
		h.object(schedule, "spec: {template: {sparkConf: {spark.kubernetes.namespace: "+h.Namespace+"}}}"), decision{})
	// The server's memory also becomes the option -Xmx of its JVM, which does not read all of Spark's units.
	const size, jvm = "is not a size that Spark reads", "becomes the option -Xmx"
	for memory, want := range map[string][2]string{
		"1024k": {}, "512m": {}, "1g": {}, "1G": {}, "1t": {}, "512": {jvm, ""}, "1kb": {jvm, ""}, "512mb": {jvm, ""},
		"1gb": {jvm, ""}, "1b": {jvm, ""},
		"1.5g": {size, size}, "1Gi": {size, size}, "-1g": {size, size}, "much": {size, size}, "0g": {size, size},
	} {
		for i, role := range []string{"server", "executor"} {
			h.decided(role+" memory "+memory, h.object(server, fmt.Sprintf("spec: {%s: {memory: %q}}", role, memory)),
				decision{refused: want[i]})
		}
	}

	h.decided("a server without a version", h.object(server, "spec: {sparkVersion: null}"),
		decision{refused: "spec.sparkVersion: Required"})
	h.decided("a server without an image", h.object(server, "spec: {image: null}"), decision{warned: "spec.image: "})
	// A case of kubeflow's own end-to-end tests: a dry run of an application with allowed keys, without image and class.
	// The API server makes a name of generateName before it calls the webhook (kubeflow's issue 1208).
	for prefix, want := range map[string]decision{"spark-pi-example-": {}, strings.Repeat("a", 80): {},
		"1a-": {refused: "metadata.name"}} {
		generated := h.object(`spec: {sparkConf: {spark.ui.proxyBase: "/spark/{{$appName}}"}}`)
		generated.SetName("")
		generated.SetGenerateName(prefix)
		h.decided("a generated name that begins with "+prefix, generated, want)

		if err := h.user.Create(t.Context(), generated); (err == nil) != (want.refused == "") || err == nil &&
			!strings.HasPrefix(generated.GetName(), prefix[:min(len(prefix), 58)]) {
			t.Errorf("generateName %s: %v, the name is %q", prefix, err, generated.GetName())
		}
	}

	h.decided("an application that is not complete",
		h.object("spec: {image: null, mainClass: null, sparkConf: {spark.eventLog.enabled: \"true\"}}"),
		decision{warned: "needs a main class"})
	h.decided("an application without an image",
		h.object("spec: {image: null, type: Scala, mainApplicationFile: \"local:///app.py\"}"),
		decision{warned: "set spec.image, or driver.image and executor.image"})
	h.decided("an application that is not complete and wrong",
		h.object("spec: {image: null, sparkConf: {spark.master: local}}"), decision{refused: "spark.master"})

	for key, want := range map[string]decision{
		"spark.kubernetes.namespace": {warned: "spark.kubernetes.namespace"}, "spark.master": {warned: "spark.master"},
	} {
		h.decided("a server with "+key, h.object(server, "spec: {sparkConf: {"+key+": x}}"), want)
	}
}
