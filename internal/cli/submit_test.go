package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/cmdline"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

const image = "--conf=spark.kubernetes.container.image=docker.io/apache/spark:4.1.4"

// withoutSpark hides a Spark installation of the test machine from the program.
func withoutSpark(t *testing.T) {
	t.Helper()

	for _, name := range []string{
		"SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "MASTER", "DEPLOY_MODE", "SPARK_DRIVER_MEMORY",
		"SPARK_EXECUTOR_MEMORY", "SPARK_EXECUTOR_CORES",
		"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_USER", "HADOOP_USER_NAME", "SPARK_SUBMIT_OPTS",
		"SPARK_LOCAL_DIRS", "SPARK_REMOTE",
	} {
		t.Setenv(name, "") // restores it at the end

		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// lines are command lines of spark-submit as users write them.
var lines = map[string][]string{
	"java": {
		"--master", "k8s://https://cluster.example.org:6443", "--deploy-mode", "cluster", "--name", "Spark Pi",
		"--class", "org.apache.spark.examples.SparkPi",
		image, "--conf", "spark.kubernetes.authenticate.driver.serviceAccountName=spark", "--conf",
		"spark.kubernetes.namespace=jobs",
		"--driver-memory", "2g", "--driver-cores", "2", "--executor-memory=4g", "--executor-cores", "2",
		"--num-executors", "5",
		"--jars", "local:///opt/a.jar,https://example.org/b.jar", "--files", "s3a://bucket/f.txt", "--packages",
		"org.example:lib:1.0",
		"--driver-java-options", "-Dx=y", "--conf", "spark.kubernetes.driver.label.team=data",
		"local:///opt/spark/examples/jars/spark-examples.jar", "--master", "1000",
	},
	"python": {
		"--deploy-mode", "cluster", image, "--py-files", "local:///opt/lib.zip", "--archives", "s3a://b/env.tgz#env",
		"--proxy-user", "ann",
		"--conf", "spark.dynamicAllocation.enabled=true", "-c", "spark.app=${env:HOME}/x", "--verbose",
		"local:///opt/job.py",
	},
	"r": {"--deploy-mode", "cluster", image, "--conf", "spark.kubernetes.driver.pod.name=r-driver",
		"--conf", "spark.dynamicAllocation.enabled=false", // two executors are the default
		"local:///opt/job.R", "a", "b c"},
}

// TestSubmitDryRun checks the manifests that the verb submit prints for command lines without a cluster.
func TestSubmitDryRun(t *testing.T) {
	withoutSpark(t)

	for name, line := range lines {
		got := run(t, append([]string{"submit", "--dry-run"}, line...)...)
		if got.code != exit.OK {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.err)
		}

		golden(t, "submit/"+name+".yaml",
			got.out+"# "+strings.ReplaceAll(strings.TrimSpace(got.err), "\n", "\n# ")+"\n")
	}
}

// TestSubmitBuildsWhatSparkSubmitBuilds compares two driver pods: the operator's pod for the manifest, and
// spark-submit's pod for the command line. They must be equal, except for names, labels, and settings that the operator
// adds to every pod.
func TestSubmitBuildsWhatSparkSubmitBuilds(t *testing.T) {
	withoutSpark(t)

	for name, line := range lines {
		if name == "java" {
			// Packages need a JVM to resolve them.
			line = slicesWithout(line, "--packages", "org.example:lib:1.0")
		}

		submitter := cmdline.Submitter{SparkVersion: "4.1.4", Environment: map[string]string{"HOME": "/home/ann"}}

		made, err := manifest.FromLine(line, submitter)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		made.Application.Name = "job"

		launched, err := preview.Operator{Config: config.Default(), Now: scene.Noon}.Launch(made.Application)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		driver := podIn(t, launched.Objects)
		submitter.Environment["MASTER"] = manifest.DefaultMaster

		r, _, err := cmdline.Parse(line, submitter)
		if err != nil {
			t.Fatal(err)
		}

		r.AppID, r.ResourceNamePrefix, r.SubmitTime = driver.Labels["spark-app-selector"], "prefix", scene.Noon

		built, err := native.Build(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		want, got := neutral(t, built.Driver), neutral(t, driver)
		// The operator adds these to all drivers, and a template for its executors.
		got.EnableServiceLinks, got.Containers[0].TerminationMessagePolicy = want.EnableServiceLinks,
			want.Containers[0].TerminationMessagePolicy

		got.Volumes, got.Containers[0].VolumeMounts = got.Volumes[1:], got.Containers[0].VolumeMounts[1:]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-spark-submit +operator):\n%s", name, diff)
		}
	}
}

