package act_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/console/act"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// submission sends a submission to /api/v1.
func (b *browser) submission(in act.Submission) (answer, act.Submitted) {
	b.T.Helper()

	var out act.Submitted
	return b.call("/submissions", in, &out), out
}

// check checks a manifest.
func (b *browser) check(namespace, text string) model.Checks {
	b.T.Helper()

	_, out := b.submission(act.Submission{Mode: "manifest", Namespace: namespace, Text: text, DryRun: true})
	return out.Checks
}

// owner returns a user with all rights in the namespace of the test.
func owner(t *testing.T) *browser {
	s := serve(t, nil)
	return s.user(s.token("owner", s.Namespace, everything...))
}

// found returns the errors and warnings of a check as lines.
func found(c model.Checks) string {
	var lines []string
	for _, f := range c.Findings {
		lines = append(lines, fmt.Sprintf("%s %d %s: %s", f.Severity, f.Line, f.Field, f.Message))
	}
	return strings.Join(append(lines, c.Problem), "\n")
}

// TestLineAndForm checks that a command line and a form become the application that sparkctl submit would create, that
// the command shown for a form is a line with the same manifest, and that the browser's form creates it.
func TestLineAndForm(t *testing.T) {
	b := owner(t)

	form := model.Form{
		Name: "my app", File: "local:///app.py", Arguments: `--greeting "hello world" 'a$b'`, Image: "spark:4.1.4", Account: "runner", DriverCores: "1", DriverMemory: "1g",
		Executors: "3", ExecutorCores: "2", ExecutorMemory: "2g", Conf: "spark.ui.enabled=false\n\nspark.app.note=it's a test; really",
	}

	got, ofForm := b.submission(act.Submission{Mode: "form", Namespace: b.Namespace, Form: form, DryRun: true})
	if got.status != http.StatusOK || len(ofForm.Checks.Findings) > 0 {
		t.Fatalf("the form: %d %s", got.status, found(ofForm.Checks))
	}

	for _, want := range []string{"generateName: my-app-", "namespace: " + b.Namespace, "mainApplicationFile: local:///app.py", "- hello world", "- a$b", "instances: 3", "serviceAccount: runner", "sparkVersion: 4.1.4", "it's a test; really"} {
		if !strings.Contains(ofForm.Checks.Manifest, want) {
			t.Errorf("the manifest lacks %s:\n%s", want, ofForm.Checks.Manifest)
		}
	}

	for _, line := range []string{ofForm.Checks.Command, strings.Replace(ofForm.Checks.Command, "sparkctl submit", "/opt/spark/bin/spark-submit", 1), strings.Replace(ofForm.Checks.Command, "sparkctl", "kubectl spark", 1)} {
		if _, ofLine := b.submission(act.Submission{Mode: "line", Text: line, DryRun: true}); ofLine.Checks.Manifest != ofForm.Checks.Manifest {
			t.Errorf("%s becomes another manifest:\n%s\n%s", line, ofLine.Checks.Manifest, found(ofLine.Checks))
		}
	}

	values := url.Values{
		"mode": {"form"}, "namespace": {b.Namespace}, "name": {form.Name}, "file": {form.File}, "image": {form.Image}, "arguments": {form.Arguments}, "request": {"r"}, "conf": {"spark.ui.enabled=false\r\n"},
	}

	checked := b.post("/submit/check", values)
	if checked.status != http.StatusOK || !strings.Contains(checked.text, "No finding") {
		t.Errorf("the check: %d %s", checked.status, plain(checked.text))
	}

	created := b.post("/submit", values)
	if created.status != http.StatusSeeOther || !strings.HasPrefix(created.Get("Location"), "/o/sparkapplications.sparkoperator.k8s.io/"+b.Namespace+"/my-app-") {
		t.Fatalf("the form was not submitted: %d %s", created.status, plain(created.text))
	}

	app := b.World.Get(filepath.Base(created.Get("Location")))
	if !slices.Equal(app.Spec.Arguments, []string{"--greeting", "hello world", "a$b"}) || app.Spec.SparkConf["spark.ui.enabled"] != "false" {
		t.Errorf("the application is %+v", app.Spec)
	}

	values.Set("executors", "many")

	if got := b.post("/submit", values); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.text, "spark.executor.instances") || !strings.Contains(got.text, `value="many"`) {
		t.Errorf("a form with an error: %d %s", got.status, plain(got.text))
	}
}

