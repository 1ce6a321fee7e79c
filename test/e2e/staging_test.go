package e2e

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// staging tests that real Spark reads the local files that sparkctl submits, and that the files are deleted with their
// applications.
func (w *suite) staging(t *testing.T) {
	w.needsEmbedded(t, "a node on this machine")
	s := &stagingTest{suite: w, sparkctl: gobuild.Must(t, ".", "./cmd/sparkctl")}
	t.Run("parallel", func(t *testing.T) {
		w.parallel(t, "in a ConfigMap", s.configMap)
		w.parallel(t, "in an object store", s.objectStore)
	})
}

// stagingTest submits local files.
type stagingTest struct {
	*suite
	sparkctl string
	store    string // the URL of the user's own store
}

// localProgram writes a program and its files into a new directory. The content is different for each name.
func localProgram(t *testing.T, name string) (dir string) {
	t.Helper()

	dir = t.TempDir()
	for _, file := range []string{"app.py", "greeting.py"} {
		text, err := os.ReadFile(filepath.Join("testdata/staging", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o600)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "data.txt"), []byte("data of "+name), 0o600); err != nil {
		t.Fatal(err)
	}

	packed, err := os.Create(filepath.Join(dir, "pack.zip"))
	if err != nil {
		t.Fatal(err)
	}

	archive := zip.NewWriter(packed)

	inner, err := archive.Create("inner.txt")
	if err == nil {
		_, err = inner.Write([]byte("archive of " + name))
	}

	if err == nil {
		err = archive.Close()
	}

	if err == nil {
		err = packed.Close()
	}

	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// stagedFiles is the number of files that localProgram writes.
const stagedFiles = 4

// submit submits the program in a directory with sparkctl, as a user does. It returns the application and the output of
// sparkctl.
func (s *stagingTest) submit(t *testing.T, dir, name string, options ...string) (*v1beta2.SparkApplication, string) {
	t.Helper()

	args := append([]string{
		"submit", "--object-name", name, "--deploy-mode", "cluster", "--name", name,
		"--conf", "spark.kubernetes.container.image=" + cluster.SparkImage,
		"--conf", "spark.kubernetes.authenticate.driver.serviceAccountName=" + cluster.ServiceAccount,
		"--conf", "spark.kubernetes.driver.request.cores=100m", "--conf",
		"spark.kubernetes.executor.request.cores=100m",
		"--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1",
		"--py-files", "greeting.py", "--files", "data.txt", "--archives", "pack.zip#pack",
	}, options...)
	for key, value := range timeouts {
		args = append(args, "--conf", key+"="+value)
	}

	text := s.run(t, dir, append(args, "app.py", "one", "two words")...)

	app := &v1beta2.SparkApplication{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, app); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return app, text
}

// waiting contains options for an application whose driver never starts, because no node has the required label. Such
// an application owns its staged files but uses no CPU or memory.
var waiting = []string{"--conf", "spark.kubernetes.driver.node.selector.example.dev/none=none"}

// run runs sparkctl in a directory, and returns its output.
func (s *stagingTest) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.sparkctl,
		append([]string{args[0], "--kubeconfig", s.Kubeconfig(), "-n", "default"}, args[1:]...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "AWS_ACCESS_KEY_ID="+storeUser, "AWS_SECRET_ACCESS_KEY="+storeSecret,
		"SPARKCTL_STAGE="+s.store)

	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sparkctl %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return string(text)
}

// reads waits until an application is COMPLETED, and checks that its driver and its executor read the staged files.
func (s *stagingTest) reads(t *testing.T, app *v1beta2.SparkApplication) {
	t.Helper()
	defer func() {
		if t.Failed() {
			s.logPod(t, app.Name+"-driver")
		}
	}()

	s.awaitEnd(t, app, patience, v1beta2.ApplicationStateCompleted)
	content := "hello, data of " + app.Name + ", archive of " + app.Name
	want := map[string]string{"arguments": "one|two words", "driver": content, "executor": content}

	proof := &lineProof{suite: s.suite}
	if diff := cmp.Diff(want, proof.printedFacts(t, app.Status.DriverInfo.PodName)); diff != "" {
		t.Errorf("what the driver printed (-want +got):\n%s", diff)
	}
}

