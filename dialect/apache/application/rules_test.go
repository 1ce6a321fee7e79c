package application

import (
	"testing"

	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
)

// recordingRules are rules of a platform that record what they are to judge, and report the given faults.
type recordingRules struct {
	faults, exposureFaults []*dialect.FieldError

	subject  *dialect.Subject
	exposing []*dialect.Exposing
}

func (r *recordingRules) Faults(subject *dialect.Subject) []*dialect.FieldError {
	r.subject = subject
	return r.faults
}

func (r *recordingRules) ExposureFaults(asked *dialect.Exposing) []*dialect.FieldError {
	r.exposing = append(r.exposing, asked)
	return r.exposureFaults
}

// judged returns the description of an application that its dialect gives to the rules of the platform.
func judged(t *testing.T, a Applications, app *sparkv1.SparkApplication) *dialect.Subject {
	t.Helper()
	rules := &recordingRules{}
	a.Rules = rules
	if faults := a.Review(app, noon).Faults; len(faults) > 0 || rules.subject == nil {
		t.Fatalf("the rules judge nothing, because of %v", faults)
	}
	return rules.subject
}

// podsOf returns the pods in a description.
func podsOf(t *testing.T, subject *dialect.Subject) []dialect.Pod {
	t.Helper()
	pods, faults := subject.Pods()
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	return pods
}

// TestAccountFieldNamesTheSettingOfTheAccount checks that a message about a service account names the field that
// really sets it. For executors, Spark ignores the field serviceAccountName of a template if a key is set, but not the
// deprecated field serviceAccount.
func TestAccountFieldNamesTheSettingOfTheAccount(t *testing.T) {
	const (
		driverKey   = "spec.sparkConf[spark.kubernetes.authenticate.driver.serviceAccountName]"
		executorKey = "spec.sparkConf[spark.kubernetes.authenticate.executor.serviceAccountName]"
		drivers     = "spec.driverSpec.podTemplateSpec.spec."
		executors   = "spec.executorSpec.podTemplateSpec.spec."
	)
	for name, c := range map[string]struct{ driver, executor, conf, driverField, driverAccount, executorField, executorAccount string }{
		"nothing":      {"{}", "{}", "{}", drivers + "serviceAccountName", "", executors + "serviceAccountName", ""},
		"both keys":    {"{}", "{}", "{driver: d, executor: e}", driverKey, "d", executorKey, "e"},
		"driver's key": {"{}", "{}", "{driver: d}", driverKey, "d", driverKey, "d"},
		"keys over serviceAccountName of templates": {"{serviceAccountName: t}", "{serviceAccountName: u}", "{driver: d}",
			driverKey, "d", driverKey, "d"},
		"executors' key over serviceAccountName of the template": {"{}", "{serviceAccountName: u}", "{executor: e}",
			drivers + "serviceAccountName", "", executorKey, "e"},
		"templates alone": {"{serviceAccountName: t}", "{serviceAccountName: u}", "{}", drivers + "serviceAccountName", "t", executors + "serviceAccountName", "u"},
		"serviceAccount of the executors' template over keys": {"{}", "{serviceAccount: u}", "{driver: d, executor: e}",
			driverKey, "d", executors + "serviceAccount", "u"},
	} {
		app := pi()
		app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: rawOf(`{"spec":` + jsonOfYAML(t, c.driver) + `}`)}
		app.Spec.ExecutorSpec = &sparkv1.PodTemplate{PodTemplateSpec: rawOf(`{"spec":` + jsonOfYAML(t, c.executor) + `}`)}
		var keys map[string]string
		if err := yaml.Unmarshal([]byte(c.conf), &keys); err != nil {
			t.Fatal(err)
		}
		for role, account := range keys {
			app.Spec.SparkConf["spark.kubernetes.authenticate."+role+".serviceAccountName"] = account
		}
		pods := podsOf(t, judged(t, Applications{}, app))
		for i, want := range [][2]string{{c.driverField, c.driverAccount}, {c.executorField, c.executorAccount}} {
			account := pods[i].Spec.ServiceAccountName
			if account == "" {
				account = pods[i].Spec.DeprecatedServiceAccount
			}
			if got := [2]string{pods[i].AccountField, account}; got != want {
				t.Errorf("%s: the account of the %s is %q, want %q", name, pods[i].Role, got, want)
			}
		}
	}
}

// jsonOfYAML converts YAML to JSON.
func jsonOfYAML(t *testing.T, text string) string {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(converted)
}

// TestWorkersIsTheLargestNumberOfExecutors checks the number of executors that the rules limit.
func TestWorkersIsTheLargestNumberOfExecutors(t *testing.T) {
	const instances, most = "spec.sparkConf[spark.executor.instances]", "spec.sparkConf[spark.dynamicAllocation.maxExecutors]"
	for conf, want := range map[string]dialect.Workers{
		`{}`:                                {Field: instances, Max: 2},
		`{spark.executor.instances: " 7 "}`: {Field: instances, Max: 7},
		`{spark.executor.instances: many}`:  {Field: instances, Max: 2},
		`{spark.executor.instances: "9", spark.dynamicAllocation.enabled: "no"}`:                                              {Field: instances, Max: 9},
		`{spark.dynamicAllocation.enabled: " TRUE "}`:                                                                         {Field: most, Max: 2147483647, Unlimited: true},
		`{spark.executor.instances: "9", spark.dynamicAllocation.enabled: "true"}`:                                            {Field: most, Max: 2147483647, Unlimited: true},
		`{spark.executor.instances: "9", spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.maxExecutors: "4"}`: {Field: most, Max: 4},
		`{spark.executor.instances: "9", spark.master: "spark://c:7077"}`:                                                     {Field: instances},
		`{spark.executor.instances: "9", spark.master: "k8s://https://api"}`:                                                  {Field: instances, Max: 9},
		`{spark.executor.instances: "9", spark.master: local}`:                                                                {Field: instances},
		`{spark.executor.instances: "9", spark.kubernetes.driver.master: "local[*]"}`:                                         {Field: instances},
		`{spark.executor.instances: "9", spark.kubernetes.driver.master: "https://local"}`:                                    {Field: instances, Max: 9},
		`{spark.dynamicAllocation.enabled: "true", spark.kubernetes.driver.master: "local[*]"}`:                               {Field: instances},
	} {
		app := written(t, `spec: {sparkConf: `+conf+`}`)
		if got := workers(app); got != want {
			t.Errorf("%s: %+v, want %+v", conf, got, want)
		}
	}
}
