package connect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
)

// ruleSet are rules of a platform: functions of the facts that a dialect gives to rules.
type ruleSet struct {
	faults    func(*dialect.Subject) []*dialect.FieldError
	exposures func(*dialect.Exposing) []*dialect.FieldError
}

func (r ruleSet) Faults(s *dialect.Subject) []*dialect.FieldError {
	if r.faults == nil {
		return nil
	}
	return r.faults(s)
}

func (r ruleSet) ExposureFaults(e *dialect.Exposing) []*dialect.FieldError {
	if r.exposures == nil {
		return nil
	}
	return r.exposures(e)
}

// TestPodsThatRulesCheck checks which pods of a server the rules of a platform check, and the fields that they name.
func TestPodsThatRulesCheck(t *testing.T) {
	const container = `template: {spec: {serviceAccountName: a, containers: [{name: spark-kubernetes-ROLE, image: own}]}}`
	for piece, want := range map[string][]string{
		``: {
			`server of spec.server: image docker.io/apache/spark:4.1.4 of spec.image, account "" of spec.server.template.spec.serviceAccountName`,
			`executor of spec.executor: image docker.io/apache/spark:4.1.4 of spec.image, account "" of spec.executor.template.spec.serviceAccountName, counted`,
		},
		`server: {` + strings.Replace(container, "ROLE", "driver", 1) + `}`: {
			`server of spec.server: image own of spec.server, account "a" of spec.server.template.spec.serviceAccountName`,
			`executor of spec.executor: image docker.io/apache/spark:4.1.4 of spec.image, account "" of spec.executor.template.spec.serviceAccountName, counted`,
		},
		`executor: {` + strings.Replace(container, "ROLE", "executor", 1) + `}`: {
			`server of spec.server: image docker.io/apache/spark:4.1.4 of spec.image, account "" of spec.server.template.spec.serviceAccountName`,
			`executor of spec.executor: image own of spec.executor, account "a" of spec.executor.template.spec.serviceAccountName, counted`,
		},
	} {
		var got []string

		rules := ruleSet{faults: func(s *dialect.Subject) []*dialect.FieldError {
			pods, faults := s.Pods()
			for _, p := range pods {
				line := fmt.Sprintf("%s of %s: image %s of %s, account %q of %s", p.Role, p.Field, p.Image,
					p.ImageField, p.Spec.ServiceAccountName, p.AccountField)
				if p.Worker {
					line += ", counted"
				}

				got = append(got, line)
			}
			return faults
		}}
		if wrong := (Connects{Options{Rules: rules}}).invalid(connectOf(t, piece)); wrong != nil {
			t.Errorf("%s: %s", piece, wrong.Message)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: pods (-want +got):\n%s", piece, diff)
		}
	}
}

// TestAccountFieldNamesTheSettingOfTheAccount checks that messages name the field that really sets the service account
// of a pod. The server's template precedes the driver's key. For executors, only the field serviceAccount of the
// template precedes the keys.
func TestAccountFieldNamesTheSettingOfTheAccount(t *testing.T) {
	const server, executor, driverKey, executorKey = "spec.server.template.spec.", "spec.executor.template.spec.",
		"spec.sparkConf[spark.kubernetes.authenticate.driver.serviceAccountName]",
		"spec.sparkConf[spark.kubernetes.authenticate.executor.serviceAccountName]"
	keys := func(pairs string) string {
		pairs = strings.NewReplacer("driver:", "spark.kubernetes.authenticate.driver.serviceAccountName:", "executor:",
			"spark.kubernetes.authenticate.executor.serviceAccountName:").Replace(pairs)
		return "sparkConf: {" + pairs + "}"
	}

	templates := func(ofServer, ofExecutors string) string {
		return ", server: {template: {spec: {" + ofServer + "}}}, executor: {template: {spec: {" + ofExecutors + "}}}"
	}
	for piece, want := range map[string][4]string{
		keys(`driver: d`):               {driverKey, "d", driverKey, "d"},
		keys(`driver: d, executor: e`):  {driverKey, "d", executorKey, "e"},
		keys(`driver: d, executor: ""`): {driverKey, "d", executor + "serviceAccountName", ""},
		keys(`driver: d`) + templates(`serviceAccountName: t`,
			`serviceAccountName: u`): {server + "serviceAccountName", "t", driverKey, "d"},
		keys(`driver: d, executor: e`) + templates(`serviceAccount: t`,
			`serviceAccount: u`): {server + "serviceAccount", "t", executor + "serviceAccount", "u"},
		keys(``) + templates(`serviceAccountName: t`,
			`serviceAccountName: u, serviceAccount: v`): {server + "serviceAccountName", "t",
			executor + "serviceAccountName", "u"},
	} {
		var got [4]string

		rules := ruleSet{faults: func(s *dialect.Subject) []*dialect.FieldError {
			pods, faults := s.Pods()
			for i, p := range pods {
				got[2*i], got[2*i+1] = p.AccountField, p.Spec.ServiceAccountName
				if got[2*i+1] == "" {
					got[2*i+1] = p.Spec.DeprecatedServiceAccount
				}
			}
			return faults
		}}
		if wrong := (Connects{Options{Rules: rules}}).invalid(connectOf(t, piece)); wrong != nil || got != want {
			t.Errorf("%s: %q, want %q; %v", piece, got, want, wrong)
		}
	}
}

