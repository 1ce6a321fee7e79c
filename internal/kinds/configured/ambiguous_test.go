package configured_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestNamesThatDifferOnlyInCase checks pod templates of executors and workers in which a name occurs in two cases. The
// executors' pods were decoded without regard to case, so that the rules saw the values under the second names, while
// Spark and the API server used the values under the first names: an executor with host namespaces and with a
// privileged container of any image passed all rules. Lint, the review and a pass must refuse such templates in the
// same words.
func TestNamesThatDifferOnlyInCase(t *testing.T) {
	t.Parallel()
	const hard = `{podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}`

	cfg, err := config.Parse([]byte("{apiVersion: " + config.APIVersion + ", kind: " + config.Kind +
		", defaults: [{name: hard, driver: " + hard + ", executor: " + hard + "}], " +
		`policy: {owner: data team, rules: [{name: p, level: restricted, images: {allowed: ["spark:4"]}, serviceAccounts: {allowed: [default, spark]}, limits: {cores: 100}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	const (
		hostPID    = `{spec: {hostPID: true, hostpid: false}}`
		containers = `{spec: {containers: [{name: spark-kubernetes-executor}, {name: foreign, image: "evil:1", securityContext: {privileged: true}}], "container\u017f": [{name: spark-kubernetes-executor, image: "spark:4"}]}}`
	)
	templates := [5]string{"spec: {executor: {template: TEMPLATE}}",
		"spec: {template: {executor: {template: TEMPLATE}}}", "spec: {executor: {template: TEMPLATE}}",
		"spec: {executorSpec: {podTemplateSpec: TEMPLATE}}",
		"spec: {workerSpec: {statefulSetSpec: {template: TEMPLATE}}}"}

	paths := [5]string{"spec.executor.template", "spec.template.executor.template", "spec.executor.template",
		"spec.executorSpec.podTemplateSpec", "spec.workerSpec.statefulSetSpec.template"}
	for i, admitted := range configured.Admission(nil) {
		if faults := admitted.Review(cfg, nil, object(t, i), noon).Faults; len(faults) > 0 {
			t.Errorf("%s without a template: %v", admitted.GVK(), faults)
		}

		for template, words := range map[string]string{
			hostPID:    ".spec.hostpid: differs from hostPID in the same object only by upper and lower case; remove one of the two",
			containers: ".spec.container\u017f: differs from containers in the same object only by upper and lower case; remove one of the two",
		} {
			t.Run(admitted.GVK().String()+words, func(t *testing.T) {
				piece, want := strings.Replace(templates[i], "TEMPLATE", template, 1), paths[i]+words

				faults := admitted.Review(cfg, nil, object(t, i, piece), noon).Faults
				if len(faults) != 1 || faults[0].Error() != want {
					t.Errorf("the review: got %v\nwant %s", faults, want)
				}

				checkPass(t, all(func() config.Configuration { return cfg })[i], object(t, i, piece), want)
				whole := tree(t, i, piece)
				whole["apiVersion"], whole["kind"] = admitted.GVK().GroupVersion().String(), admitted.GVK().Kind

				text, err := json.Marshal(whole)
				if err != nil {
					t.Fatal(err)
				}
				var report preview.Report
				report.Add(preview.Operator{Config: cfg, Now: noon}, "pi.json", text, false)

				isWanted := func(f preview.Finding) bool { return f.Field+": "+f.Message == want }
				if !slices.ContainsFunc(report.Findings, isWanted) { // lint reports the other faults of the manifest too
					t.Errorf("lint: got %+v\nwant %s", report.Findings, want)
				}
			})
		}
	}
}
