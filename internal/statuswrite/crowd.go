package statuswrite

import (
	"encoding/json"
	"slices"

	"github.com/sparkoperator/spark-operator/internal/kind"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// minorPaths is what a minor transition changes of a status besides the crowd's.
var minorPaths = []string{"conditions", "operator.history", "operator.phase", "operator.since"}

// OfTheCrowd reports whether a pass that does nothing else has nothing to store but what its executors are at, and nothing else to tell.
func OfTheCrowd(crowd kind.Crowd, plan lifecycle.Plan, patch []byte) bool {
	// A transition is stored at once, unless it is minor.
	major := func(t lifecycle.Transition) bool { return crowd.Minor == nil || !crowd.Minor(t) }
	// What a pass tells that is put off, the next tells: executors that failed are remembered until they are stored.
	pressing := func(n lifecycle.Notice) bool { return !crowd.News || n.Part != lifecycle.Executors || n.Waits }
	if len(crowd.Fields) == 0 || slices.ContainsFunc(plan.Tell, pressing) || slices.ContainsFunc(plan.Trail, major) {
		return false
	}
	paths := crowd.Fields
	if len(plan.Trail) > 0 {
		paths = slices.Concat(paths, minorPaths)
	}
	var change map[string]any
	if err := json.Unmarshal(patch, &change); err != nil {
		return false
	}
	status, _ := change["status"].(map[string]any)
	return len(status) > 0 && within(status, "", paths)
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
