package screen

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// TopCommand returns the verb top.
func TopCommand(streams terminal.Streams) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "top NAME|KIND/NAME",
		Short: "Show the CPU and memory of pods, and the progress of stages",
		Long: "Shows what the pods of a driver and its executors use, from the metrics API, beside their requests and limits, and the\n" +
			"progress of the active stages, from Spark's REST API. A part that is not available is replaced by a line that says why.\n" +
			"Spark's REST API needs the right to get pods/proxy, and the driver's web UI (spark.ui.enabled).",
		Example: "  sparkctl top spark-pi\n" +
			"  sparkctl top spark-pi --watch",
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show the page again every two seconds, until Ctrl-C or the end of the pods")
	return selection.One(cmd, streams.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		if _, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
			return exit.Errorf(exit.Usage, "%s is a schedule and has no pods; %s shows its runs", kube.Title(object), terminal.Hint("list -n %s", object.GetNamespace()))
		}
		return streams.Live(cmd.Context(), watch, func(ctx context.Context) (string, bool, error) {
			text, err := topPage(ctx, c, object, streams.Width)
			return text, false, err
		})
	}, "app", "connect", "apache-app", "cluster")
}

// topPage returns the text that the verb top shows at this moment.
func topPage(ctx context.Context, c *kube.Client, object client.Object, width int) (string, error) {
	main, err := c.MainPod(ctx, object)
	if err != nil {
		return "", err
	}

	pods, err := c.Pods(ctx, object)
	if err != nil {
		return "", err
	}

	usage, missing := ReadUsage(ctx, c, object)
	var b strings.Builder
	b.WriteString(podTable(pods, usage).String(width))

	if missing != "" {
		b.WriteString(terminal.Wrap("note: ", missing, width) + "\n")
	}

	if kinds.Of(object).Name == "cluster" {
		return b.String(), nil // the applications of a cluster run elsewhere
	}

	b.WriteByte('\n')

	_, stages, missing := ReadStages(ctx, c, main)
	if missing != "" {
		b.WriteString(terminal.Wrap("note: ", missing, width) + "\n")
		return b.String(), nil
	}

	b.WriteString(stageLines(stages, width))
	return b.String(), nil
}

// podTable returns a table of the pods that run.
func podTable(pods []corev1.Pod, usage map[string]Used) terminal.Table {
	table := terminal.Table{Columns: []terminal.Column{
		{Header: "POD"}, {Header: "ROLE", Drop: 4}, {Header: "CPU"}, {Header: "OF", Drop: 3}, {Header: "MEMORY"}, {Header: "LIMIT", Drop: 2}, {Header: "AGE", Drop: 1},
	}}
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}

		cpu, memory := "-", "-"
		if u, known := usage[pod.Name]; known {
			cpu, memory = cores(u.CPUMillis), sizeText(u.MemoryBytes)
		}

		requested, limit := resourcesOf(pod)
		table.Rows = append(table.Rows, []string{
			pod.Name, pod.Labels["spark-role"], cpu, requested, memory, limit, age(pod.CreationTimestamp.Time),
		})
	}
	return table
}

// resourcesOf returns the CPU request and the memory limit of a pod as text. The text is "-" if the pod does not set
// the value.
func resourcesOf(pod *corev1.Pod) (cpu, memory string) {
	var milli, bytes int64
	for _, container := range pod.Spec.Containers {
		milli += container.Resources.Requests.Cpu().MilliValue()
		bytes += container.Resources.Limits.Memory().Value()
	}

	cpu, memory = "-", "-"
	if milli > 0 {
		cpu = cores(milli)
	}

	if bytes > 0 {
		memory = sizeText(bytes)
	}
	return cpu, memory
}

// cores returns a number of millicores as text.
func cores(milli int64) string {
	if milli < 1000 {
		return fmt.Sprintf("%dm", milli)
	}
	return fmt.Sprintf("%.1f", float64(milli)/1000)
}

// sizeText returns a number of bytes as text, in the largest unit in which the number is at least 1.
func sizeText(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%dMi", bytes>>20)
	}
	return fmt.Sprintf("%.1fGi", float64(bytes)/(1<<30))
}