// TestLineReadsNothingHere checks that a command line makes the console read neither its files nor its environment.
func TestLineReadsNothingHere(t *testing.T) {
	b := owner(t)
	home := t.TempDir()

	secret := filepath.Join(home, "spark-defaults.conf")
	if err := os.WriteFile(secret, []byte("spark.stolen=s3cr3t\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	template := filepath.Join(home, "template.yaml")
	if err := os.WriteFile(template, []byte("metadata: {labels: {stolen: s3cr3t}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Setenv("SPARK_CONF_DIR", home)
	t.Setenv("HADOOP_CONF_DIR", home)
	t.Setenv("MASTER", "yarn")
	t.Setenv("SPARKCTL_STAGE", "file://"+home)

	const image = " --deploy-mode cluster --conf spark.kubernetes.container.image=spark:4.1.4 "
	for line, says := range map[string]string{
		"spark-submit" + image + "--class A local:///a.jar":                                                                       "",
		"spark-submit" + image + "--class A --conf spark.kubernetes.driverEnv.A='${env:SPARK_CONF_DIR}' local:///a.jar":           "",
		"spark-submit" + image + "--properties-file " + secret + " --class A local:///a.jar":                                      "--properties-file: names a file",
		"spark-submit" + image + "--conf spark.kubernetes.driver.podTemplateFile=" + template + " --class A local:///a.jar":       "podTemplateFile: names a file",
		"spark-submit" + image + "--keytab " + secret + " --principal a --class A local:///a.jar":                                 "keytab: names a file",
		"spark-submit" + image + "--conf spark.kubernetes.kerberos.krb5.path=" + secret + " --class A local:///a.jar":             "krb5.path: names a file",
		"spark-submit" + image + "--conf spark.kubernetes.authenticate.driver.caCertFile=" + secret + " --class A local:///a.jar": "caCertFile: names a file",
		"spark-submit" + image + "--files " + secret + " --class A local:///a.jar":                                                "is a file of your machine",
		"spark-submit" + image + "--jars 'file:" + home + "/*' --class A local:///a.jar":                                          "is a file of your machine",
		"spark-submit" + image + "a.py":                                                            "is a file of your machine",
		"spark-submit" + image + "--class A $(id)":                                                 "only your shell can compute",
		"spark-submit" + image + "--class A local:///a.jar; rm -rf /":                              "has a meaning for a shell",
		"spark-submit" + image + "--class A local:///a.jar\nspark-submit --class B local:///b.jar": "a second command begins in a new line",
		"spark-submit --deploy-mode cluster --class A local:///a.jar":                              "--spark-version",
		"spark-submit --kill x":                                                                    "--kill",
		"spark-submit":                                                                             "",
	} {
		got, out := b.submission(act.Submission{Mode: "line", Namespace: b.Namespace, Text: line, DryRun: true})
		if strings.Contains(got.text, "s3cr3t") || strings.Contains(out.Checks.Manifest, home) {
			t.Errorf("%s: a file or a variable was read: %s", line, got.text)
		}

		if refused := out.Checks.Errors() > 0; refused != (says != "" || line == "spark-submit") || !strings.Contains(found(out.Checks), says) {
			t.Errorf("%s: %s, want %q", line, found(out.Checks), says)
		}
	}
}

// TestServerChecks checks that a check includes what only the API server can find: its rules (CEL), quotas, existing
// names and warnings, at their places, and that it stores nothing.
func TestServerChecks(t *testing.T) {
	b := owner(t)
	b.Application("taken")

	b.Create(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/sparkconnects.sparkoperator.k8s.io": resource.MustParse("0")}},
	})
	kit.Wait(t, "the quota", func(ctx context.Context) error {
		quota := &corev1.ResourceQuota{}
		if err := b.API.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: "none"}, quota); err != nil || len(quota.Status.Hard) == 0 {
			return fmt.Errorf("it has no status: %w", err)
		}
		return nil
	})

	pi := b.example("spark-pi.yaml")
	for name, test := range map[string]struct{ text, says string }{
		"fine":           {pi, ""},
		"an error":       {strings.Replace(pi, "type: Java", "type: Cobol", 1), "spec.type: "},
		"unknown field":  {strings.Replace(pi, "spec:\n", "spec:\n  imagee: a\n", 1), "error 8 spec.imagee: "},
		"a taken name":   {strings.Replace(pi, "name: spark-pi", "name: taken", 1), "taken exists already"},
		"a quota":        {b.example("spark-connect.yaml"), "quota: none"},
		"another name":   {strings.Replace(pi, "name: spark-pi", "name: Spark_Pi", 1), "metadata.name"},
		"syntax":         {"a: [", "error 1 : is not YAML"},
		"no object":      {"[]", "is not an object"},
		"another kind":   {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "Secret a is left out"},
		"a version":      {strings.Replace(pi, "v1beta2", "v1beta9", 1), "v1beta9"},
		"wrong place":    {strings.Replace(pi, "metadata:\n", "metadata:\n  namespace: elsewhere\n", 1), "is in the namespace elsewhere, but the form names " + b.Namespace},
		"only a comment": {"# nothing\n", "the manifest has no custom resource"},
	} {
		got := b.check(b.Namespace, test.text)
		if failed := got.Errors() > 0; failed != (test.says != "") || !strings.Contains(found(got), test.says) {
			t.Errorf("%s: %s, want %q", name, found(got), test.says)
		}
	}

	if got := b.check("", pi); !strings.Contains(found(got), "has no namespace; choose one") {
		t.Errorf("without a namespace: %s", found(got))
	}

	if got := b.check(b.Namespace, " \n"); got.Checked || len(got.Findings) > 0 {
		t.Errorf("nothing was entered: %+v", got)
	}

	if b.live(b.named("spark-pi")) != nil {
		t.Error("a check has created the application")
	}
}

// TestSeveralDocuments checks that all objects of a manifest are created or none, unless one fails after the check.
func TestSeveralDocuments(t *testing.T) {
	b := owner(t)
	pi := b.example("spark-pi.yaml")
	named := func(name string) string { return strings.Replace(pi, "name: spark-pi", "name: "+name, 1) }
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: left-out}\n"

	manifest := strings.Join([]string{named("a"), secret, strings.Replace(named("b"), "spec:\n", "spec:\n  imagee: x\n", 1)}, "\n---\n")
	if got, out := b.submission(act.Submission{Mode: "manifest", Namespace: b.Namespace, Text: manifest}); got.status != http.StatusUnprocessableEntity || len(out.Created) > 0 || b.live(b.named("a")) != nil {
		t.Errorf("one of two is wrong: %d %s", got.status, got.text)
	}

	got := b.post("/submit", url.Values{"mode": {"manifest"}, "namespace": {b.Namespace}, "text": {named("a") + "\r\n---\r\n" + secret + "---\n" + named("b")}})
	if got.status != http.StatusSeeOther || got.Get("Location") != "/?namespace="+b.Namespace || b.live(b.named("a")) == nil || b.live(b.named("b")) == nil {
		t.Errorf("two objects: %d %s %s", got.status, got.Get("Location"), plain(got.text))
	}

	var left corev1.SecretList
	if err := b.API.List(t.Context(), &left, client.InNamespace(b.Namespace)); err != nil || len(left.Items) > 0 {
		t.Errorf("the Secret was created: %v %v", left.Items, err)
	}

	twice, out := b.submission(act.Submission{Mode: "manifest", Namespace: b.Namespace, Text: named("c") + "\n---\n" + named("c")})
	if twice.status != http.StatusUnprocessableEntity || len(out.Created) != 1 || !strings.Contains(out.Checks.Problem, "c was not created") || !strings.Contains(out.Checks.Problem, "c is created") {
		t.Errorf("a name twice: %d %s", twice.status, twice.text)
	}

	var many []string
	for i := range 21 {
		many = append(many, named(fmt.Sprint("many-", i)))
	}

	if got := b.check(b.Namespace, strings.Join(many, "\n---\n")); !strings.Contains(found(got), "more than 20 custom resources") {
		t.Errorf("many objects: %s", found(got))
	}
}

