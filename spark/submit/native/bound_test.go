package native_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// sizeAndRights returns the memory, the escalation and the number of host paths of a pod.
func sizeAndRights(pod *corev1.Pod, err error) string {
	if err != nil {
		return err.Error()
	}

	spark := pod.Spec.Containers[len(pod.Spec.Containers)-1]

	escalation := "open"
	if s := spark.SecurityContext; s != nil && s.AllowPrivilegeEscalation != nil {
		escalation = fmt.Sprint(*s.AllowPrivilegeEscalation)
	}

	hosts := 0
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].HostPath != nil {
			hosts++
		}
	}
	return fmt.Sprintf("%s, escalation %s, %d host paths", spark.Resources.Requests.Memory(), escalation, hosts)
}

// TestBound checks that the bound of an executor and of a driver does not depend on the declared version, although the
// pods themselves do: a user may declare another version than that of the image.
func TestBound(t *testing.T) {
	const template = `{"spec":{"containers":[{"name":"c","securityContext":{"allowPrivilegeEscalation":%s}}]}}`

	for name, c := range map[string]struct {
		settings []string // ROLE stands for the role
		template string
		want     map[string]string
	}{
		"nothing": {want: map[string]string{
			"3.5.8": "1408Mi, escalation open, 0 host paths", "4.3.0": "1408Mi, escalation false, 0 host paths",
			"bound": "1408Mi, escalation open, 0 host paths"}},
		"a high minimum": {settings: []string{"spark.ROLE.minMemoryOverhead", "3g"}, want: map[string]string{
			"3.5.8": "1408Mi, escalation open, 0 host paths", "4.3.0": "4Gi, escalation false, 0 host paths",
			"bound": "4Gi, escalation open, 0 host paths"}},
		"a low minimum": {settings: []string{"spark.ROLE.minMemoryOverhead", "1m"}, want: map[string]string{
			"3.5.8": "1408Mi, escalation open, 0 host paths", "4.3.0": "1126Mi, escalation false, 0 host paths",
			"bound": "1408Mi, escalation open, 0 host paths"}},
		"no escalation in the template": {template: fmt.Sprintf(template, "false"), want: map[string]string{
			"3.5.8": "1408Mi, escalation false, 0 host paths", "4.3.0": "1408Mi, escalation false, 0 host paths",
			"bound": "1408Mi, escalation false, 0 host paths"}},
		"escalation in the template": {template: fmt.Sprintf(template, "true"), want: map[string]string{
			"3.5.8": "1408Mi, escalation true, 0 host paths", "4.3.0": "1408Mi, escalation false, 0 host paths",
			"bound": "1408Mi, escalation true, 0 host paths"}},
		"escalation in the configuration": {template: fmt.Sprintf(template, "false"),
			settings: []string{"spark.kubernetes.ROLE.securityContext.allowPrivilegeEscalation", "true"}, want: map[string]string{
				"3.5.8": "1408Mi, escalation false, 0 host paths", "4.3.0": "1408Mi, escalation true, 0 host paths",
				"bound": "1408Mi, escalation true, 0 host paths"}},
		"an excluded step": {settings: []string{"spark.kubernetes.ROLE.volumes.hostPath.x.mount.path", "/x",
			"spark.kubernetes.ROLE.volumes.hostPath.x.options.path", "/",
			"spark.kubernetes.ROLE.pod.excludedFeatureSteps", draft.FeaturePackage + "MountVolumesFeatureStep"}, want: map[string]string{
			"3.5.8": "1408Mi, escalation open, 1 host paths", "4.3.0": "1408Mi, escalation false, 0 host paths",
			"bound": "1408Mi, escalation open, 1 host paths"}},
	} {
		for _, role := range []string{submit.RoleDriver, submit.RoleExecutor} {
			got := map[string]string{}

			for _, version := range []string{"3.5.8", "4.3.0"} {
				r := requestOf(role, version, c.template, c.settings...)

				pod, bound := native.Executor, native.Bound
				if role == submit.RoleDriver {
					pod = func(r submit.Request, _ int, _ types.UID) (*corev1.Pod, error) { return native.Driver(r) }
					bound = func(r submit.Request) (*corev1.Pod, error) { r.Bound = true; return native.Driver(r) }
				}

				got[version] = sizeAndRights(pod(r, 1, ""))
				if text := sizeAndRights(bound(r)); got["bound"] == "" || text != got["bound"] {
					got["bound"] += text
				}
			}

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s of the %s (-want +got):\n%s", name, role, diff)
			}
		}
	}
}

// requestOf returns a request with a pod template and settings of one role.
func requestOf(role, version, template string, settings ...string) submit.Request {
	var own []string
	for _, text := range settings {
		own = append(own, strings.ReplaceAll(text, "ROLE", role))
	}

	r := kit.With(own...)

	r.SparkVersion = version
	switch {
	case template == "":
	case role == submit.RoleDriver:
		r.DriverTemplate = []byte(template)
	default:
		r.ExecutorTemplate = []byte(template)
	}
	return r
}

// TestUnknownPods checks that a bound refuses settings that leave the pod unknown, whatever version is declared.
func TestUnknownPods(t *testing.T) {
	const (
		excluded  = "spark.kubernetes.executor.pod.excludedFeatureSteps"
		container = "spark.kubernetes.executor.podTemplateContainerName"
		unknown   = ": has a reference that only Spark can replace, so the pods are unknown; write the value"
	)

	for name, c := range map[string]struct {
		settings []string
		want     string
	}{
		"a step that sets resources":   {[]string{excluded, draft.FeaturePackage + "BasicExecutorFeatureStep"}, excluded + ": executors cannot run without BasicExecutorFeatureStep; remove it"},
		"its short name":               {[]string{excluded, "BasicExecutorFeatureStep"}, ""},
		"a reference for steps":        {[]string{excluded, "${env:S}"}, excluded + unknown},
		"a reference for a container":  {[]string{container, "${env:C}"}, container + unknown},
		"a reference to a known key":   {[]string{container, "${spark.c}", "spark.c", "c"}, ""},
		"the driver's, of its own pod": {[]string{"spark.kubernetes.driver.podTemplateContainerName", "c"}, ""},
	} {
		for _, version := range []string{"3.5.8", "4.3.0"} {
			got := ""
			if _, err := native.Bound(requestOf(submit.RoleExecutor, version, "", c.settings...)); err != nil {
				got = err.Error()
			}

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", name, version, diff)
			}
		}
	}
}
