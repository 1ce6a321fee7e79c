package cause

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entries is a log in JSON as Spark 4.1 writes it, and the same log in the default layout.
var entries = []struct{ name, structured, plain string }{
	{"a message",
		`{"ts":"2026-01-31T23:59:01.123Z","level":"INFO","msg":"Running Spark version 4.1.4","context":{"spark_version":"4.1.4"},"logger":"SparkContext"}`,
		"26/01/31 23:59:01 INFO SparkContext: Running Spark version 4.1.4"},
	{"an exception",
		`{"ts":"2026-01-31T23:59:01.123Z","level":"ERROR","msg":"Error initializing SparkContext.","exception":{"class":"org.apache.spark.SparkException","msg":"Could not parse Master URL: 'x'",` +
			`"stacktrace":[{"class":"org.apache.spark.SparkContext$","method":"createTaskScheduler","file":"SparkContext.scala","line":3395}]},"logger":"org.apache.spark.SparkContext"}`,
		"26/01/31 23:59:01 ERROR SparkContext: Error initializing SparkContext.\norg.apache.spark.SparkException: Could not parse Master URL: 'x'\n" +
			"\tat org.apache.spark.SparkContext$.createTaskScheduler(SparkContext.scala:3395)"},
	{"an exception with its trace as text",
		`{"ts":"2026-01-31T23:59:01Z","level":"WARN","msg":"Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.1 executor 1)","exception":{"class":"java.io.IOException","stacktrace":"java.io.IOException\n\tat a.B.c(B.java:1)\nCaused by: java.lang.Error: deep\n"},"logger":"TaskSetManager"}`,
		"26/01/31 23:59:01 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.1 executor 1)\njava.io.IOException\n\tat a.B.c(B.java:1)\nCaused by: java.lang.Error: deep"},
	{"a time in another form", `{"ts":"now","level":"ERROR","msg":"no","logger":"a.b"}`, "00/00/00 00:00:00 ERROR b: no"},
	{"an object of the program", `{"ts":"2026-01-31T23:59:01Z","value":1}`, `{"ts":"2026-01-31T23:59:01Z","value":1}`},
	{"a cut entry", `{"ts":"2026-01-31T23:59:01Z","level":"ERROR","msg":"n`, `{"ts":"2026-01-31T23:59:01Z","level":"ERROR","msg":"n`},
}

func TestEntriesInJSON(t *testing.T) {
	for _, e := range entries {
		if diff := cmp.Diff(e.plain, inDefaultLayout(e.structured)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.name, diff)
		}
	}
}

// TestCauseIsTheSameInJSON checks that the layout of a log changes neither the cause nor the excerpt.
func TestCauseIsTheSameInJSON(t *testing.T) {
	for _, rule := range Rules {
		for _, text := range rule.Has {
			entry := structured{Time: "2026-01-31T23:59:01Z", Level: "ERROR", Message: "the query failed", Logger: "org.apache.spark.Executor"}
			entry.Exception.Class, entry.Exception.Message = "org.apache.spark.SparkException", text
			entry.Exception.Trace = []byte(`[{"class":"org.apache.spark.Main","method":"run","file":"Main.scala","line":42}]`)

			line, err := json.Marshal(entry)
			if err != nil {
				t.Fatal(err)
			}

			after := `{"ts":"2026-01-31T23:59:02Z","level":"INFO","msg":"Shutdown hook called","logger":"ShutdownHookManager"}`
			asJSON := string(line) + "\n" + after
			asText := inDefaultLayout(string(line)) + "\n" + inDefaultLayout(after)

			if diff := cmp.Diff(Of("exit code 1", asText), Of("exit code 1", asJSON)); diff != "" {
				t.Errorf("the cause of %q (-text +JSON):\n%s", text, diff)
			}

			if diff := cmp.Diff(Excerpt(asText), Excerpt(asJSON)); diff != "" {
				t.Errorf("the excerpt of %q (-text +JSON):\n%s", text, diff)
			}

			if strings.Contains(Excerpt(asJSON), "Shutdown hook") {
				t.Errorf("the excerpt of %q has an entry of the level INFO", text)
			}
		}
	}
}

func FuzzEntriesInJSON(f *testing.F) {
	for _, e := range entries {
		f.Add(e.structured)
	}

	f.Fuzz(func(t *testing.T, line string) {
		if text := inDefaultLayout(line); text != line && !isEntry(text) {
			t.Errorf("%q became %q, which is no entry", line, text)
		}
	})
}