// configMap checks that two applications with the same files share a ConfigMap, and that Kubernetes deletes the
// ConfigMap when the last of these applications is deleted.
func (s *stagingTest) configMap(t *testing.T) {
	dir := localProgram(t, "staged")
	app, _ := s.submit(t, dir, "staged")
	again, _ := s.submit(t, dir, "staged-again", waiting...)
	config := &corev1.ConfigMap{}

	key := client.ObjectKey{Namespace: "default", Name: app.Spec.Volumes[0].ConfigMap.Name}
	if err := s.Client.Get(t.Context(), key, config); err != nil {
		t.Fatal(err)
	}

	if shared := again.Spec.Volumes[0].ConfigMap.Name; shared != key.Name || len(config.OwnerReferences) != 2 ||
		len(config.BinaryData) != stagedFiles {
		t.Errorf("the second application has the ConfigMap %s; the first has %s with the owners %v and %d files",
			shared, key.Name, config.OwnerReferences, len(config.BinaryData))
	}

	s.reads(t, app)
	s.run(t, dir, "delete", "staged", "--yes", "--wait")
	eventually(t, time.Minute, "the garbage collection of the first application", func() (string, bool) {
		if err := s.Client.Get(t.Context(), key, config); err != nil {
			t.Fatalf("the ConfigMap of the second application: %v", err)
		}
		return "it still owns the ConfigMap", len(config.OwnerReferences) == 1 &&
			config.OwnerReferences[0].UID == again.UID
	})
	s.remove(t, again)

	if err := s.Client.Get(t.Context(), key, config); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap outlives its applications: %v", err)
	}
}

// storeName is the name of the object store with the staged files.
const storeName = "object-store"

// objectStore checks that applications with the same files share the objects of a store, that Spark reads them, and
// that sparkctl deletes them with the last application.
func (s *stagingTest) objectStore(t *testing.T) {
	own := *s
	s = &own
	s.startStore(t, storeName, corev1.Container{
		Name: "gateway", Ports: []corev1.ContainerPort{{ContainerPort: 8000}},
		Args: []string{"bash", "-c",
			"until [ -d /data/bucket ]; do sleep 0.1; done; exec python3 -m http.server --directory /data/bucket 8000"},
	})

	address, stop, err := s.Forward(t.Context(), "default", storeName, storePort)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	url := "s3://bucket/files?region=us-east-1&use_path_style=true&endpoint=http://" + address
	s.store = url
	gateway := "http://" + storeName + ".default.svc:8000/files"

	dir := localProgram(t, "by-http")

	app, text := s.submit(t, dir, "by-http", "--stage", url, "--stage-as", gateway)
	if n := strings.Count(text, " stored\n"); n != stagedFiles ||
		!strings.HasPrefix(app.Spec.MainApplicationFile, gateway+"/default/") {
		t.Errorf("the application's file is %s, and sparkctl printed:\n%s", app.Spec.MainApplicationFile, text)
	}

	s.requests(t, "PUT", stagedFiles)

	store := append([]string{"--stage", url, "--stage-as", gateway}, waiting...)

	again, text := s.submit(t, dir, "by-http-again", store...)
	if n := strings.Count(text, " is in the store\n"); n != stagedFiles {
		t.Errorf("the second submission printed:\n%s", text)
	}

	s.reads(t, app)
	s.run(t, dir, "delete", "by-http", "--yes", "--wait") // the second application still uses the files
	s.remove(t, again)                                    // Kubernetes does not delete the objects in the store
	s.submit(t, dir, "by-http-last", store...)
	s.requests(t, "PUT", stagedFiles)
	s.requests(t, "DELETE", 0)
	s.run(t, dir, "delete", "by-http-last", "--yes", "--wait")
	s.requests(t, "DELETE", stagedFiles)

	if *wholeLife {
		t.Run("s3a", func(t *testing.T) { s.s3a(t, url) })
	}
}

