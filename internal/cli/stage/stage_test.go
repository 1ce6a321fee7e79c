package stage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// TestQuietCallsOverlap checks that the last call restores os.Stderr. The first version of Quiet restored what it had
// found, so two calls that overlapped lost the error output of the process.
func TestQuietCallsOverlap(t *testing.T) {
	stderr := os.Stderr
	first := Quiet()
	second := Quiet()

	first()
	first() // has no effect

	if os.Stderr == stderr {
		t.Error("the end of the first call restored the output while the second call lasts")
	}

	second()

	if os.Stderr != stderr {
		t.Error("the output is lost")
	}
}

// write writes files into a new directory and returns the directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()

	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// appWith returns an application in the namespace jobs whose files are below a directory.
func appWith(dir, main string, deps v1beta2.Dependencies) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{}
	app.Namespace, app.Spec.SparkVersion = "jobs", "4.1.4"

	app.Spec.MainApplicationFile, app.Spec.Deps = strings.ReplaceAll(main, "DIR", dir), deps
	for _, list := range [][]string{deps.Jars, deps.Files, deps.PyFiles, deps.Archives} {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "DIR", dir)
		}
	}
	return app
}

func found(t *testing.T, app *v1beta2.SparkApplication) *fileSet {
	t.Helper()

	set, err := findFiles(app)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestConfigMapHoldsTheFiles(t *testing.T) {
	dir := write(t, map[string]string{"app.py": "main", "lib/a.jar": "a", "lib/b.jar": "b", "other/a.jar": "a",
		"x.txt": "a", "env.tgz": "\xff\x00"})
	app := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{
		Jars:     []string{"file:DIR/lib/*.jar", "file:///DIR/other/a.jar", "https://h/c.jar", "local:///d.jar"},
		Files:    []string{"file:DIR/x.txt", "file:DIR/app.py"},
		Archives: []string{"file:DIR/env.tgz#env"},
	})
	set := found(t, app)

	config, err := set.useConfigMap(app)
	if err != nil {
		t.Fatal(err)
	}

	want := v1beta2.Dependencies{
		Jars: []string{"local:///mnt/sparkctl/a.jar", "local:///mnt/sparkctl/b.jar", "local:///mnt/sparkctl/a.jar",
			"https://h/c.jar", "local:///d.jar"},
		Files:    []string{"viewfs://sparkctl/files/x.txt", "viewfs://sparkctl/files/app.py"},
		Archives: []string{"viewfs://sparkctl/files/env.tgz#env"},
	}
	if diff := cmp.Diff(want, app.Spec.Deps); diff != "" ||
		app.Spec.MainApplicationFile != "local:///mnt/sparkctl/app.py" {
		t.Errorf("the main file is %s; (-want +got):\n%s", app.Spec.MainApplicationFile, diff)
	}

	content := map[string]string{}
	for _, item := range app.Spec.Volumes[0].ConfigMap.Items {
		content[item.Path] = string(config.BinaryData[item.Key])
	}

	wantContent := map[string]string{"app.py": "main", "a.jar": "a", "b.jar": "b", "x.txt": "a", "env.tgz": "\xff\x00"}
	if diff := cmp.Diff(wantContent, content); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
	// Both a.jar and x.txt have the same content, and both a.jar also have the same name.
	if contents, items := len(config.BinaryData), len(app.Spec.Volumes[0].ConfigMap.Items); contents != 4 ||
		items != 5 {
		t.Errorf("the ConfigMap has %d contents, and %d files are mounted", contents, items)
	}

	if got := app.Spec.SparkConf["spark.hadoop.fs.viewfs.mounttable.sparkctl.link./files"]; got != "file:///mnt/sparkctl" {
		t.Errorf("viewfs leads to %q", got)
	}

	mount := []corev1.VolumeMount{{Name: app.Spec.Volumes[0].Name, MountPath: "/mnt/sparkctl", ReadOnly: true}}
	if diff := cmp.Diff(mount, app.Spec.Driver.VolumeMounts) + cmp.Diff(mount,
		app.Spec.Executor.VolumeMounts); diff != "" {
		t.Errorf("the mounts (-want +got):\n%s", diff)
	}
}

// TestConfigMapIsNamedByContent checks that the name of a ConfigMap with staged files depends only on the contents of
// the files.
func TestConfigMapIsNamedByContent(t *testing.T) {
	name := func(text string) string {
		dir := write(t, map[string]string{"app.py": text})
		app := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{})

		config, err := found(t, app).useConfigMap(app)
		if err != nil {
			t.Fatal(err)
		}
		return config.Name
	}

	first, again, other := name("a"), name("a"), name("b")
	if first != again || first == other {
		t.Errorf("the names are %s, %s and %s", first, again, other)
	}
}

