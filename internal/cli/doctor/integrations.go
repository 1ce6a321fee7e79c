package doctor

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// metricsServer is the manifest of metrics-server, the usual implementation of the metrics API.
const metricsServer = "https://github.com/kubernetes-sigs/metrics-server/releases/latest/download/components.yaml"

// checkMetrics checks whether the operator serves metrics, and whether the cluster has the metrics API. The command
// sparkctl top reads the CPU and memory of pods from this API.
func (d *doctor) checkMetrics() {
	for i := range d.operators {
		o := &d.operators[i]
		switch {
		case o.Other || !o.examined || o.Wanted == 0:
		case !o.metrics:
			d.Add(findings.Note, "metrics", upgrade(o, "prometheus.metrics.enable=true"), "%s serves no metrics", o)
		case d.groups["monitoring.coreos.com"]:
			d.Add(findings.OK, "metrics", "", "%s serves metrics; the chart value prometheus.podMonitor.create=true lets the Prometheus operator in this cluster scrape them", o)
		default:
			d.Add(findings.OK, "metrics", "", "%s serves metrics", o)
		}

		if logs := o.config.UnshownEventLogs(); o.examined && logs != "" { // the chart names what else to set
			d.Add(findings.Note, "history", upgrade(o, "historyServer.enable=true"), "applications write event logs to %s, and %s knows no History Server that shows them", logs, o)
		}
	}

	switch {
	case d.groups == nil:
	case d.groups["metrics.k8s.io"]:
		d.Add(findings.OK, "metrics", "", "the metrics API has the CPU and memory of pods")
	default:
		d.Add(findings.Note, "metrics", "kubectl apply -f "+metricsServer, "the cluster has no metrics API, so %s shows neither CPU nor memory", terminal.Hint("top"))
	}
}

// integration is a batch scheduler or queue that custom resources can use.
type integration struct {
	name, group string
	// wants reports whether a custom resource needs the integration.
	wants func(client.Object) bool
	fix   terminal.Command
}

// integrations lists the integrations that have an API group. YuniKorn is missing, because it has no API group: it
// reads annotations of pods.
var integrations = []integration{
	{"Volcano", "scheduling.volcano.sh", wantsScheduler("volcano"), "helm install volcano volcano --repo https://volcano-sh.github.io/helm-charts -n volcano-system --create-namespace"},
	{"the coscheduling plugin", "scheduling.x-k8s.io", wantsScheduler("kube-scheduler", "scheduler-plugins-scheduler"),
		"helm install scheduler-plugins scheduler-plugins --repo https://scheduler-plugins.sigs.k8s.io -n scheduler-plugins --create-namespace"},
	{"Kueue", kueueGroup, wantsQueue, "kubectl apply --server-side -f https://github.com/kubernetes-sigs/kueue/releases/latest/download/manifests.yaml"},
}

// wantsScheduler returns a function that reports whether an application uses one of the given batch schedulers.
func wantsScheduler(names ...string) func(client.Object) bool {
	return func(object client.Object) bool {
		var spec *v1beta2.SparkApplicationSpec
		switch object := object.(type) {
		case *v1beta2.SparkApplication:
			spec = &object.Spec
		case *v1beta2.ScheduledSparkApplication:
			spec = &object.Spec.Template
		}
		return spec != nil && spec.BatchScheduler != nil && slices.Contains(names, *spec.BatchScheduler)
	}
}

// checkSchedulers checks that the batch schedulers and queues that custom resources use are installed.
func (d *doctor) checkSchedulers() {
	if d.groups == nil {
		return
	}

	for _, i := range integrations {
		wanted, first := 0, ""
		for _, object := range d.objects {
			if i.wants(object) {
				if wanted++; first == "" {
					first = object.GetNamespace() + "/" + object.GetName()
				}
			}
		}

		switch {
		case d.groups[i.group] && !d.objectsKnown:
			d.Add(findings.OK, "schedulers", "", "%s is installed", i.name)
		case d.groups[i.group]:
			d.Add(findings.OK, "schedulers", "", "%s is installed; named by %s", i.name, bounds.Count(wanted, "object"))
		case wanted > 0:
			d.Add(findings.Error, "schedulers", i.fix, "%s is not installed, but used by %s: the cluster has no API %s", i.name, more(first, wanted), i.group)
		}
	}
}

// more returns a text for n names: the first name, and the number of the others.
func more(first string, n int) string {
	if n == 1 {
		return first
	}
	return first + " and " + bounds.Count(n-1, "other")
}
