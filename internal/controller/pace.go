package controller

import (
	"encoding/json"
	"slices"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// minorPaths is what a minor transition changes of a status besides the crowd's.
var minorPaths = []string{"conditions", "operator.history", "operator.phase", "operator.since"}

// ofTheCrowd reports whether a pass has nothing to store but what its executors are at, and nothing else to tell. Whatever else there is takes that along
// at once.
func (r *Reconciler) ofTheCrowd(p *pass, patch []byte) bool {
	if len(r.kind.Crowd.Fields) == 0 || len(p.told)+len(p.warnings)+len(p.made) > 0 || p.hindered != nil ||
		slices.ContainsFunc(p.plan.Tell, r.pressing) || slices.ContainsFunc(p.plan.Trail, r.major) {
		return false
	}
	paths := r.kind.Crowd.Fields
	if len(p.plan.Trail) > 0 {
		paths = slices.Concat(paths, minorPaths)
	}
	var change map[string]any
	if err := json.Unmarshal(patch, &change); err != nil {
		return false
	}
	status, _ := change["status"].(map[string]any)
	return len(status) > 0 && within(status, "", paths)
}

// major reports whether a transition is stored at once.
func (r *Reconciler) major(t lifecycle.Transition) bool {
	return r.kind.Crowd.Minor == nil || !r.kind.Crowd.Minor(t)
}

// pressing reports whether something is to be told at once. What a pass tells that is put off, the next tells: of executors that failed none is lost
// meanwhile (ends).
func (r *Reconciler) pressing(n lifecycle.Notice) bool {
	return !r.kind.Crowd.News || n.Part != lifecycle.Executors || n.Waits
}

// within reports whether a merge patch changes nothing but what lies at the paths, such as "operator.executors".
func within(patch map[string]any, at string, paths []string) bool {
	for key, value := range patch {
		path := at + key
		if slices.Contains(paths, path) {
			continue
		}
		if inner, ok := value.(map[string]any); !ok || len(inner) == 0 || !within(inner, path+".", paths) {
			return false
		}
	}
	return true
}
