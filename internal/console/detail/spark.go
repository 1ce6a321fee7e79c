package detail

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/podproxy"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
)

// maxListed bounds the lists of what Spark's REST API shows.
const maxListed = 500

// stages reads the stages of a running driver, and the tasks of the stage that the address names.
func (s *subject) stages() (model.Stages, error) {
	out := model.Stages{Fresh: table.Fresh{At: s.Now}}

	var (
		app     podproxy.App
		found   []screen.Stage
		missing = s.notRunning()
	)
	if missing == "" {
		app, found, missing = screen.ReadStages(s.ctx, s.Client, s.main())
	}

	out.Missing = bounds.Line(missing)

	for i := range found[:min(len(found), maxListed)] {
		stage := &found[i]

		shown := model.Stage{
			ID: stage.ID, Name: bounds.Line(stage.Name), Status: bounds.Line(stage.Status), Tasks: stage.Tasks, Active: stage.Active, Complete: stage.Complete, FailedTasks: stage.Failed,
			Duration: stage.Duration(s.Now), InputBytes: stage.Input, ShuffleRead: stage.ShuffleRead, ShuffleWrite: stage.ShuffleWrite, SpilledBytes: stage.Spilled,
			Attempt: stage.Attempt, Problem: bounds.Line(stage.Failure[:min(len(stage.Failure), maxText)]),
		}
		out.Stages = append(out.Stages, shown)
	}

	if len(found) > maxListed {
		s.missing = append(s.missing, "only the last "+bounds.Count(maxListed, "stage")+" are shown; the Spark UI shows all")
	}

	if name := s.FormValue("stage"); name != "" && missing == "" {
		out.Chosen = s.tasks(app, name, s.FormValue("status"))
	}
	return out, nil
}

// maxText is the largest number of bytes of a text of Spark that a page shows.
const maxText = 2000

// notRunning says why Spark shows nothing; empty if a driver, a server or a master runs.
func (s *subject) notRunning() string {
	switch summary := kube.Summarize(s.object); {
	case s.main() != nil:
		return ""
	case summary.Over():
		return "It has ended. The History Server shows its stages, if the application writes its event log (spark.eventLog.enabled)."
	}
	return "No driver runs now."
}

// job is a job as Spark's REST API describes it (org.apache.spark.status.api.v1.JobData).
type job struct {
	Submitted string   `json:"submissionTime"`
	Completed string   `json:"completionTime"`
	Group     string   `json:"jobGroup"`
	Tags      []string `json:"jobTags"`
}

// operation matches the tag of the jobs of a Connect session (org.apache.spark.sql.connect.service.ExecuteHolder).
var operation = regexp.MustCompile(`^SparkConnect_OperationTag_User_(.*)_Session_([0-9A-Za-z-]+)_Operation_([0-9A-Za-z-]+)$`)

// sessions returns the sessions of a Connect server. Spark's REST API has no list of them, but the jobs name their
// sessions. The second result says why there are none.
func (s *subject) sessions() (found []model.Session, missing string) {
	var jobs []job
	if missing = s.notRunning(); missing == "" {
		missing = podproxy.ReadPart(s.ctx, s.Client, s.main(), "jobs", &jobs)
	}

	if missing != "" {
		return nil, bounds.Line(missing)
	}

	queries := map[string]map[string]bool{}
	for _, j := range jobs {
		m := j.operation()
		if m == nil {
			continue
		}

		at := slices.IndexFunc(found, func(other model.Session) bool { return other.ID == m[2] })
		if at < 0 {
			at = len(found)
			found = append(found, model.Session{ID: bounds.Line(m[2]), User: bounds.Line(m[1])})
			queries[m[2]] = map[string]bool{}
		}

		if began := podproxy.Time(j.Submitted); found[at].Started.IsZero() || began.Before(found[at].Started) {
			found[at].Started = began
		}

		queries[m[2]][m[3]] = true
		found[at].Queries = len(queries[m[2]])
	}

	slices.SortStableFunc(found, func(a, b model.Session) int { return b.Started.Compare(a.Started) })

	if len(found) == 0 {
		return nil, "Spark's REST API shows a session from its first job; the Spark UI shows all sessions on its page Connect."
	}
	return found[:min(len(found), maxListed)], ""
}

// operation returns the user, the session and the operation of a job of a Connect session; nil for other jobs.
func (j *job) operation() []string {
	for _, tag := range append(j.Tags, j.Group) {
		if m := operation.FindStringSubmatch(tag); m != nil {
			return m
		}
	}
	return nil
}

// masterState is what the REST API of a master answers (org.apache.spark.deploy.JsonProtocol).
type masterState struct {
	Active    []masterApplication `json:"activeapps"`
	Completed []masterApplication `json:"completedapps"`
}

type masterApplication struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	User    string `json:"user"`
	State   string `json:"state"`
	Cores   int    `json:"cores"`
	Started int64  `json:"starttime"` // in ms
}

// applications returns the applications that the master of a cluster shows, those that run first. The second result
// says why there are none.
func (s *subject) applications() (found []model.ClusterApplication, missing string) {
	if missing := s.notRunning(); missing != "" {
		return nil, missing
	}

	var state masterState

	text, err := podproxy.Read(s.ctx, s.Client, s.main(), podproxy.UIPort(s.main()), &url.URL{Path: "/json/"})
	if err == nil {
		err = utiljson.Unmarshal(text, &state)
	}

	if err != nil {
		return nil, bounds.Line("The master's REST API does not answer through the API server: " + s.Explain(err).Error())
	}

	for _, a := range slices.Concat(state.Active, state.Completed) {
		found = append(found, model.ClusterApplication{
			ID: bounds.Line(a.ID), Name: bounds.Line(a.Name), User: bounds.Line(a.User), State: bounds.Line(cmp.Or(a.State, "UNKNOWN")), Cores: a.Cores, Started: time.UnixMilli(a.Started).UTC(),
		})
	}

	if len(found) == 0 {
		return nil, "No application has connected to the cluster."
	}
	return found[:min(len(found), maxListed)], ""
}
