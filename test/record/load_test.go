package record

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	casesDir      = "../../spark/submit/testdata/cases"
	recordingsDir = "../../spark/submit/testdata/recordings"
)

func TestCasesReadsAllLists(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yaml"), "- {name: second, bare: true, args: [a], binary: {x.bin: AAE=}}\n")
	write(t, filepath.Join(dir, "a.yaml"),
		"- {name: first, env: {A: b}, files: {conf/x: z}, versions: [\"4.2\"], live: true}\n")
	write(t, filepath.Join(dir, "notes.txt"), "no cases")

	got, err := Cases(dir)
	if err != nil {
		t.Fatal(err)
	}

	want := []Case{
		{Name: "first", Env: map[string]string{"A": "b"}, Files: map[string]string{"conf/x": "z"},
			Versions: []string{"4.2"}, Live: true},
		{Name: "second", Bare: true, Args: []string{"a"}, Binary: map[string][]byte{"x.bin": {0, 1}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if got[0].In("4.1.4") || !got[0].In("4.2.1") || !got[1].In("3.5.9") {
		t.Error("cases run in other lines than their versions field")
	}
}

func TestCasesRejectsInvalidCases(t *testing.T) {
	tests := []struct{ about, text, want string }{
		{"an unknown field", "- {name: a, arg: [b]}", "arg"},
		{"a name used twice", "- name: a\n- name: a", "already"},
		{"a name that is not a file name", "- name: ../a", "small letters"},
		{"no name", "- doc: a", "small letters"},
		{"a version instead of a line", "- {name: a, versions: [4.2.1]}", "4.2.1"},
		{"a file outside the directory", "- {name: a, files: {../b: c}}", "../b"},
		{"a file with an absolute path", "- {name: a, binary: {/b: AAE=}}", "/b"},
		{"an invalid variable name", "- {name: a, env: {b=c: d}}", "b=c"},
		{"a NUL", `- {name: a, args: ["b\0c"]}`, "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.yaml"), tt.text)

			if _, err := Cases(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one that contains %s", err, tt.want)
			}
		})
	}

	if _, err := Cases(t.TempDir()); err == nil {
		t.Error("a directory without cases is accepted")
	}
}