func TestPythonPathOfExecutors(t *testing.T) {
	dir := write(t, map[string]string{"app.py": "main", "a.py": "a", "b.py": "b", "c.zip": "c"})
	for version, want := range map[string]string{"3.5.9": "/mnt/sparkctl:/mnt/sparkctl/c.zip",
		"4.0.5": "/mnt/sparkctl:/mnt/sparkctl/c.zip", "4.1.4": "", "4.3.0": ""} {
		app := appWith(dir, "file:DIR/app.py",
			v1beta2.Dependencies{PyFiles: []string{"file:DIR/a.py", "file:DIR/b.py", "file:DIR/c.zip",
				"local:///d.py"}})

		app.Spec.SparkVersion = version
		if _, err := found(t, app).useConfigMap(app); err != nil {
			t.Fatal(err)
		}

		if got := app.Spec.SparkConf["spark.executorEnv.PYTHONPATH"]; got != want {
			t.Errorf("%s: the path is %q, want %q", version, got, want)
		}
	}
}

func TestFilesThatCannotBeStaged(t *testing.T) {
	dir := write(t, map[string]string{"app.py": "main", "a b.jar": "a", "large.jar": strings.Repeat("x", MaxConfigMap),
		"d/x": "x", "d/y": "y", "e/x": "other"})
	for link, target := range map[string]string{"loop.jar": "loop.jar", "gone.jar": "missing"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}

	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	const elsewhere = "no such file or directory; name a file of this machine, local:///PATH for a file of the image, or a URL"
	for _, c := range []struct {
		main string
		jars []string
		says string
	}{
		{"file:DIR/none.py", nil, "the application's file: stat DIR/none.py: " + elsewhere},
		{"file:DIR/d/*", nil, "matches several (2); name one of them"},
		{"file:DIR/app.py", []string{"file:DIR/none.jar"}, "--jars: stat DIR/none.jar: " + elsewhere},
		{"file:DIR/app.py", []string{"file:DIR/gone.jar"}, "--jars: stat DIR/gone.jar: " + elsewhere},
		{"file:DIR/app.py", []string{"file:DIR/loop.jar"},
			"--jars: stat DIR/loop.jar: too many levels of symbolic links"},
		{"file:DIR/app.py", []string{"file:DIR/*.zip"},
			"--jars: no file matches DIR/*.zip; name a file of this machine"},
		{"file:DIR/app.py", []string{"file:DIR/d"},
			"--jars: DIR/d is a directory; name its files, for example DIR/d/*, or pack it"},
		{"file:DIR/app.py", []string{"file:DIR/pipe"},
			"--jars: DIR/pipe is not a regular file; copy its content into a file"},
		{"file:DIR/app.py", []string{"file:DIR/a%20b.jar"},
			`its name "a b.jar" has characters that a URI escapes; rename it`},
		{"file:DIR/app.py", []string{"file:DIR/d/x", "file:DIR/e/x"},
			"DIR/d/x and DIR/e/x have the same name and different contents, and Spark puts both into one directory; rename one"},
		{"file:DIR/app.py", []string{"file:DIR/large.jar"},
			"the local files have 900004 bytes together (DIR/large.jar has 900000), and a ConfigMap takes at most 900000; name an object store with --stage"},
	} {
		app := appWith(dir, c.main, v1beta2.Dependencies{Jars: c.jars})

		set, err := findFiles(app)
		if err == nil {
			_, err = set.useConfigMap(app)
		}

		if says := strings.ReplaceAll(c.says, "DIR", dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s %v: the error is %v, want %q in it", c.main, c.jars, err, says)
		}
	}

	denied := readError(&os.PathError{Op: "open", Path: "/secret.jar", Err: syscall.EACCES}) // root may read all files
	if want := "open /secret.jar: permission denied; give yourself the right to read it (chmod u+r), or name a file"; !strings.HasPrefix(denied.Error(), want) {
		t.Errorf("the error is %v, want %q", denied, want)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 123456: "123 kB",
		5_250_000: "5.25 MB", 7_000_000_000: "7 GB", 1 << 60: "1.15e+09 GB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// stored returns the contents of the files below a directory, by their paths.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()

	files := map[string]string{}

	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// staging stages the files of an application in a store, with the same steps as the verb submit. It returns the
// reported progress, one line for each file.
func staging(t *testing.T, url, readAs string, app *v1beta2.SparkApplication) []string {
	t.Helper()
	set := found(t, app)

	s, err := openStore(t.Context(), url, readAs, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	if err := s.Use(set, app); err != nil {
		t.Fatal(err)
	}
	var lines []string

	keys, err := s.Upload(t.Context(), set, app.Namespace, func(f *localFile, n int64, existed bool) {
		if n == f.Size {
			lines = append(lines, fmt.Sprint(f.Name(), " ", existed))
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if added := strings.Count(strings.Join(lines, "\n"), "false"); len(keys) != added {
		t.Errorf("the new keys are %v, but %d files were stored", keys, added)
	}
	return lines
}

// TestDirectory checks how files are staged and deleted if the store is a directory.
func TestDirectory(t *testing.T) {
	storeLife(t, "file://"+filepath.Join(t.TempDir(), "store"), "", nil)
}

// storeLife checks how files are staged and deleted in the store with the given URL. Each content must be stored once,
// applications must name the stored files, and the files must be deleted with the last application of the namespace
// that names them.
//
// The second URL is the beginning of the URLs by which Spark reads the files. The callback returns the store's contents
// by their keys below the store's URL. If the callback is nil, the store is a directory, and storeLife sets both
// arguments itself.
func storeLife(t *testing.T, url, as string, list func() map[string]string) {
	t.Helper()

	if list == nil {
		root := strings.TrimPrefix(url, "file://")
		list, as = func() map[string]string { return stored(t, root) }, "local://"+root
	}

	dir := write(t, map[string]string{"app.py": "main", "a.jar": "a"})
	first := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{Jars: []string{"file:DIR/a.jar", "local:///b.jar"}})
	second := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{})
	other := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{})

	first.UID, second.UID, other.UID, other.Namespace = "1", "2", "3", "elsewhere"
	for i, c := range []struct {
		app  *v1beta2.SparkApplication
		want []string
	}{
		{first, []string{"app.py false", "a.jar false"}}, {second, []string{"app.py true"}},
		{other, []string{"app.py false"}},
	} {
		if diff := cmp.Diff(c.want, staging(t, url, "", c.app)); diff != "" {
			t.Errorf("application %d (-want +got):\n%s", i+1, diff)
		}
	}

	main, jar := found(t, appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{})).Files[0],
		found(t, appWith(dir, "file:DIR/a.jar", v1beta2.Dependencies{})).Files[0]
	mainKey, jarKey := "jobs/"+main.Digest[:32]+"/app.py", "jobs/"+jar.Digest[:32]+"/a.jar"
	otherKey := "elsewhere/" + main.Digest[:32] + "/app.py"

	if diff := cmp.Diff([]string{as + "/" + jarKey, "local:///b.jar"}, first.Spec.Deps.Jars); diff != "" ||
		first.Spec.MainApplicationFile != as+"/"+mainKey {
		t.Errorf("the main file is %s; (-want +got):\n%s", first.Spec.MainApplicationFile, diff)
	}

	if diff := cmp.Diff(map[string]string{mainKey: "main", jarKey: "a", otherKey: "main"}, list()); diff != "" {
		t.Errorf("the store (-want +got):\n%s", diff)
	}

	converted := &sparkv1.SparkApplication{ObjectMeta: second.ObjectMeta} // as by sparkctl convert

	for i, c := range []struct {
		deleted   client.Object
		remaining []client.Object
		want      map[string]string
	}{
		{first, []client.Object{first, converted}, map[string]string{mainKey: "main", otherKey: "main"}},
		{converted, nil, map[string]string{otherKey: "main"}},
		{other, nil, map[string]string{}},
	} {
		if _, err := removeFiles(t.Context(), c.deleted, c.remaining); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(c.want, list()); diff != "" {
			t.Errorf("after deletion %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// TestRemoveCallsOnlyOwnServers checks that removeFiles sends no requests to the server in the application's
// annotation, unless the URL of the user's own store names the same server.
func TestRemoveCallsOnlyOwnServers(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	defer server.Close()

	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")

	store := "s3://bucket/files?region=us-east-1&use_path_style=true&endpoint=" + server.URL
	app := appWith("", "local:///app.py", v1beta2.Dependencies{})

	text, err := json.Marshal(staged{Store: store, Keys: []string{"files/jobs/" + strings.Repeat("0", 32) + "/c.txt"}})
	if err != nil {
		t.Fatal(err)
	}

	app.Annotations = map[string]string{filesAnnotation: string(text)}
	for _, test := range []struct {
		name, own string
		wantCalls bool
	}{
		{"the user has no store", "", false},
		{"the user's store is on another server", "s3://bucket?endpoint=https://s3.example.com", false},
		{"the user's store is on the same server", "s3://other?endpoint=" + server.URL, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(storeVariable, test.own)

			calls = 0

			_, err := removeFiles(t.Context(), app, nil)
			if refused := err != nil && strings.Contains(err.Error(), server.URL) &&
				strings.Contains(err.Error(), storeVariable); refused == test.wantCalls {
				t.Errorf("error %v", err)
			}

			if got := calls > 0; got != test.wantCalls {
				t.Errorf("the server was called %d times", calls)
			}
		})
	}
}

// TestRemoveTouchesNothingElse checks that removeFiles does not delete a store's other objects, even if the
// application's annotation names them.
func TestRemoveTouchesNothingElse(t *testing.T) {
	digest := strings.Repeat("0", 32)
	root := write(t, map[string]string{"a.txt": "a", "jobs/b.txt": "b", "elsewhere/" + digest + "/c.txt": "c"})
	app := appWith("", "local:///app.py", v1beta2.Dependencies{})

	text, err := json.Marshal(staged{Store: "file://" + root,
		Keys: []string{"a.txt", "jobs/b.txt", "elsewhere/" + digest + "/c.txt", "jobs/../a.txt"}})
	if err != nil {
		t.Fatal(err)
	}

	app.Annotations = map[string]string{filesAnnotation: string(text)}

	before := stored(t, root)
	if n, err := removeFiles(t.Context(), app, nil); err != nil || n != 0 {
		t.Errorf("%d deleted, %v", n, err)
	}

	if diff := cmp.Diff(before, stored(t, root)); diff != "" {
		t.Errorf("the store (-want +got):\n%s", diff)
	}
}

// TestDirectoryOfThePods checks the URIs of files in a directory that the pods mount. Files and archives must not have
// the scheme local, because Spark does not copy such files to the executors.
func TestDirectoryOfThePods(t *testing.T) {
	dir := write(t, map[string]string{"app.py": "main", "a.py": "a", "x.txt": "x"})
	app := appWith(dir, "file:DIR/app.py",
		v1beta2.Dependencies{PyFiles: []string{"file:DIR/a.py"}, Files: []string{"file:DIR/x.txt"}})
	app.Spec.SparkVersion = "3.5.9"
	root := t.TempDir()
	staging(t, "file://"+root, "local:///mnt/store", app)

	for _, test := range []struct{ got, pattern string }{
		{app.Spec.MainApplicationFile, `^local:///mnt/store/jobs/[0-9a-f]{32}/app.py$`},
		{app.Spec.Deps.PyFiles[0], `^local:///mnt/store/jobs/[0-9a-f]{32}/a.py$`},
		{app.Spec.Deps.Files[0], `^viewfs://sparkctl/files/jobs/[0-9a-f]{32}/x.txt$`},
		{app.Spec.SparkConf["spark.hadoop.fs.viewfs.mounttable.sparkctl.link./files"], `^file:///mnt/store$`},
		{app.Spec.SparkConf["spark.executorEnv.PYTHONPATH"], `^/mnt/store/jobs/[0-9a-f]{32}$`},
	} {
		if !regexp.MustCompile(test.pattern).MatchString(test.got) {
			t.Errorf("%q does not match %s", test.got, test.pattern)
		}
	}
}

// TestProgress checks the lines of a progress bar: a bar fits a narrow terminal and ends with a line break, and without
// a terminal each file has one line.
func TestProgress(t *testing.T) {
	long, empty := &localFile{Path: "/d/a-name-that-is-longer-than-a-narrow-terminal.jar", Size: 2000},
		&localFile{Path: "/d/empty"}
	for width, want := range map[int]string{
		0: "a-name-that-is-longer-than-a-narrow-terminal.jar (2 kB) stored\nempty (0 bytes) stored\nempty (0 bytes) is in the store\n",
		60: "\r#####---------------  25% …han-a-narrow-terminal.jar (2 kB)\r##########----------  50% …han-a-narrow-terminal.jar (2 kB)" +
			"\r#################### 100% …han-a-narrow-terminal.jar (2 kB)\n\r#################### 100% empty (0 bytes)\nempty (0 bytes) is in the store\n",
	} {
		var out strings.Builder

		bar := progressBar{streams: terminal.Streams{Err: &out, Width: width}}
		for _, stored := range []int64{500, 501, 1000, 2000} {
			bar.show(long, stored, false)
		}

		bar.show(empty, 0, false)
		bar.show(empty, 0, true)
		bar.end()

		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
	var out strings.Builder
	bar := progressBar{streams: terminal.Streams{Err: &out, Width: 60}}
	bar.show(long, 500, false)
	bar.end() // the upload failed

	if !strings.HasSuffix(out.String(), "\n") {
		t.Errorf("after a failure the line does not end: %q", out.String())
	}
}

// TestChangedFilesAreNotStored checks that a file that changes after it was read leaves nothing in the store.
func TestChangedFilesAreNotStored(t *testing.T) {
	dir := write(t, map[string]string{"app.py": "main"})
	app := appWith(dir, "file:DIR/app.py", v1beta2.Dependencies{})

	set := found(t, app)
	if err := os.WriteFile(filepath.Join(dir, "app.py"), bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}

	root := t.TempDir()

	s, err := openStore(t.Context(), "file://"+root, "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	_, err = s.Upload(t.Context(), set, "jobs", func(*localFile, int64, bool) {})
	if err == nil || !strings.Contains(err.Error(), "was changed while it was read") {
		t.Errorf("the error is %v", err)
	}

	if files := stored(t, root); len(files) > 0 {
		t.Errorf("the store has %v", files)
	}
}

func TestOpenRefuses(t *testing.T) {
	for url, says := range map[string]string{
		"bucket":                   "is not the URL of a store",
		"s3://key:secret@bucket/x": "must not contain a password",
		"ftp://host/dir":           "ftp",
	} {
		if _, err := openStore(t.Context(), url, "", true); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: the error is %v, want %q in it", url, err, says)
		}
	}
}

// TestOnlyTheUserChoosesTheProfile checks that removeFiles uses no profile, file or other setting of the user that the
// application's annotation names, but those in the URL of the user's own store, and that no application keeps them.
func TestOnlyTheUserChoosesTheProfile(t *testing.T) {
	signers := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, after, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		signer, _, _ := strings.Cut(after, "/")
		signers += signer + " "

		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()

	home := write(t, map[string]string{"credentials": "[default]\naws_access_key_id = USER\naws_secret_access_key = a\n[admin]\naws_access_key_id = ADMIN\naws_secret_access_key = b\n"})
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")

	at := "?region=us-east-1&use_path_style=true&endpoint=" + server.URL
	remove := func(store string) error {
		signers = ""
		app := appWith("", "local:///app.py", v1beta2.Dependencies{})

		text, err := json.Marshal(staged{Store: store,
			Keys: []string{"files/jobs/" + strings.Repeat("0", 32) + "/c.txt"}})
		if err != nil {
			t.Fatal(err)
		}

		app.Annotations = map[string]string{filesAnnotation: string(text)}
		_, err = removeFiles(t.Context(), app, nil)
		return err
	}

	t.Setenv(storeVariable, "s3://bucket/files"+at)

	if err := remove("s3://bucket/files" + at); err != nil || signers != "USER USER " {
		t.Errorf("without a profile: %v, signed by %s", err, signers)
	}

	for _, parameter := range []string{
		"profile=admin", "ssetype=aws:kms", "kmskeyid=k", "accelerate=true", "anonymous=true", "fips=true",
		"dualstack=true", "disable_https=true",
		"awssdk=v2", "hostname_immutable=true", "rate_limiter_capacity=0", "request_checksum_calculation=when_required",
		"Profile=admin", "new=1",
	} {
		if err := remove("s3://bucket/files" + at + "&" + parameter); err == nil ||
			!strings.Contains(err.Error(), "only you may choose") || signers != "" {
			t.Errorf("%s: %v, signed by %s", parameter, err, signers)
		}
	}

	for _, store := range []string{
		"file:///tmp?secret_key_path=/etc/passwd", "file:///tmp?base_url=http://x", "file:///tmp?create_dir=true",
		"gs://b/p?access_id=x", "gs://b/p?private_key_path=/etc/passwd",
		"gs://b/p?universe_domain=x", "azblob://c/p?storage_account=a&domain=x",
		"azblob://c/p?storage_account=a&protocol=http", "azblob://c/p?cdn=true", "azblob://c/p?localemu=true",
	} {
		if err := remove(store); err == nil || !strings.Contains(err.Error(), "only you may choose") {
			t.Errorf("%s: %v", store, err)
		}
	}

	mine := "s3://bucket/files" + at + "&profile=admin&ssetype=AES256"
	t.Setenv(storeVariable, mine)

	if err := remove("s3://bucket/files" + at); err != nil || signers != "ADMIN ADMIN " {
		t.Errorf("with the user's profile: %v, signed by %s", err, signers)
	}

	store, err := openStore(t.Context(), mine, "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()

	if strings.Contains(store.url, "admin") || strings.Contains(store.url, "AES") ||
		!strings.Contains(store.url, "region=us-east-1") {
		t.Errorf("the application keeps the URL %s", store.url)
	}
}
