package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// nowhere is the flag for a cluster that cannot be reached. A command line that gets as far as this is understood.
const nowhere = "--server=http://127.0.0.1:1"

// TestFormsOfOtherPrograms checks command lines of the kubeflow operator's sparkctl, of kubectl and of other programs:
// each works, or the error names the form of this program. Each row of the table former is used.
func TestFormsOfOtherPrograms(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "app.yaml")

	text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi, namespace: jobs}\nspec: {type: Scala, sparkVersion: 4.1.4, image: i:4.1.4, " +
		"mainClass: a.B, mainApplicationFile: 'local:///a.jar', driver: {}, executor: {}}\n"
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const works = "cannot be reached"

	cases := map[string]string{
		"create " + manifest + " -n jobs": works, "create -f " + manifest + " -n jobs": works, "log pi -e 1": works,
		"log pi -e 1 -f": works, "logs pi": works,
		"event pi": works, "forward pi": works, "describe pi": works, "kill pi": works, "cancel pi --yes": works,
		"list -A": works, "get": works, "status pi": works, "delete pi": works,
		"apply -f " + manifest: "kubectl apply", "edit pi": "kubectl edit", "run pi --image x": "verb submit",
		"statsu pi -x": "did you mean status?", "frobnicate -f x": "see sparkctl --help",
		"create " + manifest + " --upload-to s3a://b":            "submit --stage",
		"create " + manifest + " --upload-to=s3a://b --override": "submit --stage", "events pi -f": "verb status",
		"event pi --follow": "verb status", "forward pi --local-port 4041": "use --port",
		"create nightly-now --from nightly": "verb trigger",
	}
	for _, old := range former {
		if name, hasValue := strings.CutSuffix(old.flag, "="); hasValue {
			cases[old.verb+" pi --"+name+" value"] = old.instead
		} else if name != "" {
			cases[old.verb+" pi --"+name] = old.instead
		}
	}

	for line, has := range cases {
		args := strings.Fields(line)
		if has == works {
			args = append(args, nowhere)
		}

		got := run(t, args...)
		if !strings.Contains(strings.Join(strings.Fields(got.err), " "), has) ||
			(got.code == exit.Usage) == (has == works) {
			t.Errorf("sparkctl %s: exit code %d, %q, want %q", line, got.code, got.err, has)
		}
	}
}

// TestHelpIsGrouped checks that each verb is below a heading, and that the help of a verb has no flags about the
// connection except those that users need every day.
func TestHelpIsGrouped(t *testing.T) {
	for _, cmd := range documented(command(terminal.Streams{}, "sparkctl")) {
		if cmd.GroupID == "" {
			t.Errorf("%s is in no group", cmd.Name())
		}

		got := run(t, cmd.Name(), "--help").out
		if strings.Contains(got, "--insecure-skip-tls-verify") ||
			strings.Contains(got, "--context") != strings.Contains(got, "other flags of kubectl") {
			t.Errorf("the help of %s is\n%s", cmd.Name(), got)
		}
	}

	if got := run(t, "help").out; strings.Contains(got, "Additional Commands") {
		t.Errorf("the help is\n%s", got)
	}
}

// completions returns the words that the plugin offers to kubectl for the last of the given words.
func completions(t *testing.T, kubeconfig string, words ...string) []string {
	t.Helper()
	var out, errs strings.Builder

	t.Setenv("KUBECONFIG", kubeconfig)
	Main(t.Context(), append([]string{"/usr/local/bin/kubectl_complete-spark"}, words...),
		terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})

	var found []string
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found = append(found, word)
	}
	return found
}

// TestCompletion checks the words that need no cluster, as the plugin of kubectl offers them.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"list --kind |": "apache-app", "list -o |": "wide", "list --state |": "suspended", "list --sort |": "age",
		"wait pi --for |": "succeeded", "lint -o |": "sarif", "render -o |": "name",
		"submit --executor-m|": "--executor-memory", "submit --conf spark.exec|": "spark.executor.memory=",
		"submit --wa|": "--wait", "convert spark-submit --num|": "--num-executors",
		"convert spark-submit -c spark.kub|": "spark.kubernetes.container.image=", "completion |": "fish",
	} {
		line, _ = strings.CutSuffix(line, "|")
		if got := completions(t, "", strings.Split(line, " ")...); !slices.Contains(got, want) {
			t.Errorf("%s: %q lacks %q", line, got, want)
		}
	}
}

