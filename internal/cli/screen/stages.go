package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Stage is a stage as Spark's REST API describes it (org.apache.spark.status.api.v1.StageData).
type Stage struct {
	Status   string `json:"status"`
	ID       int    `json:"stageId"`
	Name     string `json:"name"`
	Tasks    int    `json:"numTasks"`
	Active   int    `json:"numActiveTasks"`
	Complete int    `json:"numCompleteTasks"`
	Failed   int    `json:"numFailedTasks"`
	// Submitted and Completed are times that SparkTime reads; empty if the stage has not begun or not ended.
	Submitted string `json:"submissionTime"`
	Completed string `json:"completionTime"`
	// The following are bytes.
	Input        int64  `json:"inputBytes"`
	ShuffleRead  int64  `json:"shuffleReadBytes"`
	ShuffleWrite int64  `json:"shuffleWriteBytes"`
	Spilled      int64  `json:"diskBytesSpilled"`
	Failure      string `json:"failureReason"`
}

// sparkTime is the format of times in Spark's REST API (org.apache.spark.status.api.v1.JacksonMessageWriter).
const sparkTime = "2006-01-02T15:04:05.000GMT"

// SparkTime returns a time of Spark's REST API, or the zero time if the text is none.
func SparkTime(text string) time.Time {
	at, _ := time.Parse(sparkTime, text)
	return at
}

// Duration returns how long the stage has run until the given time; 0 before its begin.
func (s *Stage) Duration(now time.Time) time.Duration {
	from, to := SparkTime(s.Submitted), SparkTime(s.Completed)
	if to.IsZero() {
		to = now
	}

	if from.IsZero() {
		return 0
	}
	return max(to.Sub(from), 0)
}

// ReadStages returns the stages of the application that runs in a driver pod. If Spark's REST API does not answer, the
// second result says why there are no stages.
func ReadStages(ctx context.Context, c *kube.Client, pod *corev1.Pod) (stages []Stage, missing string) {
	missing = ReadSpark(ctx, c, pod, "stages", &stages)
	return stages, missing
}

// ReadSpark decodes what Spark's REST API answers about a part of the application that runs in a driver pod, such as
// stages or jobs. If there is no answer, the result says why the part is missing.
func ReadSpark(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string, into any) (missing string) {
	app, missing := ReadSparkApp(ctx, c, pod, part)
	if missing != "" {
		return missing
	}
	return app.Read(ctx, c, pod, part, into)
}

// sparkApps is the path of the applications in Spark's REST API.
const sparkApps = "/api/v1/applications"

// SparkApp is an application in Spark's REST API (org.apache.spark.status.api.v1.ApplicationInfo).
type SparkApp struct {
	ID       string `json:"id"`
	Attempts []struct {
		Started string `json:"startTime"` // SparkTime reads it
	} `json:"attempts"`
}

// ReadSparkApp reads the application that runs in a driver pod. If there is no answer, the second result says why the
// part that is wanted is missing.
func ReadSparkApp(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string) (app SparkApp, missing string) {
	var apps []SparkApp
	if missing := readJSON(ctx, c, pod, part, sparkApps, &apps); missing != "" {
		return SparkApp{}, missing
	}

	if len(apps) == 0 {
		return SparkApp{}, "no " + part + ": Spark has not started its application yet"
	}
	return apps[0], ""
}

// Read decodes a part of the application, as ReadSpark does.
func (a SparkApp) Read(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string, into any) (missing string) {
	return readJSON(ctx, c, pod, part, sparkApps+"/"+a.ID+"/"+part, into)
}

// readJSON decodes one response of Spark's REST API. If there is no response, the result says why a part is missing.
func readJSON(ctx context.Context, c *kube.Client, pod *corev1.Pod, part, path string, into any) (missing string) {
	text, err := podproxy.Read(ctx, c, pod, podproxy.UIPort(pod), path)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("no %s: %v", part, c.Explain(err))
	case err != nil:
		return "no " + part + ": Spark's REST API does not answer through the API server; the driver may be starting, its web UI may be off " +
			"(spark.ui.enabled), or a NetworkPolicy may close its port"
	}

	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Sprintf("no %s: the answer of Spark's REST API cannot be read: %v", part, err)
	}
	return ""
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
