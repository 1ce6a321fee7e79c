package view

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/timeline"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// leastWidth is the least width of a segment in percent, so that a short phase can be seen.
const leastWidth = 0.4

func attemptBars(t timeline.Timeline, a timeline.Attempt) (bars []bar) {
	for _, s := range a.Segments {
		x, width := span(s.From, s.To, t.From, t.To)

		title := fmt.Sprintf("%s (%s), %s from %s", s.Activity, s.Phase, duration(s.To.Sub(s.From)), clock(s.From))
		if s.Reason != "" {
			title += ": " + s.Reason
		}

		width = max(width, leastWidth)
		bars = append(bars, bar{class: "a-" + string(s.Activity), x: percentage(min(x, 100-width)), width: percentage(width), title: title})
	}
	return bars
}

func attemptLabel(a timeline.Attempt) string {
	var parts []string
	for _, s := range a.Segments {
		parts = append(parts, string(s.Activity)+" for "+duration(s.To.Sub(s.From)))
	}
	return fmt.Sprintf("Attempt %d: %s", a.Number, strings.Join(parts, ", "))
}

// legend returns the activities of a timeline in the order in which they first occur, with their total times.
func legend(t timeline.Timeline) (entries []bar) {
	var order []timeline.Activity

	total := map[timeline.Activity]time.Duration{}
	for _, s := range t.Segments {
		if _, known := total[s.Activity]; !known {
			order = append(order, s.Activity)
		}

		total[s.Activity] += s.To.Sub(s.From)
	}

	for _, activity := range order {
		entries = append(entries, bar{class: string(activity), title: duration(total[activity])})
	}
	return entries
}

// ticks returns the texts of an axis of time: the start, the distances from it, and the end.
func ticks(from, to time.Time) []string {
	from, to = from.UTC(), to.UTC()
	whole := to.Sub(from)

	format := "15:04:05"
	if whole > 24*time.Hour {
		format = "2 Jan 15:04"
	}
	return []string{from.Format(format), "+" + duration(whole/4), "+" + duration(whole/2), "+" + duration(whole*3/4), to.Format(format) + " UTC"}
}

// plotHeight is the height of a plot in pixels, and plotTop the height of its largest value.
const (
	plotHeight = 120.0
	plotTop    = 8.0
)

func height(value, most float64) float64 {
	if most <= 0 {
		return plotHeight
	}
	return plotHeight - value/most*(plotHeight-plotTop)
}

// stepPath returns the path of the number of executors in a box of 1000 by plotHeight; closed for the area below it.
func stepPath(e model.Executors, closed bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M0 %.1f", plotHeight)

	for _, p := range e.Points {
		x, _ := span(p.At, p.At, e.From, e.To)
		fmt.Fprintf(&b, "H%.2fV%.1f", x*10, height(float64(p.N), float64(e.Most)))
	}

	b.WriteString("H1000")

	if closed {
		fmt.Fprintf(&b, "V%.1fZ", plotHeight)
	}
	return b.String()
}

func failureMarks(e model.Executors) (marks []bar) {
	for _, pod := range e.Failures {
		at := pod.Ended
		if at.IsZero() {
			at = pod.Created
		}

		x, _ := span(at, at, e.From, e.To)
		marks = append(marks, bar{x: percentage(min(max(x, 0.6), 99.4)), y: fmt.Sprint(plotHeight - 7), title: fmt.Sprintf("executor %s failed at %s: %s", pod.Executor, clock(at), pod.Reason)})
	}
	return marks
}

func executorLabel(e model.Executors) string {
	return fmt.Sprintf("At most %s at once, %d now. %s failed.", bounds.Count(e.Most, "executor"), e.Points[len(e.Points)-1].N, bounds.Count(len(e.Failures), "executor"))
}

// maxDots is the number of runs that a day of a calendar shows.
const maxDots = 12

func runTitle(r *model.Run) string {
	return fmt.Sprintf("%s: %s at %s", r.Name, r.Result, r.At().Format("15:04"))
}

func longest(runs []model.Run, now time.Time) (most time.Duration) {
	for _, r := range runs {
		most = max(most, r.Duration(now))
	}
	return most
}

// runBars returns a bar for each run, oldest first.
func runBars(runs []model.Run, now time.Time) (bars []bar) {
	most, width := longest(runs, now).Seconds(), 100/float64(len(runs))

	for i := range runs {
		r := &runs[len(runs)-1-i]

		y := min(height(r.Duration(now).Seconds(), most), plotHeight-3)
		bars = append(bars, bar{
			class: string(r.Result), x: percentage(float64(i)*width + width/10), y: fmt.Sprintf("%.1f", y), width: percentage(width * 0.8), height: fmt.Sprintf("%.1f", plotHeight-y),
			title: fmt.Sprintf("%s, %s", runTitle(r), duration(r.Duration(now))),
		})
	}
	return bars
}

// runChanges compares the results, times and usage of two runs.
func runChanges(c *model.Compared, now time.Time) []model.Change {
	row := func(name string, text func(*model.Run) string) model.Change {
		return model.Change{Name: name, Before: text(&c.A), After: text(&c.B)}
	}
	return []model.Change{
		row("Outcome", func(r *model.Run) string { return strings.TrimSpace(string(r.Result) + " " + r.Reason) }),
		row("Started", func(r *model.Run) string { return clock(r.Started) }),
		row("Duration", func(r *model.Run) string { return duration(r.Duration(now)) }),
		row("Attempts", func(r *model.Run) string { return count(r.Attempts) }),
		row("Most executors", func(r *model.Run) string { return count(r.Peak) }),
		row("Core-hours", func(r *model.Run) string { return screen.Hours(r.Usage.CPUMillicoreSeconds, 1000) }),
		row("GiB-hours", func(r *model.Run) string { return screen.Hours(r.Usage.MemoryMiBSeconds, 1024) }),
		row("Cost", func(r *model.Run) string { return cost(r.Usage.CostNanos) }),
		row("Image", func(r *model.Run) string { return r.Image }),
		row("Spark", func(r *model.Run) string { return r.Spark }),
	}
}

// logLines returns the lines of a log, each with its level as the class.
func logLines(text string) (lines []bar) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")

		class := ""
		for word, level := range map[string]string{" ERROR ": "error", " FATAL ": "error", " WARN ": "warn", "Exception": "error"} {
			if strings.Contains(line, word) && class != "error" {
				class = level
			}
		}

		lines = append(lines, bar{class: class, title: line + "\n"})
	}
	return lines
}

func schedulePath(r *table.Row) string {
	return table.ObjectPath(kinds.Schedule.FullName(), r.Namespace, r.ScheduledBy)
}

func actionPath(r *table.Row, a model.Action) string {
	return "/a/" + url.PathEscape(a.Name) + strings.TrimPrefix(r.Path(), "/o")
}

// failuresURL returns the address of the table with the failures of one reason.
func failuresURL(n *model.Namespace, f model.Count) string {
	reason := f.Text
	if reason == model.NoReason {
		reason = ""
	}
	return table.Query{Namespaces: []string{n.Name}, Results: []kube.Result{kube.Failed}, Text: "reason=" + reason}.URL()
}

func resultURL(n *model.Namespace, result kube.Result) string {
	return table.Query{Namespaces: []string{n.Name}, Results: []kube.Result{result}}.URL()
}
