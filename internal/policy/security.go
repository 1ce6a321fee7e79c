package policy

import (
	"sync"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/sparkoperator/spark-operator/dialect"
)

// evaluator evaluates the Pod Security Standards.
var evaluator = sync.OnceValue(func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the library's own checks are valid
	}
	return e
})

// podSecurity checks a pod against a level of the Pod Security Standards, in their latest version.
func (r *refusals) podSecurity(pod *dialect.Pod) {
	level := r.set.podSecurity
	if level == "" || level == PodSecurityOff {
		return
	}
	version := api.LevelVersion{Level: api.Level(level), Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator().EvaluatePod(version, pod.Meta, pod.Spec))
	if !result.Allowed {
		r.add(pod.Field, "the pod of the "+pod.Role+", with "+result.ForbiddenDetail()+",", "podSecurity: "+level, "change these settings")
	}
}