// TestHostileText checks that no text takes long, makes the console fail, or becomes markup.
func TestHostileText(t *testing.T) {
	b := owner(t)
	head := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: a}\nspec:\n"

	laughs := "  a0: &a0 {x: y}\n"
	for i := 1; i < 30; i++ {
		laughs += fmt.Sprintf("  a%d: &a%[1]d [%s]\n", i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10))
	}

	texts := map[string]string{
		"aliases of aliases": head + laughs, "an alias of a long text": head + "  a: &a " + strings.Repeat("x", 100_000) + "\n  b: [" + strings.Repeat("*a,", 80_000) + "]\n",
		"an alias of itself": head + "  a: &a [*a]\n", "deep lists": head + "  a: " + strings.Repeat("[", 200_000), "many documents": strings.Repeat("---\na: b\n", 40_000),
		"many empty documents": strings.Repeat("---\n", 400_000), "zeros": strings.Repeat("\x00", 1000), "no UTF-8": head + "  a: \xff\xfe",
		"many fields": head + "  sparkConf: {" + strings.Repeat("a,", 200_000) + "}\n", "a long line": head + "  a: " + strings.Repeat("x", 1_000_000) + "\n",
		"markup": strings.Replace(b.example("spark-pi.yaml"), "spec:\n", "spec:\n  '<script>alert(1)</script>': \"\\u001b[31m<img src=x onerror=alert(1)>\"\n", 1),
	}
	for name, text := range texts {
		for _, mode := range []string{"manifest", "line"} {
			began := time.Now()

			got := b.post("/submit/check", url.Values{"mode": {mode}, "namespace": {b.Namespace}, "text": {text}})
			if got.status != http.StatusOK && got.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %s: %d %s", name, mode, got.status, plain(got.text))
			}

			if got.status == http.StatusOK && !strings.Contains(got.text, "level-error") {
				t.Errorf("%s, %s: no error: %s", name, mode, plain(got.text))
			}

			if strings.Contains(got.text, "<script>alert") || strings.Contains(got.text, "<img") || strings.Contains(got.text, "\x1b") {
				t.Errorf("%s, %s: the answer has markup or controls", name, mode)
			}

			t.Logf("%s, %s: %d, %d kB in %v", name, mode, got.status, len(got.text)>>10, time.Since(began))
		}
	}

	large := act.Submission{Mode: "manifest", Namespace: b.Namespace, Text: head + strings.Repeat("  # x\n", 2_000_000)}
	if got := b.call("/submissions", large, nil); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a manifest of 10 MB: %d %s", got.status, got.text[:min(len(got.text), 500)])
	}

	for _, path := range []string{"/submit", "/submit/check"} {
		for _, token := range []string{b.csrf, ""} { // with and without the header
			got := b.post(path, url.Values{"mode": {"manifest"}, "text": {large.Text}, "csrf": {b.csrf}}, "X-Csrf-Token", token)
			if got.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s with 10 MB: %d %s", path, got.status, plain(got.text))
			}
		}
	}
}

