//go:build linux

package submitter

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/test/record"
)

func TestExplainFindsTheMessage(t *testing.T) {
	tests := []struct{ about, output, want string }{
		{"an exception", "26/11/21 INFO x\nException in thread \"main\" org.apache.spark.SparkException: Must be so\n\tat a.b(c)\n", "Must be so"},
		{"an exception with another message in its cause",
			"Exception in thread \"main\" a.B: Could not load.\n\tat x\nCaused by: a.C: not there\nCaused by: a.D: at all\n",
			"Could not load.: not there: at all"},
		{"an exception with the same message in its cause",
			"Exception in thread \"main\" a.B: a.C: not there\n\tat x\nCaused by: a.C: not there\n", "a.C: not there"},
		{"an exception without a message", "Exception in thread \"main\" java.lang.NullPointerException\n",
			"java.lang.NullPointerException"},
		{"an error of the launcher", "Error: Missing argument for option '--name'.\n\nUsage: spark-submit\n",
			"Missing argument for option '--name'."},
		{"an error and an exception", "Error: one\nException in thread \"main\" a.B: two\n", "two"},
		{"an exception after a logged exception",
			"ERROR x\na.C: first\n\tat x\nCaused by: a.D: cause\nException in thread \"main\" a.B: last\n", "last"},
		{"nothing", "killed\n", "spark-submit failed without an error message"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			if got := explain(tt.output); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHighWaterReadsTheStatus(t *testing.T) {
	for status, want := range map[string]int64{
		"": 0, "Name:\tjava\nVmPeak:\t  9 kB\nVmHWM:\t  1234 kB\nVmRSS:\t 1000 kB\n": 1234 << 10, "VmHWM:\tmuch\n": 0,
	} {
		if got := highWater(status); got != want {
			t.Errorf("%q: %d, want %d", status, got, want)
		}
	}
}

func TestReadListReturnsWrittenList(t *testing.T) {
	tests := [][]string{nil, {""}, {"a", "", "b\nc"}, {"grün, 日本, 😀", strings.Repeat("x", 1<<16)}}
	for _, want := range tests {
		var wire bytes.Buffer
		w := bufio.NewWriter(&wire)
		writeList(w, want)

		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}

		whole := slices.Clone(wire.Bytes())

		got, err := readList(&wire)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}

		if _, err := readList(bytes.NewReader(whole[:len(whole)-1])); err == nil {
			t.Errorf("half of %.20q is accepted as the whole", want)
		}
	}

	if _, err := readList(strings.NewReader("\x00\x00\x00\x01\x7f\xff\xff\xff")); err == nil {
		t.Error("a response of two gigabytes is accepted")
	}
}

func TestOwnClassesAreForSpecialCases(t *testing.T) {
	tests := []struct {
		about string
		c     record.Case
		want  []string
	}{
		{"nothing", record.Case{}, nil},
		{"an environment that Spark reads each time", record.Case{Env: map[string]string{"PYSPARK_PYTHON": "p"}}, nil},
		{"a configuration directory", record.Case{Files: map[string]string{"conf/a": ""}},
			[]string{"/case/conf", ownClasses}},
		{"Hadoop's and YARN's directories",
			record.Case{Env: map[string]string{"HADOOP_CONF_DIR": "/h", "YARN_CONF_DIR": "/y"}},
			[]string{"/h", "/y", ownClasses}},
		{"another Hadoop user", record.Case{Env: map[string]string{"HADOOP_USER_NAME": "u"}}, []string{ownClasses}},
		{"a proxy user", record.Case{Args: []string{"--proxy-user", "u"}}, []string{ownClasses}},
		{"Kerberos", record.Case{Args: []string{"--conf", "spark.kubernetes.kerberos.krb5.path=/k"}},
			[]string{ownClasses}},
		{"system properties", record.Case{SystemProperties: map[string]string{"a": "b"}}, []string{ownClasses}},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, new(Harness).classPath(tt.c, record.Environment(tt.c))); diff != "" {
				t.Error(diff)
			}
		})
	}

	if diff := cmp.Diff([]string{ownClasses}, (&Harness{OwnClasses: true}).classPath(record.Case{}, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestScriptsGiveTheEnvironment(t *testing.T) {
	if got := scripts("3.5.9", nil); got["SPARK_SCALA_VERSION"] != "2.12" ||
		got["SPARK_CONF_DIR"] != record.SparkHome+"/conf" {
		t.Errorf("3.5.9: %v", got)
	}

	got := scripts("4.1.4", map[string]string{"SPARK_CONF_DIR": "/mine"})
	if _, overwritten := got["SPARK_CONF_DIR"]; overwritten || got["SPARK_SCALA_VERSION"] != "2.13" {
		t.Errorf("4.1.4: %v", got)
	}
}

// TestMachineNeedsRoot checks that New without root fails with a clear error and creates nothing.
func TestMachineNeedsRoot(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)

	_, err := New(t.Context(), "4.1.4", "/none.tar")
	if err == nil {
		t.Fatal("a machine without an image")
	}

	if says := "root"; os.Geteuid() != 0 && !strings.Contains(err.Error(), says) {
		t.Errorf("error is %v, want one that contains %s", err, says)
	}

	if left := tree(t, cache); os.Geteuid() != 0 && len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