// s3a checks that Spark can read the staged files with its S3 client, hadoop-aws. Users add hadoop-aws to their image,
// but this test mounts its jars from the node.
func (s *stagingTest) s3a(t *testing.T, url string) {
	jars := s3aJars(t)

	options := []string{"--stage", url}
	for key, value := range map[string]string{
		"hadoop.fs.s3a.endpoint":        "http://" + storeName + ".default.svc:7070",
		"hadoop.fs.s3a.endpoint.region": "us-east-1", "hadoop.fs.s3a.path.style.access": "true",
		"driver.extraClassPath": "/opt/s3a/*", "executor.extraClassPath": "/opt/s3a/*",
	} {
		options = append(options, "--conf", "spark."+key+"="+value)
	}

	for _, role := range []string{"driver", "executor"} {
		for key, value := range map[string]string{
			"volumes.hostPath.s3a.mount.path": "/opt/s3a", "volumes.hostPath.s3a.options.path": jars,
			"secretKeyRef.AWS_ACCESS_KEY_ID":     storeName + ":user",
			"secretKeyRef.AWS_SECRET_ACCESS_KEY": storeName + ":secret",
		} {
			options = append(options, "--conf", "spark.kubernetes."+role+"."+key+"="+value)
		}
	}

	dir := localProgram(t, "by-s3a")

	app, _ := s.submit(t, dir, "by-s3a", options...)
	for _, uri := range []string{app.Spec.MainApplicationFile, app.Spec.Deps.PyFiles[0], app.Spec.Deps.Files[0],
		app.Spec.Deps.Archives[0]} {
		if !strings.HasPrefix(uri, "s3a://bucket/files/default/") {
			t.Errorf("the application reads %s", uri)
		}
	}

	s.reads(t, app)
	s.run(t, dir, "delete", "by-s3a", "--yes", "--wait")
	s.requests(t, "DELETE", 2*stagedFiles)
}

// requests checks how many requests the store has answered successfully since its start. It counts only requests with
// the given HTTP method.
func (s *stagingTest) requests(t *testing.T, method string, want int) {
	t.Helper()

	log, err := s.Core.CoreV1().Pods("default").GetLogs(storeName,
		&corev1.PodLogOptions{Container: "s3"}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	got := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "| "+method+" |") && strings.Contains(line, "| 20") {
			got++
		}
	}

	if got != want {
		t.Errorf("the store answered %d requests %s, want %d:\n%s", got, method, want, log)
	}
}

// s3aJars returns a directory with hadoop-aws and the parts of the AWS SDK that it needs.
func s3aJars(t *testing.T) string { return mavenJars(t, "s3a", "testdata/staging/pom.xml") }

// mavenJars returns a directory with the dependencies of a POM. It downloads them once per machine. Maven verifies
// their checksums.
func mavenJars(t *testing.T, name, file string) string {
	t.Helper()

	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}

	pom, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(cache, "sparklocal", "jars", name+"-"+digestOf(pom)[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}

	maven, err := exec.LookPath("mvn")
	if err != nil {
		t.Skip("fetching the jars of " + name + " needs Maven")
	}

	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}

	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(part) }()

	out, err := exec.CommandContext(t.Context(), maven, "--batch-mode", "--quiet", "--strict-checksums", "--file", pom,
		copyGoal+"-dependencies", "-DoutputDirectory="+part).CombinedOutput()
	if err != nil {
		t.Fatalf("fetch the jars of %s: %v\n%s", name, err, out)
	}

	if err := os.Chmod(part, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.Rename(part, dir); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return dir
}