func TestCommandLineAddsCommonArguments(t *testing.T) {
	tests := []struct {
		about string
		c     Case
		want  []string
	}{
		{"nothing", Case{}, slices.Concat(commonArgs, commonResource)},
		{"options", Case{Args: []string{"-x"}}, slices.Concat(commonArgs, []string{"-x"}, commonResource)},
		{"a resource", Case{Resource: []string{"a.py", "1"}}, slices.Concat(commonArgs, []string{"a.py", "1"})},
		{"bare", Case{Bare: true, Args: []string{"-x"}}, []string{"-x"}},
		{"bare with a resource", Case{Bare: true, Args: []string{"-x"}, Resource: []string{"r"}}, []string{"-x", "r"}},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.c.CommandLine()); diff != "" {
				t.Error(diff)
			}

			all := Arguments(tt.c)
			if diff := cmp.Diff([]string{"--master", Master, "--deploy-mode", "cluster"}, all[:4]); diff != "" {
				t.Error(diff)
			}

			if diff := cmp.Diff(tt.want, all[6:],
				cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironmentSetsSparkConfDirForFiles(t *testing.T) {
	env := Environment(Case{Env: map[string]string{"A": "b", "HOME": "/other"}})
	if env["A"] != "b" || env["HOME"] != "/other" || env["SPARK_HOME"] != SparkHome {
		t.Errorf("environment is %v", env)
	}

	if _, ok := env["SPARK_CONF_DIR"]; ok {
		t.Error("SPARK_CONF_DIR is set without files for it")
	}

	if dir := Environment(Case{Files: map[string]string{"conf/a": ""}})["SPARK_CONF_DIR"]; dir != Dir+"/conf" {
		t.Errorf("SPARK_CONF_DIR is %q", dir)
	}

	own := Case{Binary: map[string][]byte{"conf/a": nil}, Env: map[string]string{"SPARK_CONF_DIR": "/own"}}
	if dir := Environment(own)["SPARK_CONF_DIR"]; dir != "/own" {
		t.Errorf("the case's own SPARK_CONF_DIR became %q", dir)
	}
}

func TestWriteFilesStaysInTheDirectory(t *testing.T) {
	dir := t.TempDir()

	c := Case{Files: map[string]string{"a": "1", "b/c/d": "2"}, Binary: map[string][]byte{"e": {0, 255}}}
	if err := c.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for _, name := range []string{"a", "b/c/d", "e"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		got[name] = string(text)
	}

	if diff := cmp.Diff(map[string]string{"a": "1", "b/c/d": "2", "e": "\x00\xff"}, got); diff != "" {
		t.Error(diff)
	}

	if err := (Case{Files: map[string]string{"../out": ""}}).WriteFiles(dir); err == nil {
		t.Error("a file was written outside")
	}
}

func TestSetSharesEqualRecordings(t *testing.T) {
	c := Case{Name: "a"}
	sent := func(body string) Recording {
		return Recording{Requests: []Request{{Method: "POST", Path: "/p", Body: json.RawMessage(body)}}}
	}
	var r Recordings
	r.Set(c, "4.10.0", sent(`{"a":1}`))
	r.Set(c, "4.9.0", sent(`{ "a": 1 }`))
	r.Set(c, "3.5.9", sent(`{"a":2}`))
	r.Set(c, "4.2.1", Recording{Error: "no"})

	want := [][]string{{"3.5.9"}, {"4.2.1"}, {"4.9.0", "4.10.0"}}

	versions := func() (out [][]string) {
		for _, recording := range r.Recordings {
			out = append(out, recording.Versions)
		}
		return out
	}
	if diff := cmp.Diff(want, versions()); diff != "" {
		t.Error(diff)
	}

	r.Set(c, "4.9.3", sent(`{"a":2}`))

	if diff := cmp.Diff([][]string{{"3.5.9", "4.9.3"}, {"4.2.1"}, {"4.10.0"}}, versions()); diff != "" {
		t.Errorf("a newer version of a line, which sends something else: %s", diff)
	}

	if got, ok := r.Of("4.2.1"); !ok || got.Error != "no" {
		t.Errorf("4.2.1 is %v, %v", got, ok)
	}

	if _, ok := r.Of("4.9.0"); ok {
		t.Error("the older version of the line still exists")
	}

	c.Args = []string{"-x"}
	r.Set(c, "4.2.1", sent(`{}`))

	if diff := cmp.Diff([][]string{{"4.2.1"}}, versions()); diff != "" {
		t.Errorf("the changed case kept recordings: %s", diff)
	}
}

func TestInputsCoverOnlyWhatSparkReads(t *testing.T) {
	base := Case{Name: "a", Files: map[string]string{"f": "1"}}

	same := []Case{
		{Name: "b", Files: base.Files}, {Name: "a", Doc: "x", Live: true, Versions: []string{"4.1"}, Files: base.Files},
		{Name: "a", Binary: map[string][]byte{"f": []byte("1")}},
	}
	for _, c := range same {
		if c.Inputs() != base.Inputs() {
			t.Errorf("%+v has other inputs", c)
		}
	}

	other := []Case{
		{Name: "a"}, {Files: map[string]string{"f": "2"}}, {Files: base.Files, Bare: true},
		{Files: base.Files, Args: []string{"x"}},
		{Files: base.Files, Env: map[string]string{"A": "b"}},
		{Files: base.Files, SystemProperties: map[string]string{"a": "b"}},
	}
	for _, c := range other {
		if c.Inputs() == base.Inputs() {
			t.Errorf("%+v has the same inputs", c)
		}
	}
}

func TestLoadReturnsSavedRecordings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	c := Case{Name: "a"}
	var r Recordings
	r.Set(c, "4.1.4", Recording{Requests: []Request{{Method: "POST", Path: "/p", Body: json.RawMessage(`{"a":"<é>"}`)},
		{Method: "DELETE", Path: "/p/a"}}})
	r.Set(c, "4.2.1", Recording{Error: "no"})

	if err := Save(dir, r); err != nil {
		t.Fatal(err)
	}

	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Load returns the body with the indentation of the file, so the comparison compacts the body.
	compacted := cmp.Transformer("compact", func(m json.RawMessage) string { return string(compact(m)) })
	if diff := cmp.Diff(map[string]Recordings{"a": r}, got, compacted); diff != "" {
		t.Error(diff)
	}

	if err := os.Rename(filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")); err != nil {
		t.Fatal(err)
	}

	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("recordings under another name: %v", err)
	}

	write(t, filepath.Join(dir, "b.json"), "{")

	if _, err := Load(dir); err == nil {
		t.Error("half a file is accepted")
	}

	if none, err := Load(filepath.Join(dir, "none")); err != nil || len(none) != 0 {
		t.Errorf("a missing directory: %v, %v", none, err)
	}
}

// TestTheRecordings checks that the committed recordings are current and have the exact form that Save and Normalise
// produce.
func TestTheRecordings(t *testing.T) {
	cases, err := Cases(casesDir)
	if err != nil {
		t.Fatal(err)
	}

	all, err := Load(recordingsDir)
	if err != nil {
		t.Fatal(err)
	}

	live := 0
	for _, c := range cases {
		r, ok := all[c.Name]
		if !ok || r.Inputs != c.Inputs() {
			t.Errorf("case %s is not recorded as it is now; run make record ARGS=-new", c.Name)
			continue
		}

		delete(all, c.Name)

		if c.Live {
			live++
		}

		lines := map[string]bool{}
		for _, recording := range r.Recordings {
			checkRecording(t, c, recording)

			for _, version := range recording.Versions {
				if lines[Line(version)] || !c.In(version) {
					t.Errorf("case %s: version %s should not be there", c.Name, version)
				}

				lines[Line(version)] = true
			}
		}

		wanted := []string{"3.5", "4.0", "4.1", "4.2", "4.3"}
		if len(c.Versions) > 0 {
			wanted = c.Versions
		}

		for _, line := range wanted {
			if !lines[line] {
				t.Errorf("case %s is not recorded with Spark %s; run make record ARGS=-new", c.Name, line)
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Errorf("recordings of %s, which is no case; run make record", name)
	}

	if live != 10 {
		t.Errorf("%d cases are live, want 10", live)
	}
}

func checkRecording(t *testing.T, c Case, recording Recording) {
	t.Helper()

	if (recording.Error == "") == (len(recording.Requests) == 0) {
		t.Errorf("case %s, %v: error %q and %d requests", c.Name, recording.Versions, recording.Error,
			len(recording.Requests))
	}

	again, err := Normalise(recording.Versions[0], recording.Requests)
	if err != nil {
		t.Fatalf("case %s, %v: %v", c.Name, recording.Versions, err)
	}

	if !recording.Same(Recording{Error: recording.Error, Requests: again}) {
		t.Errorf("case %s, %v: it contains random values:\n%s", c.Name, recording.Versions,
			cmp.Diff(recording.Requests, again))
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()

	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
