package detail

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/console/model"
)

// maxTasks is the largest number of tasks that a page shows.
const maxTasks = 100

// task is a task as Spark's REST API describes it (org.apache.spark.status.api.v1.TaskData).
type task struct {
	Index    int    `json:"index"`
	Attempt  int    `json:"attempt"`
	Status   string `json:"status"`
	Executor string `json:"executorId"`
	Locality string `json:"taskLocality"`
	Launched string `json:"launchTime"`
	Duration int64  `json:"duration"` // in ms
	Problem  string `json:"errorMessage"`
	Metrics  struct {
		Collected int64 `json:"jvmGcTime"` // in ms
		Spilled   int64 `json:"diskBytesSpilled"`
		Input     struct {
			Bytes int64 `json:"bytesRead"`
		} `json:"inputMetrics"`
		Read struct {
			Remote int64 `json:"remoteBytesRead"`
			Local  int64 `json:"localBytesRead"`
		} `json:"shuffleReadMetrics"`
		Write struct {
			Bytes int64 `json:"bytesWritten"`
		} `json:"shuffleWriteMetrics"`
	} `json:"taskMetrics"`
}

// lists are the lists of tasks that a page merges, by the status of model.Tasks that selects them. Spark sorts by the
// run time of successful tasks. It keeps the metrics of other ended tasks as negative numbers (LiveTask, SPARK-26260),
// so the longest tasks have the smallest numbers. Running tasks are in the order of their starts.
var lists = []struct {
	status string
	query  url.Values
}{
	{"running", url.Values{"status": {"running"}, "sortBy": {"ID"}}},
	{"failed", url.Values{"status": {"failed", "killed"}, "sortBy": {"runtime"}}},
	{"", url.Values{"status": {"success"}, "sortBy": {"-runtime"}}},
}

// shares are the shares of complete tasks whose durations a page shows.
var shares = []string{"0.5", "0.95", "1.0"}

// durations has the durations of complete tasks in ms, by shares
// (org.apache.spark.status.api.v1.TaskMetricDistributions).
type durations struct {
	Values []float64 `json:"duration"`
}

// tasks reads the longest tasks of a stage, which is named as STAGE.ATTEMPT. With a status, only tasks in it are read.
// The result is nil if there is no such name or status.
func (s *subject) tasks(app podproxy.App, name, status string) *model.Tasks {
	stage, attempt, ok := stageOf(name)
	if !ok || !slices.Contains(model.TaskStatuses, status) {
		s.missing = append(s.missing, "the address names no stage, or an unknown status of tasks")
		return nil
	}

	out := &model.Tasks{Stage: stage, Attempt: attempt, Status: status, Path: fmt.Sprintf("%sstages/stage/?id=%d&attempt=%d", uiPath(s.main()), stage, attempt)}
	part := fmt.Sprintf("stages/%d/%d/", stage, attempt)

	for _, list := range lists {
		if status != "" && status != list.status {
			continue
		}

		query := maps.Clone(list.query)
		query.Set("length", strconv.Itoa(maxTasks+1))

		var found []task
		if missing := app.ReadQuery(s.ctx, s.Client, s.main(), "tasks", part+"taskList", query, &found); missing != "" {
			out.Missing = bounds.Line(missing)
			return out
		}

		for i := range found[:min(len(found), maxTasks+1)] {
			out.Tasks = append(out.Tasks, found[i].shown(s.Now))
		}
	}

	slices.SortStableFunc(out.Tasks, func(a, b model.Task) int { return cmp.Compare(b.Duration, a.Duration) })

	out.More = len(out.Tasks) > maxTasks
	out.Tasks = out.Tasks[:min(len(out.Tasks), maxTasks)]

	var d durations // no task has ended if there are none
	if app.ReadQuery(s.ctx, s.Client, s.main(), "durations", part+"taskSummary", url.Values{"quantiles": {strings.Join(shares, ",")}}, &d) == "" && len(d.Values) == len(shares) {
		out.Median, out.Most, out.Longest = ms(d.Values[0]), ms(d.Values[1]), ms(d.Values[2])
	}
	return out
}

// stageOf reads the number of a stage and of its attempt, such as 3.0.
func stageOf(name string) (stage, attempt int, ok bool) {
	first, second, _ := strings.Cut(name, ".")

	stage, err := strconv.Atoi(first)
	if err != nil || stage < 0 {
		return 0, 0, false
	}

	attempt, err = strconv.Atoi(cmp.Or(second, "0"))
	return stage, attempt, err == nil && attempt >= 0
}

// shown returns what the page shows of a task.
func (t *task) shown(now time.Time) model.Task {
	took := ms(float64(t.Duration))
	if from := podproxy.Time(t.Launched); !from.IsZero() && t.Status == "RUNNING" {
		took = max(now.Sub(from), 0) // Spark's is that of the last heartbeat
	}

	return model.Task{
		Index: t.Index, Attempt: t.Attempt, Status: bounds.Line(t.Status), Executor: bounds.Line(t.Executor), Locality: bounds.Line(t.Locality), Duration: took, Collected: ms(float64(t.Metrics.Collected)),
		InputBytes: t.Metrics.Input.Bytes, ShuffleRead: t.Metrics.Read.Remote + t.Metrics.Read.Local, ShuffleWrite: t.Metrics.Write.Bytes, SpilledBytes: t.Metrics.Spilled,
		Problem: bounds.Line(t.Problem[:min(len(t.Problem), maxText)]),
	}
}

// maxMillis is the largest number of milliseconds that a page shows, 30 years.
const maxMillis = 1e12

// ms returns a number of milliseconds as a duration.
func ms(n float64) time.Duration {
	return time.Duration(min(max(n, 0), maxMillis)) * time.Millisecond
}
