package policy

import (
	"cmp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// evaluator evaluates the Pod Security Standards.
var evaluator = sync.OnceValue(func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the library's own checks are valid
	}
	return e
})

// oldestServer is the oldest supported version of Kubernetes.
var oldestServer = api.MajorMinorVersion(1, 30)

// ServerVersion reads the version of an API server. The result is the zero value if the text is not a version.
func ServerVersion(info version.Info) api.Version {
	digits := func(texts ...string) string { return strings.TrimRight(cmp.Or(texts...), "+") } // some vendors write 33+

	found, err := api.ParseVersion("v" + digits(info.EmulationMajor, info.Major) + "." + digits(info.EmulationMinor, info.Minor))
	if err != nil {
		return api.Version{}
	}
	return found
}

// evaluated is a pod that was evaluated for a level.
type evaluated struct {
	spec  *corev1.PodSpec
	level string
}

// podSecurity checks a pod against a level of the Pod Security Standards. It evaluates a pod once for all sets of rules
// with the same level.
func (r *refusals) podSecurity(pod *dialect.Pod) {
	level := r.set.podSecurity
	if level == "" || level == podSecurityOff {
		return
	}

	key := evaluated{pod.Spec, level}

	detail, known := r.forbidden[key]
	if !known {
		detail = r.forbiddenBy(api.Level(level), pod)
		if r.forbidden == nil {
			r.forbidden = map[evaluated]string{}
		}

		r.forbidden[key] = detail
	}

	if detail != "" {
		r.add(pod.Field, "the pod of the "+pod.Role+", with "+detail+",", "podSecurity: "+level, "change these settings")
	}
}

// forbiddenBy returns what a level of the standards forbids about a pod, in the version of the API server. Newer
// versions of the standards are not always stricter: from 1.35 on, hostUsers: false allows a pod to run as root.
func (r *refusals) forbiddenBy(level api.Level, pod *dialect.Pod) string {
	versions := []api.Version{r.server}
	if r.server == (api.Version{}) {
		versions = []api.Version{oldestServer, api.LatestVersion()}
	}

	for _, version := range versions {
		if result := policy.AggregateCheckResults(evaluator().EvaluatePod(api.LevelVersion{Level: level, Version: version}, pod.Meta, pod.Spec)); !result.Allowed {
			return result.ForbiddenDetail()
		}
	}
	return ""
}