// TestModes checks that an unknown mode is refused, and that the page keeps what the user has entered.
func TestModes(t *testing.T) {
	b := owner(t)

	if got, out := b.submission(act.Submission{Mode: "magic", Namespace: b.Namespace, Text: "a"}); got.status != http.StatusUnprocessableEntity || !strings.Contains(found(out.Checks), "form, manifest, line") {
		t.Errorf("an unknown mode: %d %s", got.status, got.text)
	}

	if got, out := b.submission(act.Submission{Mode: "manifest"}); got.status != http.StatusUnprocessableEntity || out.Checks.Checked {
		t.Errorf("an empty submission: %d %s", got.status, got.text)
	}

	for _, mode := range []string{"form", "manifest", "line"} {
		if got := b.get("/submit?mode=" + mode); got.status != http.StatusOK || !strings.Contains(got.text, `name="mode" value="`+mode+`"`) || hidden(got.text, "request") == "" {
			t.Errorf("the page of the mode %s: %d %s", mode, got.status, plain(got.text))
		}
	}

	var checks model.Checks

	text, err := json.Marshal(b.check(b.Namespace, "a: ["))
	if err == nil {
		err = json.Unmarshal(text, &checks)
	}

	if err != nil || checks.Errors() == 0 || checks.Findings[0].Severity != preview.Error {
		t.Errorf("the checks are %s, %v", text, err)
	}
}
