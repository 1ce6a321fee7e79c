package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVersion(t *testing.T) {
	version = "1.2.3"
	t.Cleanup(func() { version = "" })

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"version", "--short"}, "1.2.3\n"},
		{[]string{"version"}, "spark-operator 1.2.3 (revision "},
	} {
		if got, err := execute(t, test.args...); err != nil || !strings.HasPrefix(got, test.want) {
			t.Errorf("%v: %q, %v; want %q", test.args, got, err, test.want)
		}
	}

	version = ""

	if got, err := execute(t, "version", "--short"); err != nil || strings.TrimSpace(got) == "" {
		t.Errorf("without a stamp: %q, %v", got, err)
	}
}

// TestUnusedFlagsAreLogged checks that flags and environment variables without effect are logged by name, and that
// their values are not logged.
func TestUnusedFlagsAreLogged(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("SPARK_SUBMIT_OPTS", "-Dpassword=secret")

	out, err := execute(t, "controller", "start", "--kube-api-qps=20", "--submitter-max-retries", "3",
		"--feature-gates=RestSubmitter=true")
	if err == nil {
		t.Fatal("it started")
	}

	for _, want := range []string{"--kube-api-qps", "--submitter-max-retries", "RestSubmitter", "SPARK_SUBMIT_OPTS"} {
		if strings.Count(out, want) < 1 {
			t.Errorf("%s is not logged:\n%s", want, out)
		}
	}

	if strings.Contains(out, "secret") {
		t.Error("the value of the variable is logged")
	}
}

// TestUnusedPropertiesAreLogged checks that properties of the Java operator that have no effect are logged by name and
// reason, and that spark.logConf logs the configuration.
func TestUnusedPropertiesAreLogged(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := filepath.Join(t.TempDir(), "spark-operator.properties")

	const properties = "spark.logConf=true\nspark.kubernetes.operator.watchedNamespaces=team-a\nspark.kubernetes.operator.reconciler.parallelism=7\n" +
		"spark.kubernetes.operator.api.retryMaxAttempts=3\nspark.kubernetes.operator.mine=secret\nspark.mine.token=secret\n"
	if err := os.WriteFile(file, []byte(properties), 0o600); err != nil {
		t.Fatal(err)
	}

	out, err := execute(t, "controller", "start", "--apache-properties="+file)
	if err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Fatalf("%v, want it to get as far as to the cluster", err)
	}

	for _, want := range []string{"spark.kubernetes.operator.api.retryMaxAttempts", "spark.kubernetes.operator.mine",
		"there is no such property", "team-a", "workers", "7"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not logged:\n%s", want, out)
		}
	}

	if strings.Contains(out, "secret") {
		t.Error("the value of a property is logged")
	}

	if _, err := execute(t, "controller", "start", "--apache-properties"); err == nil ||
		!strings.Contains(err.Error(), "/opt/spark-operator/conf/spark-operator.properties") {
		t.Errorf("%v, want it to name where that operator's chart mounts them", err)
	}
}

// TestInvalidUIAddressIsLoggedOnce checks that an invalid address of web UIs, from a flag or from the file, is logged
// once and does not prevent the operator from starting.
func TestInvalidUIAddressIsLoggedOnce(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")

	file := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(file,
		[]byte("apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\nui: {ingress: {urlFormat: '/{{$appName}}'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, arg := range []string{"--ingress-url-format=/{{$appNamespace}}/{{$appName}}", "--config=" + file} {
		out, err := execute(t, "controller", "start", arg)
		if err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
			t.Errorf("%s: %v, want it to get as far as to the cluster", arg, err)
		}

		if strings.Count(out, "ui.ingress.urlFormat") != 1 || !strings.Contains(out, "needs a host") {
			t.Errorf("%s: the log is\n%s", arg, out)
		}
	}
}

func TestStartReportsFaults(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")

	file := func(content string) string {
		name := filepath.Join(t.TempDir(), "file.yaml")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no configuration file", []string{"controller", "start", "--config", "/does/not/exist"}, "/does/not/exist"},
		{"a bad field", []string{"controller", "start", "--config", file("controller: {workers: -1}")},
			"controller.workers"},
		{"an unknown field", []string{"controller", "start", "--config", file("controller: {worker: 1}")},
			"controller.worker"},
		{"no cluster", []string{"controller", "start"}, "KUBECONFIG"},
		{"no kubeconfig file", []string{"controller", "start", "--kubeconfig", "/does/not/exist"}, "/does/not/exist"},
		{"an argument", []string{"controller", "start", "now"}, "now"},
		{"an unknown command", []string{"controler"}, "controler"},
		{"the command webhook, which does not exist", []string{"webhook", "start"},
			"delete the Deployment that runs this command"},
		{"the command webhook with a flag of the kubeflow operator",
			[]string{"webhook", "start", "--webhook-port=9443"}, "there is no webhook program"},
		{"an unknown flag", []string{"controller", "start", "--controller-treads=3"}, "controller-treads"},
		{"a bad value of a flag", []string{"controller", "start", "--controller-threads=0x"}, "0x"},
		{"an invalid value of the field that a flag sets", []string{"controller", "start", "--controller-threads=-1"},
			"controller.workers"},
		{"no cluster, with flags", []string{"controller", "start", "--namespaces=default", "--leader-election=false",
			"--kube-api-qps=20"}, "KUBECONFIG"},
	} {
		if _, err := execute(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want it to name %q", test.name, err, test.want)
		}
	}
}
