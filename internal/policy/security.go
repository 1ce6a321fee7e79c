package policy

import (
	"cmp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"
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

// podSecurity checks a pod against a level of the Pod Security Standards, in the version of the API server. Newer
// versions of the standards are not always stricter: from 1.35 on, hostUsers: false allows a pod to run as root.
func (r *refusals) podSecurity(pod *dialect.Pod) {
	level := r.set.podSecurity
	if level == "" || level == PodSecurityOff {
		return
	}
	versions := []api.Version{r.server}
	if r.server == (api.Version{}) {
		versions = []api.Version{oldestServer, api.LatestVersion()}
	}
	for _, version := range versions {
		result := policy.AggregateCheckResults(evaluator().EvaluatePod(api.LevelVersion{Level: api.Level(level), Version: version}, pod.Meta, pod.Spec))
		if !result.Allowed {
			r.add(pod.Field, "the pod of the "+pod.Role+", with "+result.ForbiddenDetail()+",", "podSecurity: "+level, "change these settings")
			return
		}
	}
}
