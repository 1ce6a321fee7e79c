package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Stage is a stage as Spark's REST API describes it (org.apache.spark.status.api.v1.StageData).
type Stage struct {
	Status   string `json:"status"`
	ID       int    `json:"stageId"`
	Attempt  int    `json:"attemptId"`
	Name     string `json:"name"`
	Tasks    int    `json:"numTasks"`
	Active   int    `json:"numActiveTasks"`
	Complete int    `json:"numCompleteTasks"`
	Failed   int    `json:"numFailedTasks"`
	// Submitted and Completed are times that podproxy.Time reads; empty if the stage has not begun or not ended.
	Submitted string `json:"submissionTime"`
	Completed string `json:"completionTime"`
	// The following are bytes.
	Input        int64  `json:"inputBytes"`
	ShuffleRead  int64  `json:"shuffleReadBytes"`
	ShuffleWrite int64  `json:"shuffleWriteBytes"`
	Spilled      int64  `json:"diskBytesSpilled"`
	Failure      string `json:"failureReason"`
}

// Duration returns how long the stage has run until the given time; 0 before its begin.
func (s *Stage) Duration(now time.Time) time.Duration {
	from, to := podproxy.Time(s.Submitted), podproxy.Time(s.Completed)
	if to.IsZero() {
		to = now
	}

	if from.IsZero() {
		return 0
	}
	return max(to.Sub(from), 0)
}

// ReadStages returns the application that runs in a driver pod and its stages. If Spark's REST API does not answer, the
// last result says why there are no stages.
func ReadStages(ctx context.Context, c *kube.Client, pod *corev1.Pod) (app podproxy.App, stages []Stage, missing string) {
	if app, missing = podproxy.ReadApp(ctx, c, pod, "stages"); missing == "" {
		missing = app.Read(ctx, c, pod, "stages", &stages)
	}
	return app, stages, missing
}

// maxStages is the largest number of active stages that are shown.
const maxStages = 10

// stageLines returns the active stages with progress bars, and a line with the number of stages in each state.
func stageLines(stages []Stage, width int) string {
	count := map[string]int{}

	var active []Stage
	for _, s := range stages {
		count[s.Status]++
		if s.Status == "ACTIVE" {
			active = append(active, s)
		}
	}

	slices.SortFunc(active, func(a, b Stage) int { return a.ID - b.ID })

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
func (s *Stage) line(width int) string {
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