// TestWorkersThatRulesCount checks the largest number of executors of a server, and the field that sets it.
func TestWorkersThatRulesCount(t *testing.T) {
	const instances, most = "spec.executor.instances", "spec.dynamicAllocation.maxExecutors"
	for piece, want := range map[string]dialect.Workers{
		``:                          {Field: instances, Max: 2},
		`executor: {instances: 0}`:  {Field: instances, Max: 0},
		`executor: {instances: 11}`: {Field: instances, Max: 11},
		`sparkConf: {spark.executor.instances: "7"}`:                                                                        {Field: instances, Max: 2},
		`dynamicAllocation: {enabled: false, maxExecutors: 9}`:                                                              {Field: instances, Max: 2},
		`dynamicAllocation: {enabled: true, maxExecutors: 9}`:                                                               {Field: most, Max: 9},
		`dynamicAllocation: {enabled: true}`:                                                                                {Field: most, Max: 2147483647, Unlimited: true},
		`dynamicAllocation: {enabled: true}, sparkConf: {spark.dynamicAllocation.maxExecutors: "5"}`:                        {Field: most, Max: 5},
		`sparkConf: {spark.dynamicAllocation.enabled: "true"}`:                                                              {Field: most, Max: 2147483647, Unlimited: true},
		`dynamicAllocation: {enabled: true}, sparkConf: {spark.dynamicAllocation.maxExecutors: "${spark.n}", spark.n: "5"}`: {Field: most, Max: 5},
	} {
		if got := workers(connectOf(t, piece)); got != want {
			t.Errorf("%s: %+v, want %+v", piece, got, want)
		}
	}

	free := aConnect(func(sc *v1alpha1.SparkConnect) { sc.Spec.Executor.Instances = nil })
	if got := workers(free); got != (dialect.Workers{Field: instances, Max: 2}) {
		t.Errorf("Spark's default: %+v", got)
	}
}

