package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// sparkStage is a stage as Spark's REST API describes it (org.apache.spark.status.api.v1.StageData).
type sparkStage struct {
	Status   string `json:"status"`
	ID       int    `json:"stageId"`
	Name     string `json:"name"`
	Tasks    int    `json:"numTasks"`
	Active   int    `json:"numActiveTasks"`
	Complete int    `json:"numCompleteTasks"`
	Failed   int    `json:"numFailedTasks"`
}

// defaultUIPort is the port of Spark's web UI, which serves the REST API, if the pod does not name one.
const defaultUIPort = 4040

// readStages returns the stages of the application that runs in a driver pod. If Spark's REST API does not answer, the
// second result says why there are no stages.
func readStages(ctx context.Context, c *kube.Client, pod *corev1.Pod) (stages []sparkStage, missing string) {
	port := defaultUIPort
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name == "spark-ui" || p.Name == "web-ui" {
				port = int(p.ContainerPort)
			}
		}
	}

	base := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/api/v1/applications", pod.Namespace, pod.Name, port)

	var apps []struct {
		ID string `json:"id"`
	}
	if missing := readJSON(ctx, c, base, &apps); missing != "" {
		return nil, missing
	}

	if len(apps) == 0 {
		return nil, "no stages: Spark has not started its application yet"
	}

	if missing := readJSON(ctx, c, base+"/"+apps[0].ID+"/stages", &stages); missing != "" {
		return nil, missing
	}
	return stages, ""
}

// readJSON decodes one response of Spark's REST API. If there is no response, the result says why there are no stages.
func readJSON(ctx context.Context, c *kube.Client, path string, into any) (missing string) {
	text, err := c.Raw(ctx, path)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("no stages: %v", c.Explain(err))
	case err != nil:
		return "no stages: Spark's REST API does not answer through the API server; the driver may be starting, its web UI may be off " +
			"(spark.ui.enabled), or a NetworkPolicy may close its port"
	}

	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Sprintf("no stages: the answer of Spark's REST API cannot be read: %v", err)
	}
	return ""
}

// maxStages is the largest number of active stages that are shown.
const maxStages = 10

// stageLines returns the active stages with progress bars, and a line with the number of stages in each state.
func stageLines(stages []sparkStage, width int) string {
	count := map[string]int{}

	var active []sparkStage
	for _, s := range stages {
		count[s.Status]++
		if s.Status == "ACTIVE" {
			active = append(active, s)
		}
	}

	slices.SortFunc(active, func(a, b sparkStage) int { return a.ID - b.ID })

	var b strings.Builder
	for i, s := range active {
		if i == maxStages {
			fmt.Fprintf(&b, "... and %d more active stages\n", len(active)-maxStages)
			break
		}

		b.WriteString(s.line(width) + "\n")
	}

	total := fmt.Sprintf("%d active, %d pending, %d complete, %d skipped, %d failed",
		count["ACTIVE"], count["PENDING"], count["COMPLETE"], count["SKIPPED"], count["FAILED"])
	return b.String() + terminal.Wrap("stages: ", total, width) + "\n"
}

// barWidth is the number of cells of a progress bar.
const barWidth = 20

// line returns a stage in one line that fits the width of the terminal; a width of 0 means no limit.
func (s *sparkStage) line(width int) string {
	share := 0
	if s.Tasks > 0 {
		share = min(s.Complete, s.Tasks) * barWidth / s.Tasks
	}

	text := fmt.Sprintf("stage %-4d [%s%s] %d/%d tasks, %d run", s.ID, strings.Repeat("#", share), strings.Repeat(".", barWidth-share), s.Complete, s.Tasks, s.Active)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}

	name, _, _ := strings.Cut(s.Name, "\n")

	text += "  " + bounds.Line(name)
	if letters := []rune(text); width > 0 && len(letters) > width {
		text = string(letters[:width-2]) + ".."
	}
	return text
}
