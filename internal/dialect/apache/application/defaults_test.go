package application

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// platformDefaults returns defaults of every sort that an application can use. Only one of them has an origin.
func platformDefaults() *platform.Settings {
	region := []corev1.EnvVar{{Name: "REGION", Value: "eu"}}
	return &platform.Settings{
		Version:   "v1",
		SparkConf: map[string]string{"spark.eventLog.compress": "true", "spark.executor.instances": "5"},
		Images: map[string]string{"4.2": "registry.example.org/spark:{{SPARK_VERSION}}",
			"": "registry.example.org/spark:any"},
		Driver:   platform.Pod{Labels: map[string]string{"team": "platform"}, Env: region},
		Executor: platform.Pod{NodeSelector: map[string]string{"pool": "spot"}, Env: region},
		Timeouts: platform.Timeouts{DriverStartSeconds: new(int64(60)), DriverReadySeconds: new(int64(0)),
			RunSeconds: new(int64(3600))},
		Origins: map[string]string{"sparkConf[spark.eventLog.compress]": "defaults[0] (all)"},
	}
}

// withDefaults is an Applications value with platformDefaults.
func withDefaults() Applications { return Applications{Options{Defaults: platformDefaults()}} }

// treeOf parses JSON or YAML. An empty text has no tree.
func treeOf(t *testing.T, text string) (tree any) {
	t.Helper()

	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tree
}