// TestFieldsOfKeys checks which field of the spec errors and rules name for a configuration key.
func TestFieldsOfKeys(t *testing.T) {
	for piece, want := range map[string]map[string]string{
		`server: {cores: 2, memory: 2g}, executor: {cores: 3, memory: 3g}`: {
			"spark.driver.cores": "spec.server.cores", "spark.driver.memory": "spec.server.memory",
			"spark.executor.cores":  "spec.executor.cores",
			"spark.executor.memory": "spec.executor.memory", "spark.executor.instances": "spec.executor.instances",
		},
		`sparkConf: {spark.a: b, spark.driver.memory: 2g}`:                            {"spark.a": "spec.sparkConf[spark.a]", "spark.driver.memory": "spec.sparkConf[spark.driver.memory]"},
		`sparkConf: {spark.driver.memory: 2g}, server: {memory: 3g}`:                  {"spark.driver.memory": "spec.server.memory"},
		`sparkConf: {spark.driver.memory: 2g}, server: {memory: 2g}`:                  {"spark.driver.memory": "spec.sparkConf[spark.driver.memory]"},
		`sparkConf: {spark.executor.instances: "9"}`:                                  {"spark.executor.instances": "spec.executor.instances"},
		`hadoopConf: {fs.a: b, spark.hadoop.fs.c: d}`:                                 {"spark.hadoop.fs.a": "spec.hadoopConf[fs.a]", "spark.hadoop.fs.c": "spec.hadoopConf[spark.hadoop.fs.c]"},
		`hadoopConf: {fs.a: b}, sparkConf: {spark.hadoop.fs.a: c, spark.hadoop.b: d}`: {"spark.hadoop.fs.a": "spec.hadoopConf[fs.a]", "spark.hadoop.b": "spec.sparkConf[spark.hadoop.b]"},
		`hadoopConf: {fs.a: b, spark.hadoop.fs.a: c}`:                                 {"spark.hadoop.fs.a": "spec.hadoopConf[spark.hadoop.fs.a]"},
		`dynamicAllocation: {enabled: true, minExecutors: 1, maxExecutors: 3}`: {
			"spark.dynamicAllocation.minExecutors": "spec.dynamicAllocation.minExecutors",
			"spark.dynamicAllocation.maxExecutors": "spec.dynamicAllocation.maxExecutors",
		},
		`sparkConf: {spark.kubernetes.executor.label.team: mine}`: {"spark.kubernetes.executor.label.own": "metadata.labels[own]", "spark.kubernetes.driver.label.team": "metadata.labels[team]"},
	} {
		sc := connectOf(t, piece)
		sc.Labels = map[string]string{"own": "a", "team": "b"}

		got := map[string]string{}
		for _, setting := range settings(sc) {
			if _, asked := want[setting.Key]; asked {
				got[setting.Key] = setting.Field
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", piece, diff)
		}
	}
}

// TestFaultsOfRules checks that faults of the rules make a spec invalid, and that rules receive the labels. For a spec
// that is invalid anyway, the rules are not called.
func TestFaultsOfRules(t *testing.T) {
	var calls int
	rules := ruleSet{
		faults: func(s *dialect.Subject) []*dialect.FieldError {
			calls++

			if n := s.Workers(); n.Max != 2 ||
				!slices.Contains(s.Settings(),
					dialect.Setting{Key: "spark.executor.instances", Value: "2", Field: "spec.executor.instances"}) {
				t.Errorf("workers %+v, settings %v", n, s.Settings())
			}

			if diff := cmp.Diff(map[string]string{"team": "a"}, s.Labels); diff != "" || len(s.PriorityClasses) > 0 {
				t.Errorf("labels (-want +got):\n%s\npriority classes %v", diff, s.PriorityClasses)
			}
			return []*dialect.FieldError{{Field: "spec.image", Message: "is not allowed"}}
		},
		exposures: func(asked *dialect.Exposing) (faults []*dialect.FieldError) {
			for _, host := range asked.Hosts {
				faults = append(faults, &dialect.FieldError{Field: host.Field,
					Message: asked.Kind + " " + host.Value + " is not allowed"})
			}
			return faults
		},
	}
	c := Connects{Options{Rules: rules,
		UI: sparkoperator.UI{Ingress: &sparkoperator.UIIngress{URLFormat: "operator.example.com"}}}}
	sc := connectOf(t, `ui: {ingressURLFormat: "{{$appName}}.b", ingressTLS: [{hosts: [c.d]}]}`)
	sc.Labels = map[string]string{"team": "a"}

	got := ""
	if wrong := c.invalid(sc); wrong != nil {
		got = wrong.Message
	}

	if want := "spec.image: is not allowed; spec.ui.ingressTLS[0].hosts: Ingress c.d is not allowed; spec.ui.ingressURLFormat: Ingress hub.b is not allowed"; got != want || calls != 1 {
		t.Errorf("after %d calls: %q, want %q", calls, got, want)
	}

	sc.Spec.UI = &v1alpha1.UIConfiguration{}
	if wrong := c.invalid(sc); wrong == nil || wrong.Message != "spec.image: is not allowed" {
		t.Errorf("the operator's host: %v", wrong)
	}

	calls = 0
	for _, piece := range []string{`server: {memory: x}`, `sparkConf: {spark.driver.port: "0"}`,
		`sparkConf: {spark.kubernetes.executor.request.cores: abc}`} {
		invalid := connectOf(t, piece)

		invalid.Labels = sc.Labels
		if wrong := c.invalid(invalid); wrong == nil || strings.Contains(wrong.Message, "is not allowed") || calls > 0 {
			t.Errorf("%s: %d calls, %v", piece, calls, wrong)
		}
	}
}
