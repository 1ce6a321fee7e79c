package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/startup"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// MaxLines is the largest number of lines of the screen of the verb status.
const MaxLines = 40

// maxText is the largest number of characters of a text of others on the screen. The verb events and the formats JSON
// and YAML have the whole text.
const maxText = 240

// View is how a screen is shown.
type View struct {
	Zone
	Width int // of the terminal, or 0
	Lines int // the largest number of lines
	Now   time.Time
}

// lastEvents is the largest number of Events on the screen.
const lastEvents = 5

// section is a part of the screen with a heading. If the screen is full, entries are left out at its beginning or, if
// first is true, at its end. Sections leave out entries in excess of keep before others.
type section struct {
	name, columns string // columns is the line with the headers of a table
	entries       []string
	keep          int
	first         bool
	all           int // entries before some were left out
}

// drop leaves out one more entry.
func (s *section) drop() {
	if s.first {
		s.entries = s.entries[:len(s.entries)-1]
	} else {
		s.entries = s.entries[1:]
	}
}

// Status returns the text that the verb status prints.
func Status(r *Report, v View) string {
	head := v.heading(r)
	sections := []section{
		{name: "log of the container that ended", entries: v.log(r.Log), keep: 8}, {name: "phases", entries: v.phases(r), keep: 6},
		v.pods(r.Pods), {name: "conditions", entries: v.conditions(r), keep: 4, first: true},
		{name: "events", entries: v.events(r), keep: 1, all: len(r.Events)},
	}

	sections = slices.DeleteFunc(sections, func(s section) bool { return len(s.entries) == 0 })
	for i := range sections {
		s := &sections[i]

		s.all = max(s.all, len(s.entries))
		for v.Lines > 0 && len(s.entries) > v.Lines {
			s.drop()
		}
	}

	text := v.join(head, sections)
	for v.Lines > 0 && v.rows(text) > v.Lines && len(sections) > 0 {
		fullest := 0
		for i, s := range sections {
			if len(s.entries)-s.keep >= len(sections[fullest].entries)-sections[fullest].keep {
				fullest = i
			}
		}

		if s := &sections[fullest]; len(s.entries) > 1 {
			s.drop()
		} else {
			sections = slices.Delete(sections, fullest, fullest+1)
		}

		text = v.join(head, sections)
	}

	for v.Lines > 0 && v.rows(text) > v.Lines {
		text = text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1]
	}
	return text
}

func (v View) join(text string, sections []section) string {
	for _, s := range sections {
		text += "\n" + s.name
		if n := len(s.entries); n < s.all {
			text += fmt.Sprintf(" (%d of %d)", n, s.all)
		}

		text += ":\n" + s.columns + strings.Join(s.entries, "\n") + "\n"
	}
	return text
}

// rows returns the number of lines that a text takes on the terminal, which breaks a line that is too long for it.
func (v View) rows(text string) (n int) {
	for line := range strings.Lines(text) {
		n++
		if v.Width > 0 {
			n += max(utf8.RuneCountInString(line)-2, 0) / v.Width
		}
	}
	return n
}

// heading returns the first part of the screen, which has the facts about the object as a whole.
func (v View) heading(r *Report) string {
	var b strings.Builder
	field := func(name, text string) {
		if text != "" {
			b.WriteString(terminal.Wrap(fmt.Sprintf("%-11s", name+":"), short(text), v.Width) + "\n")
		}
	}
	at := func(t time.Time, before, after string) string {
		if t.IsZero() {
			return ""
		}
		return v.Time(t) + before + Short(v.Now.Sub(t).Abs()) + after
	}

	field("name", r.Namespace+"/"+r.Name)
	field("kind", r.TypeMeta.Kind+" of "+r.APIVersion)

	state := r.State + " (" + string(r.Result) + ")"
	if !r.Observed && !r.Held {
		state += ", the operator has not handled the last change yet"
	}

	field("state", state)

	if r.Message != "" {
		field("why", strings.TrimPrefix(r.Reason+": "+r.Message, ": "))
		field("do", r.Advice)
	}

	if r.Attempt > 0 {
		field("attempt", fmt.Sprint(r.Attempt))
	}

	field("created", at(r.Created, ", ", " ago"))
	field("started", at(r.Started, ", ", " ago"))
	field("ended", at(r.Ended, ", ", " ago"))

	if !r.Started.IsZero() {
		field("duration", fmt.Sprintf("%s, in total %s", inSeconds(r.DurationSeconds), inSeconds(r.TotalSeconds)))
	}

	if r.Next.After(v.Now) {
		field("next run", at(r.Next, ", in ", ""))
	}

	field("detail", r.Detail)
	field("executors", executors(r))

	if sum := r.Requested; sum != nil {
		field("requested", fmt.Sprintf("%s CPU, %s memory, by %s", sum.CPU.String(), sum.Memory.String(), bounds.Count(sum.Pods, "pod")))
	}

	if r.Result != kube.Failed { // the screen of a failure needs the line for the log
		field("start", start(r))
	}

	field("used", v.used(r))
	return b.String()
}

// start returns how long the parts of the start of an attempt took.
func start(r *Report) string {
	var parts []string
	for _, step := range startup.Steps(&r.Summary, r.SparkStart) {
		parts = append(parts, step.Name+" "+Short(step.Duration()))
	}
	return strings.Join(parts, ", ")
}

