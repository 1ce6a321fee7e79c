package lifecycle

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// failuresPage is the page with the tables of causes.
const failuresPage = "../../docs/failures.md"

// TestEndings checks the cause of each recorded ending, and the tables of docs/failures.md, which are the expected
// result. A recording is the log of a real program. Its file is named NAME.CODE.log.gz, with the exit code.
func TestEndings(t *testing.T) {
	files, err := filepath.Glob("testdata/endings/*.log.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	var endings strings.Builder
	endings.WriteString("| recorded ending | found by | reason | cause | way out |\n|---|---|---|---|---|\n")

	searched, places := 0, 0
	for _, file := range files {
		log := recorded(t, file)
		name, code, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".log.gz"), ".")

		exit, err := strconv.Atoi(code)
		if err != nil {
			t.Fatal(err)
		}

		why, finder := endOf(name, int32(exit), log), "operator"
		checkEnding(t, name, why)

		if better := why.Searched(log); why.IsVague() && better != why {
			finder = "sparkctl"
			if _, place, found := strings.Cut(why.Message, ": "); found {
				finder += "; operator: " + place
				places++
			}

			why = better
			checkEnding(t, name, why)
			searched++
		}

		fmt.Fprintf(&endings, "| %s | %s | %s | %s | %s |\n", name, finder, why.Reason, cell(why.Message),
			cell(why.Advice))
	}

	fmt.Fprintf(&endings, "\nThe table has %d endings. The operator finds the cause of %d, and for %d more what failed.\n", len(files), len(files)-searched, places)
	var rules strings.Builder
	rules.WriteString("| reason | texts by which the operator recognizes it | way out |\n|---|---|---|\n")

	for _, rule := range slices.Concat(cause.Rules, cause.Scheduling) {
		fmt.Fprintf(&rules, "| `%s` | %s | %s |\n", rule.Reason, cell(strings.Join(rule.Has, ", ")), cell(rule.Advice))
	}

	page, err := os.ReadFile(failuresPage)
	if err != nil {
		t.Fatal(err)
	}

	want := between(t, between(t, string(page), "rules", rules.String()), "endings", endings.String())
	if flag.Lookup("update").Value.String() == "true" { // the flag of docs_test.go
		if err := os.WriteFile(failuresPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("docs/failures.md is out of date; run go test ./lifecycle -run TestEndings -update, and read the diff")
	}
}

// TestEndingsWithMoreLines checks that frames of a stack trace alone give a line too, and that every end of a log gives
// only one. In a cluster, the driver writes more lines while it stops, so that less of the exception is kept.
func TestEndingsWithMoreLines(t *testing.T) {
	files, err := filepath.Glob("testdata/endings/[jp]*.log.gz") // drivers
	if err != nil {
		t.Fatal(err)
	}

	const stops = "26/11/28 19:12:04 INFO KubernetesClusterSchedulerBackend: Shutting down all executors\n"
	for _, file := range files {
		log := strings.TrimSuffix(recorded(t, file), "\n") + "\n"
		for range 24 {
			end := keptByKubelet(log)
			why := DriverFacts(podIn(corev1.PodFailed, exits(1, "Error", end)), container).Why
			checkEnding(t, file, why)

			if strings.Count(end, "\tat ") > 8 && !strings.Contains(why.Message, ": ") {
				t.Errorf("%s: the frames show nothing: %q\n%s", file, why.Message, end)
			}

			log += stops
		}
	}
}

