package report

import (
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// told is a figure that others have published of another operator, or that was taken of one on such a machine as the bench's.
type told struct {
	who, what, setup string
	// here is the identity of our own figure that comes nearest to it; times makes its unit that of the other.
	here  string
	times float64
	unit  string
}

// id is the identity of one of our figures.
func id(scenario, in, name string) string {
	return figure.Figure{Scenario: scenario, Case: in, Name: name}.ID()
}

// published are what others said of their operators, with what they ran on. The machines have nothing to do with each other.
var published = []told{
	{who: "kubeflow operator 2.1.0", what: "130 applications a minute with 10 workers, 140 to 155 with 20",
		setup: "the project's own benchmark of March 2025: EKS 1.31, a controller with 36 processors to itself (25 and 35 of them used, 3.5 and 6.5 GB), 200 nodes; 6,000 applications of a driver and five executors",
		here:  id(figure.Lives, figure.Operator, figure.Rate), times: 60, unit: "applications a minute"},
	{who: "kubeflow operator 2.1.0", what: "the state that is shown lags up to 30 minutes; the last drivers start after about an hour",
		setup: "the same",
		here:  id(figure.Lives, figure.Operator, figure.DriverLag99), times: 1, unit: "s (p99, at full rate)"},
	{who: "kubeflow operator 1.x", what: "130 s from application to driver pod with 500 at once, up to 20 minutes with 1,200",
		setup: "a user's, in the project's issue 1990 of April 2024; processors idle meanwhile",
		here:  id(figure.Fairness, figure.Beside, figure.UntilFirst), times: 1, unit: "s until 1,200 of 5,000 at once have theirs (drivers only)"},
	{who: "a port of spark-submit to Go at Salesforce", what: "300 to 380 applications a minute, after 80 with the JVM",
		setup: "told in the kubeflow operator's issue 1574 of August 2023, without what it ran on",
		here:  id(figure.Lives, figure.Operator, figure.Rate), times: 60, unit: "applications a minute"},
	{who: "EMR on EKS's operator, of kubeflow's", what: "20 to 30 applications a minute for one operator",
		setup: "its guide of December 2024: EKS 1.30, ten executors an application",
		here:  id(figure.Lives, figure.Operator, figure.Rate), times: 60, unit: "applications a minute"},
	{who: "operator of spark.apache.org", what: "1,000 driver-only applications in 340 s, deleted in 401 s",
		setup: "a measurement in the project's issue 273 of July 2025, machine not told",
		here:  id(figure.Deletion, figure.Applications, figure.UntilGone), times: 1, unit: "s to delete 1,000"},
}

// alike were taken on two cores that were shared with etcd and the API server, as ours are, but in other runs: each operator at its default branch of a day.
var alike = []told{
	{who: "kubeflow operator, default branch of 2026-08-21, 10 workers", what: "141 s until the last of 20 driver pods", setup: "20 applications at once, on a control plane alone",
		here: id(figure.Burst, "", figure.Launch99), times: 1, unit: "s (p99 of a burst)"},
	{who: "the same", what: "11,900 ms of CPU an application, 2.7 GB resident at most", setup: "the same",
		here: id(figure.Burst, "", figure.CPU), times: 1, unit: "ms"},
	{who: "operator of spark.apache.org, default branch of 2026-08-18, JVM warm", what: "15 to 23 submissions a second", setup: "200 driver-only applications at once",
		here: id(figure.Burst, "", figure.Launches), times: 1, unit: "driver pods a second"},
	{who: "the same", what: "37 to 50 ms of CPU an application (86 to 139 with a fresh JVM)", setup: "the same",
		here: id(figure.Burst, "", figure.CPU), times: 1, unit: "ms"},
	{who: "the same", what: "1.8 GB resident as its chart starts it, 375 MB without touching the heap first", setup: "the same",
		here: id(figure.Burst, "", figure.Peak), times: 1, unit: "MB"},
	{who: "the same", what: "122 s to delete 200 applications", setup: "the same",
		here: id(figure.Deletion, figure.Applications, figure.UntilGone), times: 1, unit: "s to delete 1,000"},
}

// ours is the figure of this run that comes nearest.
func (t told) ours(run *figure.Run) string {
	f, found := run.Value(t.here)
	if !found {
		return "not in this run"
	}
	return figure.Format(f.Value*t.times, t.unit)
}

// peers writes what others have told, with ours beside it.
func peers(text *strings.Builder, run *figure.Run) {
	text.WriteString("## Beside other operators\n\n" +
		"Figures of others were taken on other machines, by other people, of other loads: none of the first table can be divided by ours. They show of what order\n" +
		"the differences are. Their nodes were real ones that started containers, where they are not told of otherwise; ours are simulated. Nobody has published a figure of the kubeflow operator after 2.1.0, nor one of the operator of spark.apache.org with executors.\n\n")
	toldTable(text, run, published)
	text.WriteString("Taken on two cores that were shared with etcd and the API server, as here, but not in the same run:\n\n")
	toldTable(text, run, alike)
}

func toldTable(text *strings.Builder, run *figure.Run, all []told) {
	markdownRow(text, []string{"whose", "what was told", "on what", "here"})
	markdownRow(text, []string{"---", "---", "---", "---"})
	for _, t := range all {
		markdownRow(text, []string{t.who, t.what, t.setup, t.ours(run)})
	}
	text.WriteString("\n")
}
