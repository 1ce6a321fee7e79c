package model

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/console/table"
)

// Namespaces is the page of the namespaces.
type Namespaces struct {
	Namespaces []Namespace `json:"namespaces"`
	Fresh      table.Fresh `json:"fresh"`
	// Loading is true while a list is read for the first time; then there are no namespaces yet.
	Loading bool     `json:"loading,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Namespace is what the applications of a namespace use.
type Namespace struct {
	Name   string              `json:"name"`
	Counts map[kube.Result]int `json:"counts"`
	// CPUMillis and MemoryBytes are the requests of the pods of Spark that run.
	CPUMillis   int64 `json:"cpuMillis"`
	MemoryBytes int64 `json:"memoryBytes"`
	// CPU and Memory are the quotas of the namespace, with what all of its pods request; zero without a quota.
	CPU    Share  `json:"cpu,omitzero"`
	Memory Share  `json:"memory,omitzero"`
	Queue  string `json:"queue,omitempty"`
	// Top are the objects that request the most CPU, the largest first.
	Top []table.Row `json:"top,omitempty"`
	// Failures counts the failed objects by cause, the most frequent first.
	Failures []Count `json:"failures,omitempty"`
}

// Share is what is used of a limit.
type Share struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// Count is a number of objects with the same text.
type Count struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

// maxTop is the number of top consumers and of causes that the page of a namespace shows.
const maxTop = 5

// NoReason stands for the reason of failures that have none, such as those in a status that another operator wrote.
const NoReason = "Unknown"

// NamespacesOf returns the namespaces of the rows, by name. It knows neither quotas nor queues.
func NamespacesOf(rows []*table.Row) (out []Namespace) {
	byName := map[string][]*table.Row{}
	for _, row := range rows {
		byName[row.Namespace] = append(byName[row.Namespace], row)
	}

	for name, rows := range byName {
		n := Namespace{Name: name, Counts: map[kube.Result]int{}}
		failures := map[string]int{}

		slices.SortFunc(rows, table.Query{Sort: "cpu"}.Order(time.Time{}))

		for _, row := range rows {
			n.CPUMillis += row.CPUMillis
			n.MemoryBytes += row.MemoryBytes

			n.Counts[row.Result]++

			if row.Result == kube.Failed {
				failures[cmp.Or(row.Reason, NoReason)]++
			}

			if row.CPUMillis > 0 && len(n.Top) < maxTop {
				n.Top = append(n.Top, *row)
			}
		}

		for text, count := range failures {
			n.Failures = append(n.Failures, Count{text, count})
		}

		slices.SortFunc(n.Failures, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Text, b.Text)) })
		n.Failures = n.Failures[:min(len(n.Failures), maxTop)]
		out = append(out, n)
	}

	slices.SortFunc(out, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Doctor is the page of the installation.
type Doctor struct {
	Findings []findings.Finding `json:"findings"`
	Fresh    table.Fresh        `json:"fresh"`
	// Loading is true while the checks run.
	Loading bool `json:"loading,omitempty"`
	// Problem says why the checks cannot run.
	Problem string `json:"problem,omitempty"`
}

// Levels are the levels of findings, the most serious first.
var Levels = []findings.Level{findings.Error, findings.Warning, findings.Unknown, findings.Note, findings.OK}

// Of returns the findings of a level.
func (d *Doctor) Of(level findings.Level) (out []findings.Finding) {
	for _, f := range d.Findings {
		if f.Level == level {
			out = append(out, f)
		}
	}
	return out
}

// SignIn is the page on which a user signs in.
type SignIn struct {
	// Problem says why the last try failed.
	Problem string
	// Return is the path to which a successful sign-in leads.
	Return string
	// Local is true if sparkctl console serves the page: then only its link signs in.
	Local bool
	// Proxy is true if an authenticating proxy signs users in.
	Proxy bool
}

// Problem is a page about an error.
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Why    string `json:"why"`
	Do     string `json:"do,omitempty"`
}

// Submit is the page on which a user submits an application.
type Submit struct {
	Namespaces []string `json:"namespaces,omitempty"`
	Namespace  string   `json:"namespace"`
	// Mode is form, manifest or line.
	Mode string `json:"mode"`
	Form Form   `json:"form"`
	// Text is the pasted manifest, or the spark-submit command line.
	Text   string `json:"text,omitempty"`
	Checks Checks `json:"checks"`
	// Request identifies the request of the form.
	Request string `json:"request"`
}

// Form has the fields of the form for a submission.
type Form struct {
	Name           string `json:"name,omitempty"`
	File           string `json:"file,omitempty"`
	Class          string `json:"class,omitempty"`
	Arguments      string `json:"arguments,omitempty"`
	Image          string `json:"image,omitempty"`
	SparkVersion   string `json:"sparkVersion,omitempty"`
	Account        string `json:"account,omitempty"`
	DriverCores    string `json:"driverCores,omitempty"`
	DriverMemory   string `json:"driverMemory,omitempty"`
	Executors      string `json:"executors,omitempty"`
	ExecutorCores  string `json:"executorCores,omitempty"`
	ExecutorMemory string `json:"executorMemory,omitempty"`
	Conf           string `json:"conf,omitempty"` // key=value, one a line
}

// Checks is what the check of a submission found.
type Checks struct {
	// Checked is false before there is anything to check.
	Checked  bool              `json:"checked"`
	Findings []preview.Finding `json:"findings,omitempty"`
	Manifest string            `json:"manifest,omitempty"`
	Command  string            `json:"command,omitempty"` // that submits the same
	// Problem says why the submission was refused.
	Problem string `json:"problem,omitempty"`
}

// Errors returns the number of findings for which the submission would be rejected.
func (c *Checks) Errors() (n int) {
	for _, f := range c.Findings {
		if f.Severity == preview.Error {
			n++
		}
	}
	return n
}

// Dialog asks the user to confirm an action. It shows the commands that do the same.
type Dialog struct {
	Action   string   `json:"action"`
	Title    string   `json:"title"`
	Object   string   `json:"object"`
	Path     string   `json:"path"` // of the object's page
	Post     string   `json:"post"` // where the form is sent
	Commands []string `json:"commands"`
	// Effect says what will happen.
	Effect string `json:"effect,omitempty"`
	Danger bool   `json:"danger,omitempty"`
	// Input is a value that the action needs; nil if it needs none.
	Input *Input `json:"input,omitempty"`
	// Confirm is the text that the user has to type; empty if nothing has to be typed.
	Confirm string `json:"confirm,omitempty"`
	// Problem says why the action failed.
	Problem string `json:"problem,omitempty"`
	// UID and Generation are those of the object that the dialog is about. Request identifies the request of the form.
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
	Request    string    `json:"request"`
}

// Input is a value that an action needs.
type Input struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Value string `json:"value"`
	Type  string `json:"type"` // of the HTML input, such as number
	Least int    `json:"min"`
}
