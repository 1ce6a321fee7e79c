package statuswrite

import (
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// minorPaths are status fields. A minor transition (contract.ExecutorChurn.Minor) may change them and the fields in
// contract.ExecutorChurn.Fields.
var minorPaths = []string{"conditions", "operator.history", "operator.phase", "operator.since"}

// OnlyExecutorChurn reports whether executor churn is the only result of a pass: each transition is minor, no event is
// urgent, and the status patch changes only the kind's fields of executor churn. After a minor transition, the patch
// may also change the fields in minorPaths.
func OnlyExecutorChurn(churn contract.ExecutorChurn, plan lifecycle.Plan, patch []byte) bool {
	// A transition is stored at once, unless it is minor.
	major := func(t lifecycle.Transition) bool {
		return !slices.Contains(churn.Minor, contract.Transition{From: t.From, To: t.To})
	}
	// The next pass repeats a debounced event, because failed executors are remembered until they are stored.
	pressing := func(n lifecycle.Notice) bool {
		return !churn.DebounceEvents || n.Part != lifecycle.Executors || n.Waits
	}
	if len(churn.Fields) == 0 || slices.ContainsFunc(plan.Notices, pressing) || slices.ContainsFunc(plan.Transitions, major) {
		return false
	}

	paths := churn.Fields
	if len(plan.Transitions) > 0 {
		paths = slices.Concat(paths, minorPaths)
	}

	var change map[string]any
	if err := utiljson.Unmarshal(patch, &change); err != nil {
		return false
	}

	status, _ := change["status"].(map[string]any)
	return len(status) > 0 && within(status, "", paths)
}

// within reports whether a merge patch changes only fields at the given paths, such as "operator.executors".
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