// TestS3LogsNothing checks that the warnings of the client of S3, here about the metadata of EC2, do not reach the
// standard error.
func TestS3LogsNothing(t *testing.T) {
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer metadata.Close()

	dir := t.TempDir()

	file, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}

	for name, value := range map[string]string{
		"HOME": dir, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL, "AWS_EC2_METADATA_DISABLED": "",
	} {
		t.Setenv(name, value)
	}

	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()

	program := filepath.Join(dir, "a.py")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	got := run(t, "submit", nowhere, "--deploy-mode", "cluster", "--conf", "spark.kubernetes.container.image=x:4.1.4",
		"--stage", "s3://bucket/p?region=us-east-1&endpoint=http://127.0.0.1:1", program)

	logged, err := os.ReadFile(file.Name())
	if err != nil || len(logged) > 0 || !strings.Contains(got.err, "no credentials") {
		t.Errorf("the standard error has %q (%v), the program says %q", logged, err, got.err)
	}
}

// TestFlagsBeforeTheConnection checks that a wrong value of a flag is reported without a cluster, whose error would
// hide it.
func TestFlagsBeforeTheConnection(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))

	for line, want := range map[string]string{
		"list -o xml":                         "the formats are: wide, name, json, yaml",
		"list -o custom-columns=NAME":         `"NAME" is not HEADER:PATH`,
		"list -o custom-columns=NAME:.items[": "custom-columns",
		"list -o jsonpath={.items[":           "jsonpath",
		"list -w -o json":                     "the formats are: wide, name",
		"list --state lost":                   `--state "lost" is not supported`,
		"list --sort-by size":                 `--sort-by "size" is not supported`,
		"list --kind pod":                     "--kind: ",
		"list -l a=b=c":                       "-l: ",
		"list --newer=-1h":                    "--newer: a duration cannot be negative",
		"delete -l a=b=c":                     "-l: ",
		"suspend -l a=b=c":                    "-l: ",
		"resume -l a=b=c":                     "-l: ",
		"restart -l a=b=c":                    "-l: ",
		"status pi -o xml":                    "the formats are: json, yaml",
		"explain pi -o xml":                   "the formats are: json, yaml",
		"events pi -o wide":                   "the formats are: json, yaml",
		"doctor -o xml":                       "the formats are: json",
		"version -o xml":                      "the formats are: json",
		"wait pi --for=lunch":                 `--for "lunch" is not supported`,
		"wait pi --timeout=-1m":               "--timeout: a duration cannot be negative",
		"log pi --since=-1m":                  "--since: a duration cannot be negative",
	} {
		if got := run(t, strings.Fields(line)...); got.code != exit.Usage || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}

	if got := run(t, "list"); got.code != exit.Cluster {
		t.Errorf("without a wrong flag: %+v", got)
	}
}

// TestManPagesAreShort checks that the man pages mention the connection flags without a list of them.
func TestManPagesAreShort(t *testing.T) {
	folder := t.TempDir()
	if got := run(t, "docs", "--man", folder); got.code != exit.OK {
		t.Fatalf("%+v", got)
	}

	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}

	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil || strings.Contains(string(text), "certificate") && !strings.Contains(page, "doctor") {
			t.Errorf("%s has the connection flags, or: %v", page, err)
		}
	}

	text, err := os.ReadFile(filepath.Join(folder, "sparkctl-status.1"))
	if err != nil || !strings.Contains(string(text), "It also takes the flags of kubectl about the connection") ||
		!strings.Contains(string(text), "watch") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestNoFile checks that a command line without the application's file says what to write.
func TestNoFile(t *testing.T) {
	for _, line := range []string{"submit", "submit --name a", "submit --conf spark.kubernetes.container.image=a:4.1.4",
		"convert spark-submit --class a.B"} {
		const want = "error: the application's file is missing: write the application's jar, .py or .R file after the options, such as local:///opt/application.jar\n"
		if got := run(t, strings.Fields(line)...); got.err != want {
			t.Errorf("%s: %s", line, got.err)
		}
	}
}

// TestWrongFormsNameTheRightForm checks that a command line with a wrong flag or argument is answered with the form of
// the verb, and that the verbs that read files take them as arguments.
func TestWrongFormsNameTheRightForm(t *testing.T) {
	for line, want := range map[string]string{
		"status pi --follow":    "use --watch",
		"status pi -f":          "use --watch",
		"events pi -w":          "status shows the last Events",
		"explain -f app.yaml":   "name a stored object: explain NAME",
		"delete -f app.yaml":    "kubectl delete -f FILE",
		"restart -f app.yaml":   "restart NAME",
		"explain a b":           "accepts 1 arg(s), received 2; write: sparkctl explain NAME|KIND/NAME [flags]",
		"scale pi 3":            "write: sparkctl scale NAME",
		"wait pi --until ended": "unknown flag: --until; write: sparkctl wait NAME|KIND/NAME [flags]",
		"list pi":               "write: sparkctl list [flags]",
		"doctor all":            "write: sparkctl doctor [flags]",
	} {
		if got := run(t, strings.Fields(line)...); got.code != exit.Usage || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}

	for _, verb := range []string{"lint", "render", "convert", "diff"} {
		if got := run(t, verb, "there-is-none.yaml"); !strings.Contains(got.err, "there-is-none.yaml: no such file") {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}
