package kept

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/ground/budget"
	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

const uid = "6f1c0ad6-11d9-4b3c-8a55-0d3f3f0c2a11"

// application returns an application whose second attempt has ended.
func application() *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{TypeMeta: metav1.TypeMeta{Kind: "SparkApplication"}, ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: uid}}
	app.Status.Operator = &statusv1.OperatorStatus{Attempt: 2, Logs: &statusv1.OperatorLogs{Attempt: 2, Place: "s3://logs/a/jobs/pi/" + uid + "/2"}}
	return app
}

func attempt(number int32) store.Attempt {
	return store.Attempt{APIVersion: "v1", Kind: "SparkApplication", Namespace: "jobs", Name: "pi", UID: uid, Number: number}
}

// compressed returns texts as members of one gzip file.
func compressed(t *testing.T, texts ...string) []byte {
	t.Helper()

	var out bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&out)
		if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// save saves an index and files in a store in a directory, and returns the store's URL.
func save(t *testing.T, indices map[*store.Index]map[string][]byte) string {
	t.Helper()

	url := "file://" + t.TempDir()
	saveAt(t, url, indices)
	return url
}

// saveAt saves an index and files in a store.
func saveAt(t *testing.T, url string, indices map[*store.Index]map[string][]byte) {
	t.Helper()

	b, err := store.OpenBucket(t.Context(), url, bucket.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()

	for index, files := range indices {
		if err := b.Save(t.Context(), index, files); err != nil {
			t.Fatal(err)
		}
	}
}

// file returns the entry of a whole log in an index.
func file(name, pod, executor, text string) store.File {
	return store.File{Name: name, Pod: pod, PodUID: "u-1", Executor: executor, Bytes: int64(len(text)), Kept: int64(len(text))}
}

// TestKeptLogs prints the logs of two attempts as if their pods were there.
func TestKeptLogs(t *testing.T) {
	driver := file(store.DriverFile, "pi-driver", "", "one\ntwo\nthree\n")
	cut := file(store.DriverFile, "pi-driver", "", "head\n...\ntail\n")
	cut.Bytes, cut.Partial = 5<<30, "the node was lost\x1b[31m"
	failed := file(store.ExecutorFile("3"), "pi-exec-3", "3", "I am three\n")
	lost := store.File{Pod: "pi-exec-4", PodUID: "u-4", Executor: "4", Missing: "the node does not answer"}
	url := save(t, map[*store.Index]map[string][]byte{
		{Attempt: attempt(1), Driver: &cut}: {store.DriverFile: compressed(t, "head\n...\ntail\n"), store.ExecutorFile("1"): compressed(t, "not listed\n")},
		{Attempt: attempt(2), Driver: &driver, Executors: []store.File{failed, lost}, Omitted: 2}: {
			store.DriverFile: compressed(t, "one\n", "two\nthree\n"), store.ExecutorFile("3"): compressed(t, "I am three\n"),
		},
	})

	for name, test := range map[string]struct {
		options          kube.LogOptions
		printed          map[string]bool
		out, note, wrong string
		nothing          bool
	}{
		"the driver of the last attempt": {out: "one\ntwo\nthree\n"},
		"the last lines":                 {options: kube.LogOptions{Tail: 2}, out: "two\nthree\n"},
		"no line":                        {options: kube.LogOptions{Tail: 0}, out: ""},
		"followed":                       {options: kube.LogOptions{Tail: -1, Follow: true}, out: "one\ntwo\nthree\n"},
		"the last minutes":               {options: kube.LogOptions{Tail: -1, Since: 1}, out: "one\ntwo\nthree\n", note: "--since does not apply"},
		"an earlier attempt":             {options: kube.LogOptions{Tail: -1, Attempt: 1}, out: "head\n...\ntail\n", note: "had 5368709120 bytes, and 14 of them are kept"},
		"the previous attempt":           {options: kube.LogOptions{Tail: -1, Previous: true}, out: "head\n...\ntail\n", note: `may lack its end: the node was lost\x1b[31m`},
		"before the first":               {options: kube.LogOptions{Tail: -1, Previous: true, Attempt: 1}, nothing: true},
		"an attempt without logs":        {options: kube.LogOptions{Tail: -1, Attempt: 3}, nothing: true, wrong: "no log of attempt 3 of SparkApplication jobs/pi is kept; there are logs of the attempts 1 2"},
		"an executor":                    {options: kube.LogOptions{Tail: -1, Executor: "3"}, out: "I am three\n"},
		"an executor by its pod":         {options: kube.LogOptions{Tail: -1, Executor: "pi-exec-3"}, out: "I am three\n"},
		"an executor that is not kept":   {options: kube.LogOptions{Tail: -1, Executor: "4"}, nothing: true, wrong: "the log of pod pi-exec-4 was not kept: the node does not answer"},
		"an executor that never was":     {options: kube.LogOptions{Tail: -1, Executor: "7"}, nothing: true},
		"a file that no index lists":     {options: kube.LogOptions{Tail: -1, Attempt: 1, Executor: "1"}, nothing: true},
		"all executors": {options: kube.LogOptions{Tail: -1, Executor: kube.AllExecutors}, printed: map[string]bool{}, note: "the logs of 2 further executors were not kept",
			out: "[pi-exec-3] I am three\n[pi-exec-4] log was not kept: the node does not answer\n"},
		"all other executors": {options: kube.LogOptions{Tail: -1, Executor: kube.AllExecutors}, printed: map[string]bool{"u-4": true}, out: "[pi-exec-3] I am three\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "the driver of the last attempt" {
				test.options.Tail = -1
			}

			var out, notes bytes.Buffer
			r := &Reader{Object: application(), Store: url, Err: &notes}

			found, err := r.Print(t.Context(), test.options, test.printed, &out)
			if found == test.nothing || out.String() != test.out || !strings.Contains(notes.String(), test.note) {
				t.Errorf("found %t, output %q, notes %q, error %v", found, out.String(), notes.String(), err)
			}

			if wrong := ""; err != nil || test.wrong != "" {
				if err != nil {
					wrong = err.Error()
				}

				if test.wrong == "" || !strings.Contains(wrong, test.wrong) {
					t.Errorf("the error is %q, want %q", wrong, test.wrong)
				}
			}
		})
	}
}

