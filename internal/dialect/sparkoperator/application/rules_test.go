package application

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// ruleSet are rules of a platform: a list of functions of the facts that a dialect gives to rules.
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

// underRules returns a dialect whose rules call the given function.
func underRules(faults func(*dialect.Subject) []*dialect.FieldError, change ...func(*Options)) Dialect {
	d := Dialect{Options{Rules: ruleSet{faults: faults}}}
	for _, c := range change {
		c(&d.Options)
	}
	return d
}

// podFacts returns the pods that rules check, each as one line of text.
func podFacts(t *testing.T, app *v1beta2.SparkApplication, change ...func(*Options)) (lines []string) {
	t.Helper()

	d := underRules(func(s *dialect.Subject) []*dialect.FieldError {
		pods, faults := s.Pods()
		for _, p := range pods {
			line := fmt.Sprintf("%s of %s: image %s of %s, account %q of %s", p.Role, p.Field, p.Image, p.ImageField,
				p.Spec.ServiceAccountName, p.AccountField)
			if p.Worker {
				line += ", counted"
			}

			lines = append(lines, line)
		}
		return faults
	}, change...)
	if faults := d.Faults(app, sparkapp.T0); len(faults) > 0 {
		t.Errorf("refused: %v", faults)
	}
	return lines
}