// TestDefaultsFillWhatASpecLeavesOut checks the merge of defaults into a spec: the resulting sparkConf and templates,
// and the names of the settings that were written into fields. A merge must not change the maps and templates of the
// user's spec, and a second merge must change nothing.
func TestDefaultsFillWhatASpecLeavesOut(t *testing.T) {
	const (
		conf     = `spark.eventLog.compress: "true", spark.executor.instances: "5"`
		driver   = `{metadata: {labels: {team: platform}}, spec: {containers: [{name: spark-kubernetes-driver, env: [{name: REGION, value: eu}]}]}}`
		executor = `{spec: {nodeSelector: {pool: spot}, containers: [{name: spark-kubernetes-executor, env: [{name: REGION, value: eu}]}]}}`
		image    = `spark.kubernetes.container.image: "registry.example.org/spark:4.2.0"`
		drivers  = "driver.labels[team] driver.env[REGION] "
		execs    = "executor.nodeSelector[pool] executor.env[REGION] "
		limits   = "timeouts.driverReadySeconds timeouts.driverStartSeconds timeouts.runSeconds"
	)
	for name, c := range map[string]struct {
		spec                         string
		settings                     *platform.Settings
		conf, driver, executor, used string
	}{
		"no defaults": {
			spec:     `{sparkConf: {a: b}, driverSpec: {podTemplateSpec: {spec: {}}}}`,
			settings: &platform.Settings{Version: "v1"},
			conf:     `{a: b}`, driver: `{spec: {}}`,
		},
		"an empty spec": {conf: `{` + conf + `, ` + image + `}`, driver: driver, executor: executor,
			used: "images[4.2] " + drivers + execs + limits},
		"another line of Spark": {
			spec:   `{runtimeVersions: {sparkVersion: 3.5.7}}`,
			conf:   `{` + conf + `, spark.kubernetes.container.image: "registry.example.org/spark:any"}`,
			driver: driver, executor: executor,
			used: "sparkConf[spark.kubernetes.container.image] " + drivers + execs + limits,
		},
		"the user's keys": {
			spec: `{sparkConf: {spark.eventLog.compress: "false", spark.executor.instances: "", spark.kubernetes.container.image: mine}}`,
			conf: `{spark.eventLog.compress: "false", spark.executor.instances: "", spark.kubernetes.container.image: mine}`, driver: driver, executor: executor,
			used: drivers + execs + limits,
		},
		"the user's keys for pods": {
			spec: `{sparkConf: {spark.kubernetes.driver.label.team: mine, spark.kubernetes.driverEnv.REGION: us, spark.kubernetes.node.selector.pool: mine, spark.executorEnv.REGION: us}}`,
			conf: `{` + conf + `, ` + image +
				`, spark.kubernetes.driver.label.team: mine, spark.kubernetes.driverEnv.REGION: us, spark.kubernetes.node.selector.pool: mine, spark.executorEnv.REGION: us}`,
			used: "images[4.2] " + limits,
		},
		"keys for both roles": {
			spec: `{sparkConf: {spark.kubernetes.node.selector.disk: ssd, spark.kubernetes.driverEnv.A: mine, spark.kubernetes.memoryOverheadFactor: "0.3"}}`,
			settings: &platform.Settings{SparkConf: map[string]string{
				"spark.kubernetes.driver.node.selector.disk":   "hdd",
				"spark.kubernetes.executor.node.selector.zone": "a", "spark.kubernetes.driver.secretKeyRef.A": "s:k",
				"spark.kubernetes.executor.secretKeyRef.A": "s:k", "spark.driver.memoryOverheadFactor": "0.1",
			}},
			conf: `{spark.kubernetes.node.selector.disk: ssd, spark.kubernetes.driverEnv.A: mine, spark.kubernetes.memoryOverheadFactor: "0.3",
				spark.kubernetes.executor.node.selector.zone: a, spark.kubernetes.executor.secretKeyRef.A: "s:k"}`,
		},
		"the user's templates": {
			spec:     `{driverSpec: {podTemplateSpec: {metadata: {labels: {team: mine}}}}, executorSpec: {podTemplateSpec: {spec: {containers: [{name: x, env: [{name: REGION}]}]}}}}`,
			conf:     `{` + conf + `, ` + image + `}`,
			driver:   `{metadata: {labels: {team: mine}}, spec: {containers: [{name: spark-kubernetes-driver, env: [{name: REGION, value: eu}]}]}}`,
			executor: `{spec: {nodeSelector: {pool: spot}, containers: [{name: x, env: [{name: REGION}]}]}}`,
			used:     "images[4.2] driver.env[REGION] executor.nodeSelector[pool] " + limits,
		},
		"the container that the user names": {
			spec:   `{sparkConf: {spark.kubernetes.driver.podTemplateContainerName: main}, driverSpec: {podTemplateSpec: {spec: {containers: [{name: side}, {name: main}]}}}}`,
			conf:   `{` + conf + `, ` + image + `, spark.kubernetes.driver.podTemplateContainerName: main}`,
			driver: `{metadata: {labels: {team: platform}}, spec: {containers: [{name: side}, {name: main, env: [{name: REGION, value: eu}]}]}}`, executor: executor,
			used: "images[4.2] " + drivers + execs + limits,
		},
		"a template file, which only Spark can read": {
			spec:     `{sparkConf: {spark.kubernetes.driver.podTemplateFile: /a.yaml}}`,
			conf:     `{` + conf + `, ` + image + `, spark.kubernetes.driver.podTemplateFile: /a.yaml}`,
			executor: executor, used: "images[4.2] " + execs + limits,
		},
		"a template file that a template overrides": {
			spec: `{sparkConf: {spark.kubernetes.executor.podTemplateFile: /a.yaml}, executorSpec: {podTemplateSpec: {metadata: {name: x}}}}`,
			conf: `{` + conf + `, ` + image + `, spark.kubernetes.executor.podTemplateFile: /a.yaml}`, driver: driver,
			executor: `{metadata: {name: x}, spec: {nodeSelector: {pool: spot}, containers: [{name: spark-kubernetes-executor, env: [{name: REGION, value: eu}]}]}}`,
			used:     "images[4.2] " + drivers + execs + limits,
		},
		"a template that is no object": {
			spec: `{driverSpec: {podTemplateSpec: [1]}}`, conf: `{` + conf + `, ` + image + `}`, driver: `[1]`,
			executor: executor, used: "images[4.2] " + execs + limits,
		},
		"the user's timeouts": {
			spec: `{applicationTolerations: {applicationTimeoutConfig: {driverStartTimeoutMillis: 0, driverReadyTimeoutMillis: -1}}}`,
			conf: `{` + conf + `, ` + image + `}`, driver: driver, executor: executor,
			used: "images[4.2] " + drivers + execs + "timeouts.runSeconds",
		},
		"a time to live, which this API does not have": {settings: &platform.Settings{TimeToLiveSeconds: new(int64(1))}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := sparkv1.ApplicationSpec{RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.2.0"}}
			if err := yaml.UnmarshalStrict([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}

			if c.settings == nil {
				c.settings = platformDefaults()
			}

			before, merged := spec.DeepCopy(), spec
			used := merge(&merged, c.settings)

			if diff := cmp.Diff(before, &spec); diff != "" {
				t.Errorf("the merge changes the user's spec:\n%s", diff)
			}

			var conf map[string]string
			if err := yaml.Unmarshal([]byte(c.conf), &conf); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(conf, merged.SparkConf); diff != "" {
				t.Errorf("sparkConf (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(treeOf(t, c.driver),
				treeOf(t, string(rawTemplate(&merged, launch.RoleDriver)))); diff != "" {
				t.Errorf("the driver's template (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(treeOf(t, c.executor),
				treeOf(t, string(rawTemplate(&merged, launch.RoleExecutor)))); diff != "" {
				t.Errorf("the executors' template (-want +got):\n%s", diff)
			}

			if got := strings.Join(used, " "); got != strings.TrimSpace(c.used) {
				t.Errorf("used are %s\nwant     %s", got, c.used)
			}

			again := *merged.DeepCopy()
			for _, setting := range merge(&again, c.settings) {
				if !strings.HasPrefix(setting, "timeouts.") {
					t.Errorf("a second merge uses %s", setting)
				}
			}

			if diff := cmp.Diff(merged, again); diff != "" {
				t.Errorf("a second merge changes the spec:\n%s", diff)
			}
		})
	}
}

// TestDefaultsAreMergedIntoACopy checks that an application without defaults is not copied, and that the merge leaves
// the caller's application as it was.
func TestDefaultsAreMergedIntoACopy(t *testing.T) {
	app := written(t)
	if same := (Applications{}).next(app, 1, noon).Attempt; same.app != app || same.defaults.Settings != nil {
		t.Error("an application without defaults is copied")
	}

	before := app.DeepCopy()

	merged := withDefaults().next(app, 1, noon).Attempt
	if diff := cmp.Diff(before, app); merged.app == app || diff != "" {
		t.Fatalf("the copy is the argument: %t; the argument (-want +got):\n%s", merged.app == app, diff)
	}

	if diff := cmp.Diff(app.Spec.SparkConf, merged.defaults.Own); diff != "" {
		t.Errorf("the user's sparkConf (-want +got):\n%s", diff)
	}
}

// TestDeadlinesAreThoseOfTheLaunch checks which default timeouts apply: the present ones before the first launch, those
// in the status after a launch, and none to an attempt of another operator. A timeout in the spec always takes
// precedence.
func TestDeadlinesAreThoseOfTheLaunch(t *testing.T) {
	const usual = 5 * time.Minute

	launched := func(attempt int32, defaults *sparkv1.OperatorDefaults) func(*sparkv1.SparkApplication) {
		return func(app *sparkv1.SparkApplication) {
			app.Status.Operator = &sparkv1.OperatorStatus{OperatorStatus: v1beta2.OperatorStatus{Attempt: attempt,
				Defaults: defaults}}
		}
	}
	for name, c := range map[string]struct {
		change          func(*sparkv1.SparkApplication)
		settings        *platform.Settings
		start, ready    time.Duration
		executors, runs time.Duration
	}{
		"before the first launch": {func(*sparkv1.SparkApplication) {}, platformDefaults(), time.Minute, 0,
			usual, time.Hour},
		"before the first launch, no defaults": {func(*sparkv1.SparkApplication) {}, nil, usual, usual, usual,
			2 * time.Hour},
		"a run without a limit": {func(*sparkv1.SparkApplication) {},
			&platform.Settings{Timeouts: platform.Timeouts{RunSeconds: new(int64(0))}}, usual, usual, usual, 0},
		"before the launch was stored": {launched(0, nil), platformDefaults(), time.Minute, 0, usual,
			time.Hour},
		"launched without defaults": {launched(1, nil), platformDefaults(), usual, usual, usual,
			2 * time.Hour},
		"launched with other defaults": {launched(1,
			&sparkv1.OperatorDefaults{Version: "v0", Settings: `{"timeouts":{"executorsStartSeconds":7}}`}),
			platformDefaults(), usual, usual, 7 * time.Second, 2 * time.Hour},
		"launched with defaults that are gone": {launched(1,
			&sparkv1.OperatorDefaults{Version: "v0", Settings: `{"timeouts":{"runSeconds":8}}`}), nil, usual, usual,
			usual, 8 * time.Second},
		"a status that somebody edited": {launched(3,
			&sparkv1.OperatorDefaults{Version: "v0", Settings: `{"timeouts":`}), platformDefaults(), usual, usual,
			usual, 2 * time.Hour},
		"an attempt of another operator": {inheritedStatus(0, sparkv1.ApplicationSubmitted,
			sparkv1.ApplicationRunningHealthy), platformDefaults(), usual, usual, usual, 2 * time.Hour},
		"the user's timeouts": {tolerating(sparkv1.ApplicationTolerations{ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{
			DriverStartTimeoutMillis: new(int64(1500)), DriverReadyTimeoutMillis: new(int64(1)),
			ExecutorStartTimeoutMillis: new(int64(0))}}),
			platformDefaults(), 1500 * time.Millisecond, time.Millisecond, 0, time.Hour},
	} {
		app := pi(c.change)
		a := Applications{Options{Defaults: c.settings, Run: 2 * time.Hour}}

		want := lifecycle.Deadlines{DriverStart: c.start, DriverReady: c.ready, ExecutorsStart: c.executors,
			Run: c.runs, RestartAtScaling: true}
		if diff := cmp.Diff(want, a.app(app).Deadlines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSparkConfIsTheUsers checks that the default number of executors applies, and that the user's sparkConf does not
// change.
func TestSparkConfIsTheUsers(t *testing.T) {
	for name, c := range map[string]struct {
		conf map[string]string
		want int32
	}{
		"no sparkConf": {nil, 5}, "an empty one": {map[string]string{}, 5},
		"another key":       {map[string]string{"spark.x": "y"}, 5},
		"the user's number": {map[string]string{"spark.executor.instances": "3"}, 3},
	} {
		app := pi(func(app *sparkv1.SparkApplication) { app.Spec.SparkConf = c.conf })

		before := app.DeepCopy()
		if got := withDefaults().app(app).InitialExecutors; got != c.want {
			t.Errorf("%s: %d executors, want %d", name, got, c.want)
		}

		if diff := cmp.Diff(before, app); diff != "" {
			t.Errorf("%s: afterwards (-want +got):\n%s", name, diff)
		}
	}
}

// TestDefaultsBeforeALaunchKeepKeysForBothRoles checks that decisions before the first launch leave out the same
// defaults as the launch.
func TestDefaultsBeforeALaunchKeepKeysForBothRoles(t *testing.T) {
	app := pi(func(app *sparkv1.SparkApplication) {
		app.Spec.SparkConf = map[string]string{"spark.kubernetes.node.selector.disk": "ssd"}
	})
	defaults := map[string]string{"spark.kubernetes.driver.node.selector.disk": "hdd",
		"spark.kubernetes.driver.node.selector.zone": "a"}
	current := Applications{Options{Defaults: &platform.Settings{SparkConf: defaults}}}.present(app)

	want := map[string]string{"spark.kubernetes.node.selector.disk": "ssd",
		"spark.kubernetes.driver.node.selector.zone": "a"}
	if diff := cmp.Diff(want, current.app.Spec.SparkConf); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDecideNeverWritesDefaultsIntoTheSpec checks that the spec is the user's own after each pass of two attempts.
func TestDecideNeverWritesDefaultsIntoTheSpec(t *testing.T) {
	l := begin(t, Applications{Options{Trim: true, Defaults: platformDefaults()}}, restarting(sparkv1.RestartOnFailure))

	before := l.app.Spec.DeepCopy()
	for _, pass := range []func(){
		func() { l.passWithoutObjects(0) }, func() { l.passWithDriver(time.Second, ready) },
		func() { l.passWithDriver(time.Second, crashed) },
		func() { l.passWithoutObjects(10 * time.Second) }, func() { l.passWithDriver(time.Second, succeeded) },
		func() { l.passWithoutObjects(time.Second) },
	} {
		pass()

		if diff := cmp.Diff(before, &l.app.Spec); diff != "" {
			t.Fatalf("in phase %s:\n%s", l.plan.Next.Phase, diff)
		}
	}

	if l.plan.Next.Phase != lifecycle.Done {
		t.Errorf("the application ends in phase %s", l.plan.Next.Phase)
	}
}

// TestAnAttemptKeepsItsDefaults checks that the status stores the version of the defaults, and the settings that later
// decisions need, at each launch and at no other time.
func TestAnAttemptKeepsItsDefaults(t *testing.T) {
	l := begin(t, Applications{Options{Trim: true, Defaults: platformDefaults()}}, restarting(sparkv1.RestartOnFailure))
	expect := func(when string, want *sparkv1.OperatorDefaults) {
		t.Helper()

		if diff := cmp.Diff(want, l.app.Status.Operator.Defaults); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	first := &sparkv1.OperatorDefaults{Version: "v1",
		Settings: `{"sparkConf":{"spark.executor.instances":"5"},"timeouts":{"driverStartSeconds":60,"driverReadySeconds":0,"runSeconds":3600}}`}

	l.passWithoutObjects(0)
	expect("after the launch", first)

	l.a.Defaults = &platform.Settings{Version: "v2"}
	l.passWithDriver(time.Second, ready)
	expect("after a change of the defaults", first)
	l.passWithDriver(time.Second, crashed)
	expect("between two attempts", first)
	l.passWithoutObjects(10 * time.Second)
	expect("after the next launch", &sparkv1.OperatorDefaults{Version: "v2"})

	l.a.Defaults = nil
	l.passWithDriver(time.Second, ready).passWithDriver(time.Second, crashed)
	expect("after the removal of the defaults", &sparkv1.OperatorDefaults{Version: "v2"})
	l.passWithoutObjects(10 * time.Second)
	expect("after a launch without defaults", nil)

	if l.plan.Next.Attempt != 3 {
		t.Errorf("attempt %d", l.plan.Next.Attempt)
	}
}

// TestOriginsOfDefaults checks that the driver's ConfigMap has the origins of exactly those defaults that the attempt
// uses. If spark-submit creates the ConfigMap, the pod that runs spark-submit has them.
func TestOriginsOfDefaults(t *testing.T) {
	pods := map[string]string{
		"driver.labels[team]": "defaults", "driver.env[REGION]": "defaults", "executor.nodeSelector[pool]": "defaults",
		"executor.env[REGION]":        "defaults",
		"timeouts.driverStartSeconds": "defaults", "timeouts.driverReadySeconds": "defaults",
		"timeouts.runSeconds": "defaults",
	}
	for name, c := range map[string]struct {
		app  *sparkv1.SparkApplication
		keys map[string]string
	}{
		"both keys": {written(t), map[string]string{"sparkConf[spark.eventLog.compress]": "defaults[0] (all)",
			"sparkConf[spark.executor.instances]": "defaults"}},
		"a key that the user sets, even to the same value": {written(t,
			`spec: {sparkConf: {spark.eventLog.compress: "true"}}`),
			map[string]string{"sparkConf[spark.executor.instances]": "defaults"}},
	} {
		want := map[string]string{}
		for _, part := range []map[string]string{pods, c.keys} {
			maps.Copy(want, part)
		}

		a := withDefaults()
		o := rendered(t, a, c.app, 1)

		config := named[*corev1.ConfigMap](t, o, "pi-0-spark-drv-conf-map")
		if diff := cmp.Diff(want, platform.Origins(config.Annotations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		if config.Annotations["sparkoperator.dev/defaults"] != "v1" ||
			o.Driver.Annotations["sparkoperator.dev/defaults"] != "v1" {
			t.Errorf("%s: the versions are %v and %v", name, config.Annotations, o.Driver.Annotations)
		}

		a.Submission = dialect.SubmissionSparkSubmit
		if diff := cmp.Diff(want, platform.Origins(rendered(t, a, c.app, 1).Driver.Annotations)); diff != "" {
			t.Errorf("%s, by spark-submit (-want +got):\n%s", name, diff)
		}
	}

	o := rendered(t, Applications{}, written(t), 1)
	for _, object := range append(o.Before, submit.Object(o.Driver)) {
		if _, ok := object.GetAnnotations()["sparkoperator.dev/defaults"]; ok {
			t.Errorf("without defaults, %s has the annotations %v", object.GetName(), object.GetAnnotations())
		}
	}
}

// TestDefaultsReachThePods checks that a driver and an executor have the defaults, and that a review renders the same
// pods for quotas.
func TestDefaultsReachThePods(t *testing.T) {
	app := written(t)
	delete(app.Spec.SparkConf, "spark.kubernetes.container.image")
	driver := rendered(t, withDefaults(), app, 1).Driver

	executor, err := withDefaults().Executor(app, 1, 1, "uid", noon)
	if err != nil {
		t.Fatal(err)
	}

	const image = "registry.example.org/spark:4.2.0"
	if driver.Labels["team"] != "platform" || driver.Spec.Containers[0].Image != image {
		t.Errorf("the driver has the labels %v and the image %s", driver.Labels, driver.Spec.Containers[0].Image)
	}

	if executor.Spec.NodeSelector["pool"] != "spot" || executor.Spec.Containers[0].Image != image {
		t.Errorf("the executor has the node selector %v and the image %s", executor.Spec.NodeSelector,
			executor.Spec.Containers[0].Image)
	}

	pods := withDefaults().Review(app, noon).Pods()
	if len(pods) != 2 || pods[0].Count != 1 || pods[1].Count != 5 || pods[1].Pod.Spec.NodeSelector["pool"] != "spot" {
		t.Errorf("the review counts %+v", pods)
	}
}

// TestFaultOfADefaultNamesItsOrigin checks that a message about a default names the entry of the operator's
// configuration, because the user's manifest does not contain the key. A message about the user's own value does not.
func TestFaultOfADefaultNamesItsOrigin(t *testing.T) {
	const origin = " (the value is a default of the operator's configuration, defaults[3] (bad); set the key in spec.sparkConf to override it)"
	for by, c := range map[string]struct {
		key    string
		render func(Applications, *sparkv1.SparkApplication) error
	}{
		"the launch": {"spark.driver.memory", func(a Applications, app *sparkv1.SparkApplication) error {
			_, err := a.Render(app, launchOf(1), noon)
			return err
		}},
		"the review, of an executor": {"spark.executor.memory",
			func(a Applications, app *sparkv1.SparkApplication) error {
				return a.Review(app, noon).Faults[0]
			}},
	} {
		a := Applications{Options{Defaults: &platform.Settings{SparkConf: map[string]string{c.key: "much"},
			Origins: map[string]string{"sparkConf[" + c.key + "]": "defaults[3] (bad)"}}}}
		for _, own := range []bool{false, true} {
			app := written(t)
			if own {
				app.Spec.SparkConf[c.key] = "more"
			}

			err := c.render(a, app)
			if err == nil || !strings.HasPrefix(err.Error(), "spec.sparkConf["+c.key+"]: ") ||
				strings.HasSuffix(err.Error(), origin) == own {
				t.Errorf("%s, with a value of the user: %t: %v", by, own, err)
			}
		}
	}
}

// TestExecutorNeedsTheDefaultsOfItsLaunch checks that no executor is rendered from other defaults than those of its
// attempt, because it would differ from the driver's executors.
func TestExecutorNeedsTheDefaultsOfItsLaunch(t *testing.T) {
	stored := &sparkv1.OperatorDefaults{Version: "v1"}
	for name, c := range map[string]struct {
		stored   *sparkv1.OperatorDefaults
		settings *platform.Settings
		attempt  int32
		changed  bool
	}{
		"the same version":                    {stored, platformDefaults(), 1, false},
		"another version":                     {stored, &platform.Settings{Version: "v2"}, 1, true},
		"defaults that were removed":          {stored, nil, 1, true},
		"defaults that were added":            {nil, platformDefaults(), 1, true},
		"never any defaults":                  {nil, nil, 1, false},
		"another version, of another attempt": {stored, &platform.Settings{Version: "v2"}, 2, false},
	} {
		app := inPhase(lifecycle.Running, written(t))
		app.Status.Operator.Defaults = c.stored

		pod, err := Applications{Options{Defaults: c.settings}}.Executor(app, c.attempt, 1, "uid", noon)
		if errors.Is(err, launch.ErrDefaultsChanged) != c.changed || (pod == nil) != c.changed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