// TestForgedLogs reads stores whose content a tenant has written. Nothing outside of the attempt may be shown, and no
// file may use up the memory or the terminal.
func TestForgedLogs(t *testing.T) {
	other := attempt(2)
	other.UID = "00000000-0000-0000-0000-000000000000"

	for name, test := range map[string]struct {
		file    store.File
		content []byte
		wrong   string
	}{
		"a file of another attempt":   {file("../1/"+store.DriverFile, "pi-driver", "", "x"), compressed(t, "x"), "which is no log of it"},
		"a file of another namespace": {file("../../../../other/x/"+uid+"/1/driver.log.gz", "pi-driver", "", "x"), compressed(t, "x"), "which is no log of it"},
		"another kind of file":        {file("index.yaml", "pi-driver", "", "x"), compressed(t, "x"), "which is no log of it"},
		"a file that is too long":     {file(store.DriverFile, "pi-driver", "", "x"), compressed(t, strings.Repeat("x", 10<<20)), "is longer than its index says"},
		"a negative length":           {store.File{Name: store.DriverFile, Pod: "pi-driver", Kept: -1 << 40}, compressed(t, strings.Repeat("x", 10<<20)), "is longer than its index says"},
		"no gzip":                     {file(store.DriverFile, "pi-driver", "", "x"), []byte("plain"), "is not readable"},
		"half of a file":              {file(store.DriverFile, "pi-driver", "", "x"), compressed(t, strings.Repeat("abc", 999))[:20], "is damaged here"},
		"a file that is missing":      {file(store.ExecutorFile("9"), "pi-driver", "", "x"), nil, "executor-9.log.gz"},
	} {
		url := save(t, map[*store.Index]map[string][]byte{{Attempt: attempt(2), Driver: &test.file}: {store.DriverFile: test.content}})
		var out bytes.Buffer

		r := &Reader{Object: application(), Store: url, Err: &bytes.Buffer{}}
		if _, err := r.Print(t.Context(), kube.LogOptions{Tail: -1}, nil, &out); err == nil || !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v", name, err)
		}

		if out.Len() > 2*maxExcess {
			t.Errorf("%s: %d bytes were printed", name, out.Len())
		}
	}

	for place, want := range map[string]string{
		"s3://logs/a/jobs/pi/" + uid + "/2":                    "s3://logs/a",
		"gs://logs/jobs/pi/" + uid + "/1":                      "gs://logs",
		"s3://logs/a/jobs/pi/" + string(other.UID) + "/2":      "",
		"s3://logs/a/other/pi/" + uid + "/2":                   "",
		"s3://logs/jobs/pi/" + uid + "/2?endpoint=http://evil": "",
		"s3://user:password@logs/jobs/pi/" + uid + "/2":        "",
		"file:///etc/jobs/pi/" + uid + "/2":                    "",
		"https://evil/jobs/pi/" + uid + "/2":                   "",
		"mem://jobs/pi/" + uid + "/2":                          "",
		"%zz":                                                  "",
	} {
		if got, err := StoreOf(place, attempt(2)); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", place, got, err)
		}
	}
}

// TestLogsThatWereNotKept checks that the reason in the status is printed.
func TestLogsThatWereNotKept(t *testing.T) {
	app := application()
	app.Status.Operator.Logs.Message = "the store answers AccessDenied; ask its owner"

	r := &Reader{Object: app, Store: save(t, nil), Err: &bytes.Buffer{}}
	if found, err := r.Print(t.Context(), kube.LogOptions{Tail: -1}, nil, &bytes.Buffer{}); found || err == nil || !strings.Contains(err.Error(), "the store answers AccessDenied; ask its owner") {
		t.Errorf("found %t, error %v", found, err)
	}
}

