package application

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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

// TestPodsAreDescribedToTheRules checks which pods of an application the rules judge, and the fields that their
// messages name.
func TestPodsAreDescribedToTheRules(t *testing.T) {
	const (
		general = "spec.sparkConf[spark.kubernetes.container.image]"
		account = "spec.sparkConf[spark.kubernetes.authenticate.driver.serviceAccountName]"
		image   = "docker.io/apache/spark:4.2.0"
	)
	driver := dialect.Pod{Role: "driver", Field: "spec.driverSpec", ImageField: general, AccountField: account,
		Image: image}
	executor := dialect.Pod{Role: "executor", Field: "spec.executorSpec", ImageField: general, AccountField: account,
		Image: image, Worker: true}
	runner := dialect.Pod{Role: "spark-submit", Field: "spec.driverSpec", ImageField: general, Image: image,
		AccountField: "spec.sparkConf[spark.kubernetes.authenticate.submission.serviceAccountName]"}

	with := func(pod dialect.Pod, change func(*dialect.Pod)) dialect.Pod {
		change(&pod)
		return pod
	}
	for name, c := range map[string]struct {
		spec    string
		options Options
		want    []dialect.Pod
	}{
		"a plain application": {"", Options{}, []dialect.Pod{driver, executor}},
		"the driver's own image": {"spec: {sparkConf: {spark.kubernetes.driver.container.image: d}}", Options{},
			[]dialect.Pod{
				with(driver, func(p *dialect.Pod) {
					p.Image, p.ImageField = "d", "spec.sparkConf[spark.kubernetes.driver.container.image]"
				}), executor}},
		"the executors' own image": {"spec: {sparkConf: {spark.kubernetes.executor.container.image: e}}", Options{},
			[]dialect.Pod{
				driver, with(executor, func(p *dialect.Pod) {
					p.Image, p.ImageField = "e", "spec.sparkConf[spark.kubernetes.executor.container.image]"
				})}},
		"sidecars after Spark's container": {`spec: {driverSpec: {podTemplateSpec: {spec: {containers: [{name: spark-kubernetes-driver}, {name: side, image: s}]}}}}`, Options{},
			[]dialect.Pod{driver, executor}},
		"spark-submit": {"", Options{Submission: dialect.SubmissionSparkSubmit},
			[]dialect.Pod{runner, driver, executor}},
		"spark-submit with the operator's account": {"",
			Options{Submission: dialect.SubmissionSparkSubmit, RunnerAccount: "r"},
			[]dialect.Pod{runner, driver, executor}},
		"spark-submit with the user's account": {"spec: {sparkConf: {spark.kubernetes.authenticate.submission.serviceAccountName: mine}}",
			Options{Submission: dialect.SubmissionSparkSubmit, RunnerAccount: "r"},
			[]dialect.Pod{runner, driver, executor}},
		"a standalone cluster": {`spec: {sparkConf: {spark.master: "spark://c:7077"}}`, Options{},
			[]dialect.Pod{driver}},
		"a local driver": {`spec: {sparkConf: {spark.master: "local[2]"}}`, Options{},
			[]dialect.Pod{driver}},
		"a local driver, by its key": {`spec: {sparkConf: {spark.kubernetes.driver.master: "local[2]"}}`, Options{},
			[]dialect.Pod{driver}},
		"another address of the API": {`spec: {sparkConf: {spark.kubernetes.driver.master: "https://api"}}`, Options{},
			[]dialect.Pod{driver, executor}},
	} {
		pods := podsOf(t, judged(t, Applications{c.options}, written(t, c.spec)))
		for i := range pods {
			if pods[i].Meta == nil || pods[i].Spec == nil || len(pods[i].Spec.Containers) == 0 {
				t.Errorf("%s: the %s has no content", name, pods[i].Role)
			}

			if (pods[i].Container == nil) != (pods[i].Role == "spark-submit") {
				t.Errorf("%s: the %s has the container %v", name, pods[i].Role, pods[i].Container)
			}

			pods[i].Meta, pods[i].Spec, pods[i].Container = nil, nil, nil
		}

		if diff := cmp.Diff(c.want, pods); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
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
	for name, c := range map[string]struct {
		driver, executor, conf, driverField, driverAccount, executorField,
		executorAccount string
	}{
		"nothing":      {"{}", "{}", "{}", drivers + "serviceAccountName", "", executors + "serviceAccountName", ""},
		"both keys":    {"{}", "{}", "{driver: d, executor: e}", driverKey, "d", executorKey, "e"},
		"driver's key": {"{}", "{}", "{driver: d}", driverKey, "d", driverKey, "d"},
		"keys over serviceAccountName of templates": {"{serviceAccountName: t}", "{serviceAccountName: u}",
			"{driver: d}",
			driverKey, "d", driverKey, "d"},
		"executors' key over serviceAccountName of the template": {"{}", "{serviceAccountName: u}", "{executor: e}",
			drivers + "serviceAccountName", "", executorKey, "e"},
		"templates alone": {"{serviceAccountName: t}", "{serviceAccountName: u}", "{}", drivers + "serviceAccountName",
			"t", executors + "serviceAccountName", "u"},
		"serviceAccount of the executors' template over keys": {"{}", "{serviceAccount: u}", "{driver: d, executor: e}",
			driverKey, "d", executors + "serviceAccount", "u"},
		"serviceAccount of templates": {"{serviceAccount: t}", "{serviceAccount: u}", "{}", drivers + "serviceAccount",
			"t", executors + "serviceAccount", "u"},
		"both fields of templates": {"{serviceAccountName: t, serviceAccount: v}",
			"{serviceAccountName: u, serviceAccount: v}", "{}",
			drivers + "serviceAccountName", "t", executors + "serviceAccountName", "u"},
	} {
		app := pi()
		app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: rawOf(`{"spec":` + jsonOfYAML(t, c.driver) + `}`)}
		app.Spec.ExecutorSpec = &sparkv1.PodTemplate{PodTemplateSpec: rawOf(`{"spec":` + jsonOfYAML(t,
			c.executor) + `}`)}

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

// TestSettingsNameTheFieldThatSetsThem checks the fields of configuration keys. A key that only the operator sets has
// no field, so that rules about the user's settings do not apply to it.
func TestSettingsNameTheFieldThatSetsThem(t *testing.T) {
	const jar = "local:///a.jar"
	for name, c := range map[string]struct {
		spec string
		want map[string][2]string // value and field
	}{
		"keys of sparkConf and of the operator": {`{sparkConf: {spark.x: "1", spark.authenticate: "true"}}`,
			map[string][2]string{
				"spark.x":                                  {"1", "spec.sparkConf[spark.x]"},
				"spark.authenticate":                       {"true", "spec.sparkConf[spark.authenticate]"},
				"spark.io.encryption.enabled":              {"true", ""},
				"spark.kubernetes.executor.useDriverPodIP": {"true", ""},
				"spark.kubernetes.executor.label.sparkoperator.dev/jdk-version": {"21", ""},
			}},
		"an image with its version": {`{}`, map[string][2]string{
			"spark.kubernetes.container.image": {"docker.io/apache/spark:4.2.0",
				"spec.sparkConf[spark.kubernetes.container.image]"},
		}},
		"jars and files": {`{jars: "` + jar + `, local:///b.jar", files: "s3a://b/f"}`, map[string][2]string{
			"spark.jars": {"local:///b.jar", "spec.jars"}, "spark.files": {"s3a://b/f", "spec.files"},
		}},
		"jars and files of sparkConf": {`{jars: "` + jar +
			`,local:///b.jar", files: "s3a://b/f", sparkConf: {spark.jars: "ivy://a:b:c", spark.files: "s3a://c/g"}}`,
			map[string][2]string{
				"spark.jars":  {"ivy://a:b:c", "spec.sparkConf[spark.jars]"},
				"spark.files": {"s3a://c/g", "spec.sparkConf[spark.files]"},
			}},
		"Python files": {`{jars: "", mainClass: "", pyFiles: "local:///a.py,local:///b.py"}`,
			map[string][2]string{"spark.submit.pyFiles": {"local:///b.py", "spec.pyFiles"}}},
	} {
		app := written(t)
		if err := yaml.UnmarshalStrict([]byte(c.spec), &app.Spec); err != nil {
			t.Fatal(err)
		}

		got := map[string][2]string{}
		for _, s := range judged(t, Applications{}, app).Settings() {
			if _, asked := c.want[s.Key]; asked {
				got[s.Key] = [2]string{s.Value, s.Field}
			}
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	for name, change := range map[string]func(*sparkv1.ApplicationSpec){
		"no program": func(s *sparkv1.ApplicationSpec) { s.Jars, s.PyFiles = "", "a.zip" },
		"an image that is too long": func(s *sparkv1.ApplicationSpec) {
			s.SparkConf["spark.kubernetes.container.image"] = strings.Repeat("{{SPARK_VERSION}}", 1000)
		},
	} {
		app := written(t)
		change(&app.Spec)

		if all := (Applications{}).next(app, 1, noon).Settings(); all != nil {
			t.Errorf("%s: settings are %v", name, all)
		}
	}
}

// TestRulesJudgeTheDefaults checks that the rules see the configuration with the platform's defaults and the labels of
// the application.
func TestRulesJudgeTheDefaults(t *testing.T) {
	app := written(t, "metadata: {labels: {team: a}}")

	subject := judged(t, withDefaults(), app)
	if subject.Labels["team"] != "a" {
		t.Errorf("labels %v", subject.Labels)
	}

	if got := subject.Workers(); got.Max != 5 {
		t.Errorf("%d executors, want the default of 5", got.Max)
	}

	if !slices.ContainsFunc(subject.Settings(),
		func(s dialect.Setting) bool { return s.Key == "spark.eventLog.compress" && s.Value == "true" }) {
		t.Error("the settings lack a default of the platform")
	}

	if pods := podsOf(t, subject); pods[0].Spec.Containers[0].Image == "" ||
		pods[0].Meta.Labels["team"] != "platform" || pods[1].Spec.NodeSelector["pool"] != "spot" {
		t.Errorf("the pods lack the defaults: %+v", pods)
	}
}

// TestWorkersIsTheLargestNumberOfExecutors checks the number of executors that the rules limit.
func TestWorkersIsTheLargestNumberOfExecutors(t *testing.T) {
	const instances, most = "spec.sparkConf[spark.executor.instances]",
		"spec.sparkConf[spark.dynamicAllocation.maxExecutors]"
	for conf, want := range map[string]dialect.Workers{
		`{}`:                                {Field: instances, Max: 2},
		`{spark.executor.instances: " 7 "}`: {Field: instances, Max: 7},
		`{spark.executor.instances: many}`:  {Field: instances, Max: 2147483647, Unlimited: true},
		`{spark.executor.instances: "${spark.n}", spark.n: "5"}`:                                                              {Field: instances, Max: 5},
		`{spark.executor.instances: "9", spark.dynamicAllocation.enabled: "no"}`:                                              {Field: instances, Max: 2147483647, Unlimited: true},
		`{spark.dynamicAllocation.enabled: "${spark.on}", spark.on: "true"}`:                                                  {Field: most, Max: 2147483647, Unlimited: true},
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
		if got, _ := (Applications{}).next(app, 1, noon).Attempt.Workers(nil); got != want {
			t.Errorf("%s: %+v, want %+v", conf, got, want)
		}
	}
}

// twoEntries is an application with two exposed entries: an Ingress and a route.
const twoEntries = `
spec:
  driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: ui}, ingressSpec: {rules: [{host: h}]}}]
  driverHttpRouteList: [{serviceMetadata: {name: web}, serviceSpec: {ports: [{port: 81}]}, httpRouteMetadata: {name: web}, httpRouteSpec: {parentRefs: [{name: g}]}}]`

// TestRulesRefuseAnApplication checks that a review and a pass reject an application for its own faults and for those
// of its Ingresses and routes. The rules about Ingresses and routes do not apply if the operator creates none.
func TestRulesRefuseAnApplication(t *testing.T) {
	image, host := &dialect.FieldError{Field: "spec.x", Message: "the image is refused"},
		&dialect.FieldError{Field: "spec.y", Message: "the host is refused"}
	for name, c := range map[string]struct {
		rules     *recordingRules
		outside   bool
		want      string
		exposures int
	}{
		"nothing refused": {&recordingRules{}, true, "", 2},
		"a pod": {&recordingRules{faults: []*dialect.FieldError{image}}, false,
			"spec.x: the image is refused", 0},
		"the Ingress and the route": {&recordingRules{exposureFaults: []*dialect.FieldError{host}}, true,
			"spec.y: the host is refused; spec.y: the host is refused", 2},
		"both": {&recordingRules{faults: []*dialect.FieldError{image},
			exposureFaults: []*dialect.FieldError{host}}, true,
			"spec.x: the image is refused; spec.y: the host is refused; spec.y: the host is refused", 2},
		"an Ingress that would not be created": {&recordingRules{exposureFaults: []*dialect.FieldError{host}}, false,
			"", 0},
	} {
		a, app := Applications{Options{Rules: c.rules, Outside: c.outside}}, written(t, twoEntries)
		review := a.Review(app, noon)

		var got string
		if cause := dialect.Invalid(review.Faults); cause != nil {
			got = cause.Message
		}

		if got != c.want || len(c.rules.exposing) != c.exposures || (review.Pods == nil) != (c.want != "") {
			t.Errorf("%s: the review reports %q after judging %d Ingresses and routes", name, got,
				len(c.rules.exposing))
		}

		_, invalid := a.causes(app, noon)
		if (invalid == nil) != (c.want == "") || invalid != nil &&
			(invalid.Reason != "InvalidSpec" || invalid.Message != c.want) {
			t.Errorf("%s: a pass reports %+v", name, invalid)
		}
	}
}

// TestRefusedEntriesAreNotCreated checks an application that runs when the rules become stricter: its Services exist,
// its Ingress and its route do not, and the reasons are reported.
func TestRefusedEntriesAreNotCreated(t *testing.T) {
	rules := &recordingRules{exposureFaults: []*dialect.FieldError{{Field: "spec.y", Message: "the host is refused"}}}
	app := inPhase(lifecycle.Running, written(t, twoEntries))

	objects, wrong := Applications{Options{Rules: rules, Outside: true}}.auxiliaryObjects(app, 1)
	if specs := specsOf(t, objects); len(specs) != 2 || specs["Service ui"] == nil || specs["Service web"] == nil {
		t.Errorf("objects %v", specs)
	}

	refused := lifecycle.Cause{Reason: "InvalidSpec", Message: "spec.y: the host is refused"}
	if diff := cmp.Diff([]lifecycle.Cause{refused, refused}, wrong); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