// TestPodsThatRulesCheck checks which pods the rules of a platform check, and the fields of the spec that the rules
// name.
func TestPodsThatRulesCheck(t *testing.T) {
	const driver, executor = `driver of spec.driver: image spark:4.1.4 of spec.image, account "" of spec.driver.serviceAccount`,
		`executor of spec.executor: image spark:4.1.4 of spec.image, account "" of spec.executor.serviceAccount, counted`
	// Executors use the driver's account if they have none of their own.
	const drivers = `executor of spec.executor: image spark:4.1.4 of spec.image, account "a" of spec.driver.serviceAccount, counted`
	runnerAccount := func(o *Options) { o.RunnerAccount = "runner" }

	const runnerKey = "spark.kubernetes.authenticate.submission.serviceAccountName"
	for name, test := range map[string]struct {
		piece  string
		change []func(*Options)
		want   []string
	}{
		"an application": {"{}", nil, []string{driver, executor}},
		"own images and accounts": {`spec: {driver: {image: "d:1", serviceAccount: a}, executor: {image: "e:1", serviceAccount: b}}`, nil, []string{
			`driver of spec.driver: image d:1 of spec.driver.image, account "a" of spec.driver.serviceAccount`,
			`executor of spec.executor: image e:1 of spec.executor.image, account "b" of spec.executor.serviceAccount, counted`,
		}},
		"an image of one role": {`spec: {driver: {image: ""}, executor: {image: "e:1"}}`, nil, []string{
			driver, `executor of spec.executor: image e:1 of spec.executor.image, account "" of spec.executor.serviceAccount, counted`,
		}},
		"a driver without executors": {`spec: {driver: {kubernetesMaster: "local[2]"}}`, nil, []string{driver}},
		"spark-submit with an account of the application": {
			`spec: {submission: {mode: SparkSubmit}, driver: {serviceAccount: a}, sparkConf: {spark.kubernetes.authenticate.submission.serviceAccountName: s}}`, []func(*Options){runnerAccount}, []string{
				`spark-submit of spec.driver: image spark:4.1.4 of spec.image, account "s" of spec.sparkConf[RUNNER]`,
				`driver of spec.driver: image spark:4.1.4 of spec.image, account "a" of spec.driver.serviceAccount`,
				drivers,
			},
		},
		"spark-submit with an account of the operator": {`spec: {submission: {mode: SparkSubmit}, driver: {serviceAccount: a}}`, []func(*Options){runnerAccount}, []string{
			`spark-submit of spec.driver: image spark:4.1.4 of spec.image, account "runner" of spec.sparkConf[RUNNER]`,
			`driver of spec.driver: image spark:4.1.4 of spec.image, account "a" of spec.driver.serviceAccount`,
			drivers,
		}},
		"spark-submit without any account": {`spec: {submission: {mode: SparkSubmit}}`, nil, []string{
			`spark-submit of spec.driver: image spark:4.1.4 of spec.image, account "" of spec.sparkConf[RUNNER]`,
			driver, executor,
		}},
		"spark-submit with the driver's account": {`spec: {submission: {mode: SparkSubmit}, driver: {serviceAccount: a}}`, nil, []string{
			`spark-submit of spec.driver: image spark:4.1.4 of spec.image, account "a" of spec.sparkConf[RUNNER]`,
			`driver of spec.driver: image spark:4.1.4 of spec.image, account "a" of spec.driver.serviceAccount`,
			drivers,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := podFacts(t, sparkapp.Of(t, test.piece), test.change...)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], runnerKey, "RUNNER")
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAccountFieldNamesTheSettingOfTheAccount checks that rules name the field that really sets the service account of
// a pod. For executors, this may be a field of the driver. Only the field serviceAccount of a template precedes it.
func TestAccountFieldNamesTheSettingOfTheAccount(t *testing.T) {
	const driver, executor, driverTemplate, executorTemplate = "spec.driver.serviceAccount",
		"spec.executor.serviceAccount", "spec.driver.template.spec.", "spec.executor.template.spec."
	for piece, want := range map[string][4]string{
		``:                              {driver, "", executor, ""},
		`driver: {serviceAccount: d}`:   {driver, "d", driver, "d"},
		`executor: {serviceAccount: e}`: {driver, "", executor, "e"},
		`driver: {serviceAccount: d}, executor: {serviceAccount: e}`: {driver, "d", executor, "e"},
		`driver: {template: {spec: {serviceAccountName: t}}}, executor: {template: {spec: {serviceAccountName: u}}}`: {
			driverTemplate + "serviceAccountName", "t", executorTemplate + "serviceAccountName", "u",
		},
		`driver: {serviceAccount: d, template: {spec: {serviceAccountName: t}}}, executor: {template: {spec: {serviceAccountName: u}}}`: {driver, "d", driver, "d"},
		`driver: {template: {spec: {serviceAccount: t}}}, executor: {template: {spec: {serviceAccount: u}}, serviceAccount: e}`: {
			driverTemplate + "serviceAccount", "t", executorTemplate + "serviceAccount", "u",
		},
		`driver: {serviceAccount: d}, executor: {template: {spec: {serviceAccountName: u, serviceAccount: v}}}`: {driver, "d", executorTemplate + "serviceAccountName", "u"},
	} {
		var got [4]string
		underRules(func(s *dialect.Subject) []*dialect.FieldError {
			pods, faults := s.Pods()
			for i, p := range pods {
				got[2*i], got[2*i+1] = p.AccountField, p.Spec.ServiceAccountName
				if got[2*i+1] == "" {
					got[2*i+1] = p.Spec.DeprecatedServiceAccount
				}
			}
			return faults
		}).Faults(sparkapp.Of(t, "spec: {"+piece+"}"), sparkapp.T0)

		if got != want {
			t.Errorf("%s: %q, want %q", piece, got, want)
		}
	}
}

const (
	driverScrape  = "spark.kubernetes.driver.annotation.prometheus.io/"
	serviceScrape = "spark.kubernetes.driver.service.annotation.prometheus.io/"
	execScrape    = "spark.kubernetes.executor.annotation.prometheus.io/"
)

// TestFieldsOfSettings checks which field of the spec the rules name for a configuration key. A key that nobody sets in
// the spec has no field.
func TestFieldsOfSettings(t *testing.T) {
	const exporter = `monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheus: {jmxExporterJar: /j}}`

	const servlet = `monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheusServlet: true}`
	for piece, want := range map[string]map[string]string{
		`{}`: {
			"spark.kubernetes.container.image": "spec.image", "spark.executor.instances": "spec.executor.instances",
			"spark.kubernetes.submission.waitAppCompletion": "", "spark.kubernetes.driver.annotateExitException": "",
		},
		`spec: {executor: {instances: null}}`:                                                     {"spark.executor.instances": ""},
		`spec: {executor: {instances: null}, sparkConf: {spark.executor.instances: "1"}}`:         {"spark.executor.instances": "spec.sparkConf[spark.executor.instances]"},
		`spec: {sparkConf: {spark.executor.instances: "9"}}`:                                      {"spark.executor.instances": "spec.executor.instances"},
		`spec: {sparkConf: {spark.executor.instances: "2"}}`:                                      {"spark.executor.instances": "spec.sparkConf[spark.executor.instances]"},
		`spec: {sparkConf: {spark.a: b}, hadoopConf: {fs.a: c}}`:                                  {"spark.a": "spec.sparkConf[spark.a]", "spark.hadoop.fs.a": "spec.hadoopConf[fs.a]"},
		`spec: {sparkConf: {spark.hadoop.fs.a: b}, hadoopConf: {fs.a: c}}`:                        {"spark.hadoop.fs.a": "spec.hadoopConf[fs.a]"},
		`spec: {sparkConf: {spark.kubernetes.container.image.pullPolicy: b}, imagePullPolicy: c}`: {"spark.kubernetes.container.image.pullPolicy": "spec.sparkConf[spark.kubernetes.container.image.pullPolicy]"},
		`spec: {imagePullPolicy: c}`:                                                              {"spark.kubernetes.container.image.pullPolicy": "spec.imagePullPolicy"},
		`spec: {dynamicAllocation: {enabled: true}}`:                                              {"spark.dynamicAllocation.enabled": "spec.dynamicAllocation", "spark.dynamicAllocation.shuffleTracking.enabled": "spec.dynamicAllocation"},
		`spec: {sparkConf: {spark.dynamicAllocation.enabled: "true"}}`:                            {"spark.dynamicAllocation.enabled": "spec.sparkConf[spark.dynamicAllocation.enabled]"},
		`{metadata: {labels: {team: a}}, spec: {driver: {labels: {own: b}}}}`: {
			"spark.kubernetes.driver.label.team":   "metadata.labels[team]",
			"spark.kubernetes.driver.label.own":    "spec.driver.labels[own]",
			"spark.kubernetes.executor.label.team": "metadata.labels[team]",
		},
		`{metadata: {labels: {team: a}}, spec: {driver: {labels: {team: b}}}}`: {"spark.kubernetes.driver.label.team": "spec.driver.labels[team]", "spark.kubernetes.executor.label.team": "metadata.labels[team]"},
		`spec: {driver: {cores: 2, javaOptions: -Da=b}, deps: {packages: ["g:a:1"]}}`: {
			"spark.driver.cores": "spec.driver.cores", "spark.driver.extraJavaOptions": "spec.driver.javaOptions",
			"spark.jars.packages": "spec.deps.packages",
		},
		// Secrets override envVars, and env overrides both.
		`spec: {driver: {envVars: {HADOOP_TOKEN_FILE_LOCATION: /x}, secrets: [{name: s, path: /y, secretType: HadoopDelegationToken}]}}`: {
			"spark.kubernetes.driverEnv.HADOOP_TOKEN_FILE_LOCATION": "spec.driver.secrets",
		},
		`spec: {executor: {envVars: {HADOOP_TOKEN_FILE_LOCATION: /x}, secrets: [{name: s, path: /y, secretType: Generic}]}}`: {
			"spark.executorEnv.HADOOP_TOKEN_FILE_LOCATION": "spec.executor.envVars[HADOOP_TOKEN_FILE_LOCATION]",
		},
		`spec: {executor: {envVars: {SPARK_USER: a}, env: [{name: SPARK_USER, value: b}]}}`:                   {"spark.executorEnv.SPARK_USER": "spec.executor.env"},
		`spec: {executor: {env: [{name: SPARK_CONF_DIR, value: /x}]}}`:                                        {"spark.executorEnv.SPARK_CONF_DIR": "spec.executor.env"},
		`spec: {sparkConfigMap: c, executor: {env: [{name: SPARK_CONF_DIR, value: /x}]}}`:                     {"spark.executorEnv.SPARK_CONF_DIR": "spec.sparkConfigMap"},
		`spec: {` + exporter + `, driver: {annotations: {prometheus.io/port: "1", other: x}}}`:                {driverScrape + "port": "spec.monitoring", "spark.kubernetes.driver.annotation.other": "spec.driver.annotations[other]"},
		`spec: {` + exporter + `, sparkConf: {spark.kubernetes.executor.annotation.prometheus.io/port: "1"}}`: {execScrape + "port": "spec.monitoring"},
		`spec: {` + exporter + `, driver: {serviceAnnotations: {prometheus.io/port: "1"}}}`:                   {serviceScrape + "port": "spec.driver.serviceAnnotations[prometheus.io/port]"},
		`spec: {` + exporter + `, sparkConf: {spark.driver.extraJavaOptions: -Da=b}}`: {
			"spark.driver.extraJavaOptions":   "spec.sparkConf[spark.driver.extraJavaOptions]",
			"spark.executor.extraJavaOptions": "spec.monitoring",
			"spark.metrics.conf":              "spec.monitoring", "spark.metrics.namespace": "spec.monitoring",
		},
		`spec: {` + servlet + `, sparkConf: {spark.metrics.namespace: mine, spark.ui.prometheus.enabled: "false"}, driver: {annotations: {prometheus.io/port: "1"}}}`: {
			"spark.metrics.namespace":                    "spec.sparkConf[spark.metrics.namespace]",
			"spark.ui.prometheus.enabled":                "spec.monitoring",
			"spark.metrics.conf.driver.source.jvm.class": "spec.monitoring",
			driverScrape + "port":                        "spec.driver.annotations[prometheus.io/port]",
			serviceScrape + "port":                       "spec.monitoring",
		},
		`spec: {sparkConf: {spark.metrics.conf: /f, spark.ui.prometheus.enabled: "true"}}`: {
			"spark.metrics.conf":          "spec.sparkConf[spark.metrics.conf]",
			"spark.ui.prometheus.enabled": "spec.sparkConf[spark.ui.prometheus.enabled]",
		},
	} {
		got := map[string]string{}
		for _, setting := range settings(sparkapp.Of(t, piece)) {
			if _, asked := want[setting.Key]; asked {
				got[setting.Key] = setting.Field
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", piece, diff)
		}
	}

	if got := settings(sparkapp.Of(t, `spec: {driver: {volumeMounts: [{name: missing, mountPath: /v}]}}`)); got != nil {
		t.Errorf("an invalid configuration has the settings %v", got)
	}
}

// fieldIn reports whether an object sets the field at a path such as "spec.driver.labels[team]".
func fieldIn(object map[string]any, path string) bool {
	path, entry, hasEntry := strings.Cut(strings.TrimSuffix(path, "]"), "[")

	var at any = object
	for name := range strings.SplitSeq(path, ".") {
		fields, isObject := at.(map[string]any)
		if !isObject {
			return false
		}

		at = fields[name]
	}

	if !hasEntry {
		return at != nil
	}

	fields, isObject := at.(map[string]any)
	_, found := fields[entry]
	return isObject && found
}

// TestEveryNamedFieldIsSet checks for a sample of each field that the spec really sets the field that the rules name
// for a configuration key. A user cannot correct a value in a field that is not there.
func TestEveryNamedFieldIsSet(t *testing.T) {
	named := 0

	check := func(wrap string, s fieldSample) {
		in := func(text string) string {
			if !strings.HasPrefix(text, "{") {
				text = "{" + text + "}"
			}
			return strings.Replace(wrap, "%", text, 1)
		}

		app := sparkapp.Of(t, in(s.with), in(s.value))
		for _, setting := range settings(app) {
			if setting.Field == "" {
				continue
			}
			named++

			if !fieldIn(fieldtable.Plain(t, app), setting.Field) {
				t.Errorf("%s: the rules name %s for the key %s", in(s.value), setting.Field, setting.Key)
			}
		}
	}
	for _, s := range specSamples {
		check("spec: %", s)
	}

	for role, spec := range map[string]reflect.Type{"driver": reflect.TypeFor[v1beta2.DriverSpec](),
		"executor": reflect.TypeFor[v1beta2.ExecutorSpec]()} {
		for _, path := range fieldtable.Leaves(spec, "", whole...) {
			check("spec: {"+role+": %}", podSamples[path])
		}
	}

	check("spec: %", fieldSample{value: `executor: {env: [{name: SPARK_USER, value: me}]}`})
	const exporter = `{monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheus: {jmxExporterJar: /j}}`
	check("spec: %", fieldSample{with: exporter + `}`,
		value: `driver: {javaOptions: -Da=b, annotations: {prometheus.io/path: /x}}`})
	check("spec: %", fieldSample{with: exporter + `}`, value: `sparkConf: {spark.executor.extraJavaOptions: -Da=b}`})
	check("spec: %", fieldSample{value: `driver: {envVars: {HADOOP_TOKEN_FILE_LOCATION: /x}}`})

	if named < 200 {
		t.Errorf("only %d names were compared", named)
	}
}

// TestWorkersThatRulesCount checks the largest number of executors, and the field that sets it.
func TestWorkersThatRulesCount(t *testing.T) {
	const instances, most = "spec.executor.instances", "spec.dynamicAllocation.maxExecutors"
	for piece, want := range map[string]dialect.Workers{
		``:                            {Field: instances, Max: 2},
		`executor: {instances: 0}`:    {Field: instances, Max: 0},
		`executor: {instances: null}`: {Field: instances, Max: 1},
		`executor: {instances: null}, sparkConf: {spark.executor.instances: " 7 "}`:                      {Field: instances, Max: 7},
		`executor: {instances: null}, sparkConf: {spark.executor.instances: "${spark.n}", spark.n: "5"}`: {Field: instances, Max: 5},
		`executor: {instances: null}, sparkConf: {spark.executor.instances: "${env:N}"}`:                 {Field: instances, Max: 2147483647, Unlimited: true},
		`sparkConf: {spark.executor.instances: "7"}`:                                                     {Field: instances, Max: 2},
		`dynamicAllocation: {enabled: false, maxExecutors: 9}`:                                           {Field: instances, Max: 2},
		`dynamicAllocation: {enabled: true, maxExecutors: 9}`: {Field: most,
			Max: 9},
		`dynamicAllocation: {enabled: true}`: {Field: most,
			Max: 2147483647, Unlimited: true},
		`sparkConf: {spark.dynamicAllocation.enabled: "TRUE", spark.dynamicAllocation.maxExecutors: "3"}`: {Field: most,
			Max: 3},
		`dynamicAllocation: {enabled: true, maxExecutors: 9}, driver: {kubernetesMaster: local}`: {Field: instances,
			Max: 0},
	} {
		l := Dialect{}.next(sparkapp.Of(t, "spec: {"+piece+"}"), 1, sparkapp.T0)

		c, err := l.Configuration()
		if got, _ := l.Attempt.Workers(c); err != nil || got != want {
			t.Errorf("%s: %+v, want %+v", piece, got, want)
		}
	}
}

// TestFactsForRules checks the other facts that rules receive: the labels of the application and its priority classes.
// The facts of an application without batch scheduling have no priority class.
func TestFactsForRules(t *testing.T) {
	for piece, want := range map[string][]dialect.FieldValue{
		`{metadata: {labels: {team: a}}, spec: {}}`:                                                   nil,
		`{metadata: {labels: {team: a}}, spec: {batchSchedulerOptions: {}}}`:                          {{Field: "spec.batchSchedulerOptions.priorityClassName", Value: ""}},
		`{metadata: {labels: {team: a}}, spec: {batchSchedulerOptions: {priorityClassName: urgent}}}`: {{Field: "spec.batchSchedulerOptions.priorityClassName", Value: "urgent"}},
	} {
		calls := 0

		faults := underRules(func(s *dialect.Subject) []*dialect.FieldError {
			calls++

			if n := s.Workers(); n.Max != 2 ||
				!slices.Contains(s.Settings(),
					dialect.Setting{Key: "spark.executor.instances", Value: "2", Field: "spec.executor.instances"}) {
				t.Errorf("%s: workers %+v, settings %v", piece, n, s.Settings())
			}

			if diff := cmp.Diff(map[string]string{"team": "a"}, s.Labels) + cmp.Diff(want,
				s.PriorityClasses); diff != "" {
				t.Errorf("%s: labels and priority classes (-want +got):\n%s", piece, diff)
			}
			return nil
		}).Faults(sparkapp.Of(t, piece), sparkapp.T0)
		if len(faults) > 0 || calls != 1 {
			t.Errorf("%s: the rules were called %d times: %v", piece, calls, faults)
		}
	}
}

// TestFaultsOfRules checks that faults of the rules are the faults of the application, those about its Ingresses last.
// If the application is invalid without the rules, they are not called.
func TestFaultsOfRules(t *testing.T) {
	rules := ruleSet{
		faults: func(*dialect.Subject) []*dialect.FieldError {
			return []*dialect.FieldError{{Field: "spec.image", Message: "is not allowed"},
				{Field: "spec.sparkConf[spark.a]", Message: "is not allowed"}}
		},
		exposures: func(asked *dialect.Exposing) (faults []*dialect.FieldError) {
			for _, host := range asked.Hosts {
				faults = append(faults, &dialect.FieldError{Field: host.Field, Message: host.Value + " is not allowed"})
			}
			return faults
		},
	}
	defaults := &platform.Settings{SparkConf: map[string]string{"spark.a": "b"},
		Origins: map[string]string{"sparkConf[spark.a]": "defaults[0] (all)"}}
	d := Dialect{Options{Rules: rules, UI: sparkoperator.UI{Ingress: &sparkoperator.UIIngress{}}, Defaults: defaults}}
	app := sparkapp.Of(t, `spec: {driverIngressOptions: [{servicePort: 1, servicePortName: a, ingressURLFormat: "{{$appName}}.b"}]}`)
	want := []string{
		"spec.image: is not allowed",
		"spec.sparkConf[spark.a]: is not allowed (the value is a default of the operator's configuration, defaults[0] (all); set the key in spec.sparkConf to override it)",
		"spec.driverIngressOptions[0].ingressURLFormat: pi.b is not allowed",
	}

	var got []string
	for _, fault := range d.Faults(app, sparkapp.T0) {
		got = append(got, fault.Error())
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}

	if plan := d.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0); len(plan.Actions) > 0 ||
		!strings.Contains(plan.Next.Cause.Message, want[2]) {
		t.Errorf("the application is launched: %v, %v", plan.Actions, plan.Next.Cause)
	}

	d.Rules = ruleSet{faults: func(*dialect.Subject) []*dialect.FieldError {
		t.Error("the rules are called for an invalid application")
		return nil
	}}
	for _, piece := range []string{`spec: {mode: other}`, `spec: {driver: {memory: x}}`,
		`spec: {driver: {volumeMounts: [{name: missing, mountPath: /v}]}}`} {
		if faults := d.Faults(sparkapp.Of(t, piece), sparkapp.T0); len(faults) == 0 {
			t.Errorf("%s is valid", piece)
		}
	}
}

// TestPodsWithAFault checks that rules receive the fault instead of pods if an executor cannot be built, although the
// driver can. The fault names the field of the spec.
func TestPodsWithAFault(t *testing.T) {
	var pods []dialect.Pod
	d := underRules(func(s *dialect.Subject) (faults []*dialect.FieldError) {
		pods, faults = s.Pods()
		return faults
	})

	faults := d.Faults(sparkapp.Of(t, `spec: {executor: {coreRequest: abc}}`), sparkapp.T0)
	if len(faults) != 1 || faults[0].Field != "spec.executor.coreRequest" || len(pods) > 0 {
		t.Errorf("faults %v, %d pods", faults, len(pods))
	}
}