// TestKeptLogsInS3 reads a log with the user's own credentials from a real S3 server. It also checks that the errors
// name the way out.
func TestKeptLogsInS3(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}

	url := stores.URL("bucket/a", stores.S3(t, root))
	driver := file(store.DriverFile, "pi-driver", "", "one\n")
	saveAt(t, url, map[*store.Index]map[string][]byte{{Attempt: attempt(2), Driver: &driver}: {store.DriverFile: compressed(t, "one\n")}})

	read := func(url string) (string, error) {
		var out bytes.Buffer

		r := &Reader{Object: application(), Store: url, Err: &bytes.Buffer{}}
		_, err := r.Print(t.Context(), kube.LogOptions{Tail: -1}, nil, &out)
		return out.String(), err
	}

	if text, err := read(url); text != "one\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}

	if _, err := read(strings.Replace(url, "bucket/a", "missing", 1)); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") || !strings.Contains(err.Error(), "--store") {
		t.Errorf("a missing bucket: %v", err)
	}

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")

	if _, err := read(url); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") || !strings.Contains(err.Error(), "set AWS_ACCESS_KEY_ID") {
		t.Errorf("a wrong secret: %v", err)
	}
}

// TestUploadedLog prints what the operator has uploaded of the log of a driver that runs, or whose pod was lost: each
// byte once, with a mark where text is missing, and with the time up to which it is complete. The log that is kept at
// the end replaces it.
func TestUploadedLog(t *testing.T) {
	driver, failed := file(store.DriverFile, "pi-driver", "", "whole\n"), file(store.ExecutorFile("3"), "pi-exec-3", "3", "I am three\n")
	until := metav1.NewMicroTime(time.Date(2026, 11, 29, 10, 0, 15, 0, time.UTC))

	for name, test := range map[string]struct {
		index *store.Index
		tail  int64
		out   string
		note  string
	}{
		"no index":      {nil, -1, "one\ntwo\n\n[... 6 bytes of the log were not kept ...]\nfour\n", "everything that was written until 2026-11-29T10:00:15Z"},
		"an executor":   {&store.Index{Attempt: attempt(2), Executors: []store.File{failed}}, -1, "one\ntwo\n\n[... 6 bytes of the log were not kept ...]\nfour\n", "in 1 place of the log, lines are missing"},
		"the last line": {nil, 1, "four\n", "uploaded of the log of pod pi-driver"},
		"ended":         {&store.Index{Attempt: attempt(2), Driver: &driver}, -1, "whole\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			indices := map[*store.Index]map[string][]byte{}
			if test.index != nil {
				indices[test.index] = map[string][]byte{store.DriverFile: compressed(t, "whole\n")}
			}

			url := save(t, indices)

			b, err := store.OpenBucket(t.Context(), url, bucket.Hints{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()

			for _, part := range []struct {
				offset int64
				text   string
			}{{0, "one\ntwo\n"}, {4, "two\n"}, {14, "four\n"}} { // an earlier leader has written "two", too
				about := store.Part{Pod: "pi-driver", PodUID: "u-1", Offset: part.offset, Bytes: int64(len(part.text)), ReadAt: until, Gaps: 1}
				if err := b.SavePart(t.Context(), attempt(2), about, compressed(t, part.text)); err != nil {
					t.Fatal(err)
				}
			}

			var out, notes bytes.Buffer
			r := &Reader{Object: application(), Store: url, Err: &notes}

			found, err := r.Print(t.Context(), kube.LogOptions{Tail: test.tail}, nil, &out)
			if !found || err != nil || out.String() != test.out || !strings.Contains(notes.String(), test.note) || test.note == "" && notes.Len() > 0 {
				t.Errorf("found %t, output %q, notes %q, error %v", found, out.String(), notes.String(), err)
			}
		})
	}
}

// TestTailsOfASharedProgram checks that a program for several users keeps few last lines in memory, which count for the
// budget of the request, and that sparkctl itself keeps more without a budget.
func TestTailsOfASharedProgram(t *testing.T) {
	text := strings.Repeat(strings.Repeat("x", 1023)+"\n", 3<<10) + "the end\n"
	left := int64(maxSharedTail)
	ctx := budget.With(t.Context(), func(n int64) bool { left -= n; return left >= 0 })

	for _, test := range []struct {
		shared bool
		tail   int64
		least  int
		most   int
		want   error
	}{
		{false, 20_000, len(text), len(text), nil}, {true, -1, len(text), len(text), nil}, {true, 20_000, maxSharedTail / 2, maxSharedTail, nil},
		{true, 20_000, 0, 0, budget.ErrSpent},
	} {
		var out bytes.Buffer

		r := &Reader{Shared: test.shared}

		err := r.copyLines(ctx, strings.NewReader(text), test.tail, "", &out)
		if !errors.Is(err, test.want) || out.Len() < test.least || out.Len() > test.most || err == nil && !strings.HasSuffix(out.String(), "\nthe end\n") {
			t.Errorf("%+v: %d bytes, %v", test, out.Len(), err)
		}
	}
}
