package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// pastedLine is a form of a command line of spark-submit as pages and teams have it. {} stands for options that all
// forms share.
type pastedLine struct {
	line string
	// warns are parts of warnings; all other settings must carry over without one.
	warns []string
}

// pastedForms are forms for Kubernetes, YARN and standalone clusters, after Spark's documentation and that of clouds.
var pastedForms = []pastedLine{
	{"--master k8s://https://192.0.2.1:6443 --deploy-mode cluster {}", []string{"--master: has no effect"}},
	{"{} --deploy-mode cluster --master k8s://192.0.2.1:443", []string{"--master: has no effect"}},
	{"--deploy-mode=cluster {}", nil},
	{"--conf spark.submit.deployMode=cluster {}", nil},
	{"--verbose --deploy-mode cluster {}", nil},
	{"--master yarn --deploy-mode cluster {}",
		[]string{`--master: "yarn" has no effect: the application runs on Kubernetes`}},
	{"--master=yarn {} --deploy-mode=client",
		[]string{`--master: "yarn"`, "--deploy-mode: the driver runs in the cluster"}},
	{"--master yarn {}", []string{`--master: "yarn"`, "--deploy-mode: the driver runs in the cluster"}},
	{"--master yarn-cluster --queue prod {}",
		[]string{`--master: "yarn-cluster"`, "--deploy-mode:", "--queue: has no effect"}},
	{"--master yarn --deploy-mode cluster --conf spark.yarn.maxAppAttempts=1 {}",
		[]string{`--master: "yarn"`, "spark.yarn.maxAppAttempts: has no effect: only YARN reads it"}},
	{"--master yarn --deploy-mode cluster --conf spark.shuffle.service.enabled=true {}",
		[]string{`--master: "yarn"`,
			"spark.shuffle.service.enabled: has no effect: Kubernetes has no shuffle service"}},
	{"--master yarn --deploy-mode cluster --conf spark.yarn.appMasterEnv.A=b {}", []string{`--master: "yarn"`}},
	{"--master spark://h:7077 --deploy-mode cluster {}", []string{`--master: "spark://h:7077"`}},
	{"--master spark://h:7077 --supervise --deploy-mode cluster {}",
		[]string{`--master: "spark://h:7077"`, "--supervise: has no effect"}},
	{"--conf spark.master=yarn --conf spark.submit.deployMode=cluster {}", []string{`--master: "yarn"`}},
}

// pastedPrograms are programs, and the first word of the line.
var (
	pastedPrograms = []struct{ options, file, class string }{
		{"--class org.apache.spark.examples.SparkPi", "local:///opt/spark/examples/jars/spark-examples.jar 1000",
			"org.apache.spark.examples.SparkPi"},
		{"--class a.B --jars local:///a.jar,s3a://b/c.jar", "s3a://bucket/app.jar --master x", "a.B"},
		{"--py-files local:///lib.zip", "local:///opt/job.py --date 2026-01-01", ""},
		{"--packages org.example:lib:1.0 --files gs://b/f", "gs://bucket/job.py", ""},
		{"", "hdfs:///apps/job.py $(A) 'b c'", ""},
	}
	pastedWords = []string{"", "spark-submit ", "./bin/spark-submit ", "/opt/spark/bin/spark-submit "}
)

// TestPastedLines makes 300 command lines of pastedForms, and checks that submit accepts each, that convert accepts
// those that begin with spark-submit, and that each setting of the line arrives or has a warning.
func TestPastedLines(t *testing.T) {
	withoutSpark(t)

	refused, different, n := 0, 0, 0
	for i, form := range pastedForms {
		for j, program := range pastedPrograms {
			for k, word := range pastedWords {
				n++
				name := []string{"", "--name nightly"}[(i+j+k)%2]
				text := strings.ReplaceAll(form.line, "{}", strings.Join([]string{
					"--executor-memory 4g", name, program.options, "--num-executors 7 --driver-cores 2", image,
					"-c spark.sql.shuffle.partitions=64"}, " "))
				line := word + text + " " + program.file

				verb := []string{"submit", "--dry-run"}
				if word != "" && (i+j)%2 == 0 {
					verb = []string{"convert"}
				}

				got := run(t, append(verb, words(line)...)...)
				if got.code != exit.OK {
					refused++

					t.Errorf("%s %s: %s", verb[0], line, got.err)
					continue
				}

				if problems := differences(got, form, verb[0] == "submit", program.file, program.class,
					name); len(problems) > 0 {
					different++

					t.Errorf("%s %s: %q\n%s", verb[0], line, problems, got.err)
				}
			}
		}
	}

	t.Logf("%d lines, %d refused, %d silently different", n, refused, different)

	if n < 300 {
		t.Errorf("only %d lines", n)
	}
}