// used returns what the pods have requested so far, multiplied by time, and how long the attempts have waited.
func (v View) used(r *Report) string {
	if r.Usage == nil {
		return ""
	}

	sums := r.Used(v.Now)

	var text strings.Builder
	fmt.Fprintf(&text, "%s core-hours, %s GiB-hours", Hours(sums.CPUMillicoreSeconds, 1000), Hours(sums.MemoryMiBSeconds, 1024))

	if sums.GPUSeconds > 0 {
		fmt.Fprintf(&text, ", %s GPU-hours", Hours(sums.GPUSeconds, 1))
	}

	if sums.CostNanos > 0 {
		text.WriteString(", cost " + Cost(sums.CostNanos))
	}

	if r.Usage.PeakExecutors > 0 {
		pods := "executor"
		if r.Usage.Attempt == 0 { // all pods of a SparkCluster
			pods = "pod"
		}

		text.WriteString(", at most " + bounds.Count(int(r.Usage.PeakExecutors), pods) + " at once")
	}

	for _, wait := range []struct {
		seconds int64
		cause   string
	}{
		{r.Usage.Pending.UnschedulableSeconds, "a node"}, {r.Usage.Pending.ImagePullSeconds, "an image"}, {r.Usage.Pending.QuotaSeconds, "quota"}, {r.Usage.Pending.QueueSeconds, "a queue"},
	} {
		if wait.seconds > 0 {
			fmt.Fprintf(&text, ", waited %s for %s", inSeconds(wait.seconds), wait.cause)
		}
	}
	return text.String()
}

// executors returns the numbers of executors. Only a lost node leaves executors whose phase is unknown.
func executors(r *Report) string {
	e := r.Executors
	if e == nil {
		return ""
	}

	text := fmt.Sprintf("%d running, %d pending, %d completed, %d failed", e.Running, e.Pending, e.Completed, e.Failed)
	if e.Unknown > 0 {
		text += fmt.Sprintf(", %d unknown", e.Unknown)
	}
	return text
}

func inSeconds(n int64) string { return Short(time.Duration(n) * time.Second) }

// short cuts a text of others to the size that the screen has for it.
func short(text string) string {
	if letters := []rune(text); len(letters) > maxText {
		return string(letters[:maxText-2]) + ".."
	}
	return text
}

func (v View) log(text string) (entries []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = short(line); line != "" {
			entries = append(entries, terminal.Wrap("  ", line, v.Width))
		}
	}
	return entries
}

// phases returns the phases of an object with their durations.
func (v View) phases(r *Report) (entries []string) {
	for i, entry := range r.History {
		if entry.At == nil {
			continue
		}

		until := v.Now
		if i+1 < len(r.History) && r.History[i+1].At != nil {
			until = r.History[i+1].At.Time
		}

		text := fmt.Sprintf("%-10s %-8s attempt %d", entry.Phase, Short(until.Sub(entry.At.Time)), entry.Attempt)
		if entry.Reason != "" {
			text += ", " + entry.Reason
		}

		entries = append(entries, terminal.Wrap("  "+v.Time(entry.At.Time)+"  ", text, v.Width))
	}
	return entries
}

// pods returns a table of the pods.
func (v View) pods(pods []Pod) section {
	table := terminal.Table{Columns: []terminal.Column{
		{Header: "  POD"}, {Header: "PHASE"}, {Header: "ROLE", Drop: 2}, {Header: "RESTARTS", Drop: 3}, {Header: "NODE", Drop: 4}, {Header: "AGE", Drop: 1},
	}}
	for _, pod := range pods[:min(len(pods), MaxLines)] {
		age := Short(v.Now.Sub(pod.Created.Time))
		table.Rows = append(table.Rows, []string{"  " + pod.Name, pod.Phase, pod.Role, fmt.Sprint(pod.Restarts), pod.Node, age})
	}

	lines := strings.SplitAfter(strings.TrimSuffix(table.String(v.Width), "\n"), "\n")
	for i := range lines[1:] {
		lines[i+1] = strings.TrimSuffix(lines[i+1], "\n")
	}
	return section{name: "pods", columns: lines[0], entries: lines[1:], keep: 4, first: true, all: len(pods)}
}

// conditions returns the conditions without messages that the screen already has.
func (v View) conditions(r *Report) (entries []string) {
	said := []string{r.Message}
	for _, condition := range r.Conditions {
		text := string(condition.Status) + ", " + condition.Reason
		if condition.Message != "" && !slices.Contains(said, condition.Message) {
			text += ": " + condition.Message
			said = append(said, condition.Message)
		}

		entries = append(entries, terminal.Wrap(fmt.Sprintf("  %-14s ", condition.Type), short(text), v.Width))
	}
	return entries
}

// events returns the last Events. An Event that repeats the cause has only its reason.
func (v View) events(r *Report) (entries []string) {
	for _, event := range r.Events[max(len(r.Events)-lastEvents, 0):] {
		if r.Message != "" && strings.Contains(event.Message, r.Message) {
			event.Message = ""
		}

		event.Message = short(event.Message)
		entries = append(entries, EventLine(&event, v))
	}
	return entries
}
