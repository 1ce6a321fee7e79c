package runs

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Kind is a kind whose dependents are applications, which are its runs. Each run is a custom resource of another kind.
// A kind with runs has no pods and no other objects of its own. The methods read only their arguments and the
// configuration at the start of the operator.
//
// A run belongs to an owner if its owner references contain the owner's UID, whatever labels the run has. The name of a
// run depends only on its purpose. If a pass tries to create the same run again, it finds the existing run.
type Kind interface {
	// NewRun returns an empty run, and NewRunList returns an empty list of runs.
	NewRun() client.Object
	NewRunList() client.ObjectList
	// RunFacts returns what decisions need to know about a run. A change of a run triggers a pass only if it changes
	// these facts.
	RunFacts(run client.Object) lifecycle.Run
	// RunSummary returns a copy of a run that has only its metadata and the fields that RunFacts reads. It leaves out
	// everything that a tenant can make large.
	RunSummary(run client.Object) client.Object
	// RenderRun returns the run that a Create action creates. An error is a fault of the user: no run of this spec can
	// be created.
	RenderRun(object client.Object, action lifecycle.Action) (client.Object, error)
	// RunLabels returns the labels of all runs of an owner. Live lists of runs select by these labels.
	RunLabels(object client.Object) map[string]string
	// RunPodLabel returns the label with which the pods of a run name the owner of the run. If it is empty, the pods of
	// a run whose object is deleted do not lead to the owner.
	RunPodLabel() string
	// RunDue returns when a run was due, according to the object as it was stored before the run started. It returns
	// zero for a run that somebody requested, because such a run has no due time.
	RunDue(object, run client.Object) time.Time
	// RunResult returns the result of a run that a notice reports, as metrics count it (schedule.ResultSkipped...). It
	// is empty for other notices.
	RunResult(notice lifecycle.Notice) string
}