func slicesWithout(line []string, words ...string) (rest []string) {
	for _, word := range line {
		if word != words[0] && word != words[1] {
			rest = append(rest, word)
		}
	}
	return rest
}

// TestSubmitRefuses checks that options that cannot be converted are rejected with the reason and with what to do
// instead.
func TestSubmitRefuses(t *testing.T) {
	withoutSpark(t)

	secret := filepath.Join(t.TempDir(), "keytab")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const jar = "local:///x.jar"

	cluster := []string{"--deploy-mode", "cluster", "--class", "X", image}
	for _, test := range []struct {
		args []string
		code exit.Code
		says string
	}{
		{[]string{"--class", "X", image, jar}, exit.Invalid, "--deploy-mode cluster"},
		{[]string{"--master", "mesos://h:5050", "--deploy-mode", "cluster", "--class", "X", image, jar}, exit.Invalid,
			"k8s://"},
		{append(cluster, "/home/me/x.jar"), exit.Invalid, "local:///PATH"},
		{append(cluster, "--jars", "lib.jar", jar), exit.Invalid, "local:///PATH"},
		{append(cluster, "--kill", "x"), exit.Invalid, "--kill"},
		{append(cluster, "--no-such-option", jar), exit.Invalid, "--no-such-option"},
		{append(cluster, "--conf", "spark.kubernetes.authenticate.driver.caCertFile="+secret, jar), exit.Invalid,
			"service account"},
		{append(cluster, "--principal", "p", "--keytab", secret, jar), exit.Invalid, "Secret"},
		{[]string{"--deploy-mode", "cluster", "--class", "X", "--conf", "spark.kubernetes.container.image=spark:latest",
			jar}, exit.Usage, "--spark-version"},
		{append(cluster, "--dry-run", "--wait=maybe", jar), exit.Usage, "wait"},
		{cluster, exit.Invalid, "the application's file is missing"},
	} {
		got := run(t, append([]string{"submit", "--dry-run"}, test.args...)...)
		if got.code != test.code || !strings.Contains(got.err, test.says) {
			t.Errorf("%v: exit code %d, %q, want %d and %q", test.args, got.code, got.err, test.code, test.says)
		}
	}

	if got := run(t, "submit", "--help"); got.code != exit.OK || !strings.Contains(got.out, "--spark-version") {
		t.Errorf("the help: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// TestSubmitTakesEveryOption checks that each option of each supported Spark release line is either converted, or named
// in an error or a warning.
func TestSubmitTakesEveryOption(t *testing.T) {
	withoutSpark(t)

	properties := filepath.Join(t.TempDir(), "p.conf")
	if err := os.WriteFile(properties, []byte("spark.from.file yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for option, test := range map[string]struct{ value, shows string }{
		"--archives":                  {"s3a://b/a.tgz", "archives:"},
		"--driver-class-path":         {"/cp", "spark.driver.extraClassPath: /cp"},
		"--driver-default-class-path": {"/cp", "spark.driver.defaultExtraClassPath: /cp"},
		"--driver-library-path":       {"/lib", "spark.driver.extraLibraryPath: /lib"},
		"--exclude-packages":          {"a:b", "excludePackages:"},
		"--repositories":              {"https://repo.example.org", "repositories:"},
		"--properties-file":           {properties, "spark.from.file"},
		"--queue":                     {"q", "YARN"}, "--total-executor-cores": {"4", "standalone"},
		"--supervise": {"", "standalone"},
		"--status":    {"x", "--status"}, "--version": {"", "--version"},
		"--usage-error": {"", "--usage-error"}, "--remote": {"sc://x", "spark.remote"},
		"--load-spark-defaults": {"", "kind: SparkApplication"},
		"--principal":           {"me", "spark.kerberos.principal"}, "--extra-properties-file": {properties, "4.2"},
		"--proxy-user": {"ann", "proxyUser: ann"},
	} {
		args := []string{"submit", "--dry-run", "--deploy-mode", "cluster", "--class", "X", image, option}
		if test.value != "" {
			args = append(args, test.value)
		}

		got := run(t, append(args, "local:///x.jar")...)
		if !strings.Contains(got.out+got.err, test.shows) {
			t.Errorf("%s: exit code %d, want %q in\n%s", option, got.code, test.shows, got.out+got.err)
		}
	}
}

func TestVersionOfImage(t *testing.T) {
	for image, want := range map[string]string{
		"apache/spark:4.1.4": "4.1.4", "registry:5000/spark:v3.5.7-scala2.12": "3.5.7",
		"spark:4.0.1@sha256:abc": "4.0.1", "spark": "", "spark:latest": "", "a:5000/b": "",
	} {
		if got := manifest.ImageVersion(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}