// TestCasesOfLines checks the lines of the handed-over cases c01 and c03.
func TestCasesOfLines(t *testing.T) {
	withoutSpark(t)

	for _, line := range []string{
		"./bin/spark-submit --master k8s://https://192.0.2.1:6443 --deploy-mode cluster --conf spark.kubernetes.container.image=spark:3.5.1 local:///opt/spark/examples/src/main/python/pi.py",
		"spark-submit --master yarn --deploy-mode cluster --num-executors 10 --executor-memory 4G --executor-cores 2 --queue prod --spark-version 3.5.1 " +
			"--conf spark.kubernetes.container.image=spark:3.5.1 --class a.B hdfs:///apps/app.jar arg",
	} {
		for _, verb := range [][]string{{"convert"}, {"submit", "--dry-run"}} {
			if got := run(t, append(verb, words(line)...)...); got.code != exit.OK ||
				!strings.Contains(got.out, "sparkVersion: 3.5.1") {
				t.Errorf("%s %s: exit code %d, %s", verb, line, got.code, got.err)
			}
		}
	}
}

// words splits a line as a shell does that knows single quotes only.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}

		all = append(all, strings.Fields(part)...)
	}
	return all
}

// differences returns what a manifest and its warnings lack of a line. The argument launched says that the warnings
// of a launch are among them.
func differences(got result, form pastedLine, launched bool, file, class, name string) (problems []string) {
	app := v1beta2.SparkApplication{}
	if err := yaml.Unmarshal([]byte(got.out), &app); err != nil {
		return []string{err.Error()}
	}

	check := func(what string, is, want any) {
		if fmt.Sprint(is) != fmt.Sprint(want) {
			problems = append(problems, fmt.Sprintf("%s is %v, want %v", what, is, want))
		}
	}
	parts := words(file)
	check("file", app.Spec.MainApplicationFile, parts[0])
	check("arguments", app.Spec.Arguments, parts[1:])

	spark := app.Spec.SparkConf["spark.app.name"]
	switch {
	case name != "":
		check("name", spark, "nightly")
	case class != "":
		check("name", spark, class)
	default:
		check("name", spark, filepath.Base(parts[0]))
	}

	if app.Spec.Executor.Instances == nil || app.Spec.Executor.Memory == nil || app.Spec.Driver.Cores == nil {
		return append(problems, "a size is missing")
	}

	check("executors", *app.Spec.Executor.Instances, 7)
	check("memory", *app.Spec.Executor.Memory, "4g")
	check("cores", *app.Spec.Driver.Cores, 2)
	check("partitions", app.Spec.SparkConf["spark.sql.shuffle.partitions"], "64")

	if strings.Contains(form.line, "appMasterEnv.A=b") {
		check("variable", app.Spec.SparkConf["spark.kubernetes.driverEnv.A"], "b")
	}

	wanted := slices.Clone(form.warns)
	if launched && strings.Contains(file, "$(A)") && !strings.Contains(form.line, "appMasterEnv.A") {
		wanted = append(wanted, `spec.arguments[0]: the application gets "$(A)" as it is`)
	}

	warnings := strings.ReplaceAll(got.err, "\n", " ")
	for _, want := range wanted {
		if !strings.Contains(warnings, want) {
			problems = append(problems, "no warning "+want)
		}
	}

	check("number of warnings", strings.Count(got.err, "warning: "), len(wanted))
	return problems
}

// TestSubmitReadsTheEnvironment checks values that spark-submit takes from the environment of the submitting machine.
func TestSubmitReadsTheEnvironment(t *testing.T) {
	withoutSpark(t)

	for name, value := range map[string]string{
		"TAG": "7", "SPARK_LOCAL_DIRS": "/fast,/slow",
		"SPARK_SUBMIT_OPTS": "-Dspark.from.opts=1 -Dspark.sql.x='a b' -Dother=2", "SPARK_USER": "ann",
	} {
		t.Setenv(name, value)
	}

	got := run(t, "submit", "--dry-run", "--deploy-mode", "cluster", "--spark-version", "4.1.4", "--conf",
		"spark.my.tag=${env:TAG}",
		"--conf", "spark.kubernetes.container.image=registry.example/spark:${spark.my.tag}", "--conf",
		"spark.sql.x=line", "local:///a.py")

	app := v1beta2.SparkApplication{}
	if err := yaml.Unmarshal([]byte(got.out), &app); err != nil || got.code != exit.OK {
		t.Fatal(err, got.err)
	}

	if *app.Spec.Image != "registry.example/spark:7" {
		t.Errorf("the image is %s", *app.Spec.Image)
	}

	for key, want := range map[string]string{
		"spark.my.tag": "${env:TAG}", "spark.from.opts": "1", "spark.sql.x": "line", "spark.local.dir": "/fast,/slow",
		"spark.kubernetes.driverEnv.SPARK_USER": "ann", "other": "",
	} {
		if app.Spec.SparkConf[key] != want {
			t.Errorf("%s is %q, want %q", key, app.Spec.SparkConf[key], want)
		}
	}
}

// TestSubmitPrintsWarnings checks that submit prints the warnings of a launch, and that a pod has to run spark-submit.
func TestSubmitPrintsWarnings(t *testing.T) {
	withoutSpark(t)

	got := run(t, "submit", "--dry-run", "--deploy-mode", "cluster", image, "--conf", "spark.a=$(B)", "--packages",
		"a:b:1",
		"--conf", "spark.kubernetes.driver.pod.featureSteps=org.example.Step", "--class", "a.B", "local:///a.jar")
	if got.code != exit.OK || !strings.Contains(got.err, `"$(B)" stays as it is`) ||
		!strings.Contains(got.err, "a pod that runs spark-submit creates the driver") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
}
