package view

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// none stands for a value that does not exist.
const none = "–"

// duration returns a duration in at most two units, as kubectl prints it.
func duration(d time.Duration) string { return screen.Short(d) }

// precise returns a duration that may be shorter than a second.
func precise(d time.Duration) string {
	if d == 0 {
		return none
	}
	return d.Round(time.Millisecond).String()
}

// length returns how long a row's attempt has run.
func length(r *table.Row, now time.Time) string {
	if r.Started.IsZero() {
		return none
	}
	return duration(r.Duration(now))
}

// iso returns a time for the attribute datetime.
func iso(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// clock returns a time as text, in UTC. The script shows it in the user's time zone as a tooltip.
func clock(at time.Time) string {
	if at.IsZero() {
		return none
	}
	return at.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// ago returns the time since or until a time.
func ago(at, now time.Time) string {
	if at.After(now) {
		return "in " + duration(at.Sub(now))
	}
	return duration(now.Sub(at)) + " ago"
}

// cpu returns a number of thousandths of a CPU in CPUs.
func cpu(millis int64) string {
	if millis == 0 {
		return none
	}
	return strconv.FormatFloat(float64(millis)/1000, 'f', -1, 64)
}

// size returns a number of bytes with a binary unit and three digits.
func size(n int64) string {
	if n == 0 {
		return none
	}

	value, unit := float64(n), 0
	for value >= 1000 && unit < 5 {
		value, unit = value/1024, unit+1
	}
	return strconv.FormatFloat(value, 'g', 3, 64) + " " + []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
}

func cost(nanos int64) string {
	if nanos == 0 {
		return none
	}
	return screen.Cost(nanos)
}

// executors returns the running and the wanted executors.
func executors(r *table.Row) string {
	switch {
	case r.ExecutorsRunning == 0 && r.ExecutorsWanted == 0:
		return none
	case r.ExecutorsWanted == 0:
		return fmt.Sprint(r.ExecutorsRunning)
	}
	return fmt.Sprintf("%d/%d", r.ExecutorsRunning, r.ExecutorsWanted)
}

func count[N ~int | ~int32 | ~int64](n N) string {
	if n == 0 {
		return none
	}
	return strconv.FormatInt(int64(n), 10)
}

// percent returns a share of a whole, at most 100.
func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return min(max(part, 0)*100/whole, 100)
}

// results are the results in the order of the filter.
var results = []kube.Result{kube.Running, kube.Pending, kube.Failed, kube.Succeeded, kube.Suspended}

// kindTitles are the names of the kinds for people.
var kindTitles = map[string]string{
	"app": "Application", "schedule": "Schedule", "connect": "Connect server", "apache-app": "Application (Apache)", "cluster": "Cluster",
}

func kindTitle(r *table.Row) string { return cmp.Or(kindTitles[r.Short()], r.Kind) }

// executorsTitle is the name of the number that the function executors returns.
func executorsTitle(r *table.Row) string {
	if r.Short() == kinds.SparkCluster.Name {
		return "Workers running/wanted"
	}
	return "Executors running/wanted"
}

// column is a column of the table. Its name is the order by which its header sorts. The first order is ascending if
// rises is true. The hint is a tooltip.
type column struct {
	name, title, class string
	rises              bool
	hint               string
}

var columns = []column{
	{"state", "State", "", false, "What needs attention is first"},
	{"name", "Name", "", true, ""},
	{"namespace", "Namespace", "wide", true, ""},
	{"kind", "Kind", "wide", true, ""},
	{"age", "Age", "n", true, "Since the object was created"},
	{"duration", "Duration", "n", false, "How long the current or last attempt has run"},
	{"executors", "Executors", "n", false, "Executors that run / that are wanted; of a cluster, its workers"},
	{"attempts", "Attempts", "n wide", false, ""},
	{"cpu", "CPU", "n", false, "CPUs that the pods request"},
	{"memory", "Memory", "n", false, "Memory that the pods request"},
	{"cost", "Cost", "n wide", false, "What the requests of all attempts have cost, by the operator's prices"},
	{"owner", "Owner", "wide", true, "The label owner or team of the object"},
}

// sortState returns the attribute aria-sort of a column.
func sortState(q table.Query, c column) string {
	switch {
	case cmp.Or(q.Sort, table.Sorts[0]) != c.name:
		return "none"
	case q.Descending != c.rises:
		return "ascending"
	}
	return "descending"
}

// headings are the headings of the lines of an explanation.
var headings = map[string]string{"why": "Why", "do": "What to do", "pod": "Pod", "cause": "Cause"}

// headed returns a line of an explanation as a heading and a text. If the line begins with the object's reason, the
// reason is the heading.
func headed(o *model.Object, line screen.Line) (heading, text string) {
	if message, found := strings.CutPrefix(line.Text, o.Reason+": "); found && line.Label == "why" {
		return o.Reason, message
	}
	return headings[line.Label], line.Text
}

// logPath returns the path of the page with the log of a pod.
func logPath(r *table.Row, p *model.Pod) string {
	return r.Path() + "/logs?" + url.Values{"pod": {p.Name}, "follow": {"true"}}.Encode()
}

// tab is a tab of the page of an object.
type tab struct{ path, title string }

// tabsOf returns the tabs of an object's page.
func tabsOf(r *table.Row) []tab {
	switch r.Short() {
	case "schedule":
		return []tab{{"", "Runs"}, {"manifest", "Manifest"}}
	case "cluster":
		return []tab{{"", "Overview"}, {"logs", "Logs"}, {"manifest", "Manifest"}}
	}
	return []tab{{"", "Overview"}, {"logs", "Logs"}, {"stages", "Stages"}, {"manifest", "Manifest"}, {"usage", "Usage"}}
}

func tabPath(r *table.Row, t tab) string {
	if t.path == "" {
		return r.Path()
	}
	return r.Path() + "/" + t.path
}