// TestNoiseIsNeverTheCause checks that lines that say nothing, between all lines of a log, change no cause.
func TestNoiseIsNeverTheCause(t *testing.T) {
	files, err := filepath.Glob("testdata/endings/*.log.gz")
	if err != nil {
		t.Fatal(err)
	}

	for _, noise := range []string{
		"Picked up JAVA_TOOL_OPTIONS: -Xmx1g -Dexample.error=Exception",
		"log4j:WARN Please initialize the log4j system properly.",
		"SLF4J: Class path contains multiple SLF4J bindings.",
		"WARNING: An illegal reflective access operation has occurred",
		"OpenJDK 64-Bit Server VM warning: Options -Xverify:none and -noverify were deprecated in JDK 13",
		"+ exec /usr/bin/tini -s -- java",
		"26/11/28 19:12:03 INFO ShutdownHookManager: Deleting directory /tmp/spark-1",
		"26/11/28 19:12:03 WARN NativeCodeLoader: Unable to load native-hadoop library",
		"[Stage 0:>                                                          (0 + 1) / 1]",
	} {
		for _, file := range files {
			log := recorded(t, file)
			want := cause.Search("", log)
			// Before each line, after the last one, and overwritten on the same line.
			for _, sep := range []string{"\n", "\r      \r"} {
				noisy := noise + sep + strings.ReplaceAll(strings.TrimSuffix(log, "\n"), "\n",
					"\n"+noise+sep) + "\n" + noise + "\n"
				if got := cause.Search("", noisy); got != want {
					t.Errorf("%s with %q: %+v, want %+v", filepath.Base(file), noise+sep, got, want)
				}
			}
		}
	}
}

// endOf returns the cause of a recorded ending according to the pod.
func endOf(name string, exit int32, log string) Cause {
	pod := podIn(corev1.PodFailed, exits(exit, "Error", keptByKubelet(log)))
	// Spark 4.1 and newer write the exception that a main class throws to the driver pod. The log has the same text.
	_, exception, thrown := cutLast(log, `Exception in thread "main" `)
	if strings.HasPrefix(name, "jvm-") && thrown && strings.Contains(exception, "JavaMainApplication.start") {
		pod.Annotations = map[string]string{ExitExceptionAnnotation: exception}
	}

	if strings.HasPrefix(name, "exec-") {
		return ExecutorFacts(pod).Why
	}
	return DriverFacts(pod, container).Why
}

func cutLast(text, before string) (head, tail string, found bool) {
	at := strings.LastIndex(text, before)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(before):], true
}

func recorded(t *testing.T, file string) string {
	t.Helper()

	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()

	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}

	log, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

// keptByKubelet returns the end of a log that a kubelet puts into the status of a pod (FallbackToLogsOnError): the last
// 2048 bytes of the last 80 lines.
func keptByKubelet(log string) string {
	lines := strings.SplitAfter(log, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}

	end := strings.Join(lines[max(0, len(lines)-80):], "")
	return end[max(0, len(end)-2048):]
}

// checkEnding checks what is true of every cause.
func checkEnding(t *testing.T, name string, why Cause) {
	t.Helper()

	switch {
	case strings.Contains(why.Message, "\n") || len([]rune(why.Message)) > 200:
		t.Errorf("%s: the message is not one short line: %q", name, why.Message)
	case why.Advice == "" || strings.Contains(why.Advice, "ROLE"):
		t.Errorf("%s: no way out: %+v", name, why)
	case len(why.Log) > cause.MaxExcerpt+len(CutMark):
		t.Errorf("%s: %d bytes of log", name, len(why.Log))
	}

	for _, noise := range []string{"Picked up", "log4j", "INFO ", "ShutdownHookManager", "Stopped Spark web UI",
		"\tat "} {
		if strings.Contains(why.Message, noise) {
			t.Errorf("%s: the message has noise: %q", name, why.Message)
		}
	}
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(text)
}

// between replaces the text between the two comments of a page that name a table.
func between(t *testing.T, page, name, table string) string {
	t.Helper()

	head, rest, found := strings.Cut(page, "<!-- "+name+" -->\n")

	_, tail, closed := strings.Cut(rest, "<!-- end of "+name+" -->")
	if !found || !closed {
		t.Fatalf("the page has no table %q", name)
	}
	return head + "<!-- " + name + " -->\n\n" + table + "\n<!-- end of " + name + " -->" + tail
}
