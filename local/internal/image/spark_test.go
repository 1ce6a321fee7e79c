package image

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/sparkoperator/spark-operator/local/internal/debian"
)

// enterScript sets up the mounts of a container in its own namespaces, as a container runtime does, and runs a command
// there. $1 is the root file system, which is read-only except for directories that a pod would mount. $2 is the user
// and group. $3 and the following arguments are the command.
const enterScript = `
set -e
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/shm"
chmod 1777 "$root/dev/shm"
for d in null zero full random urandom; do touch "$root/dev/$d"; mount --bind "/dev/$d" "$root/dev/$d"; done
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
echo "127.0.0.1 localhost $(hostname)" >"$root/tmp/hosts"
touch "$root/etc/hosts"
mount --bind "$root/tmp/hosts" "$root/etc/hosts"
for d in work-dir work logs; do mount -t tmpfs -o mode=1777 tmpfs "$root/opt/spark/$d"; done
ip link set lo up
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" "$root" /usr/bin/env -i --chdir=/opt/spark/work-dir "$@"
`

// requireProgram returns the path of a program. If the program is missing, requireProgram tries to install the given
// package, which needs root. If the installation fails, it skips the test.
func requireProgram(t *testing.T, program, pkg string) string {
	t.Helper()

	if path, err := exec.LookPath(program); err == nil {
		return path
	}

	if err := debian.Install(t.Context(), pkg); err != nil {
		t.Skipf("needs the program %s: %v", program, err)
	}

	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("package %s is installed, but its program is missing: %v", pkg, err)
	}
	return path
}

// rootfs builds a Spark image with the user's cache, unpacks it, and returns the directory and the environment of the
// image. It skips the test if the machine cannot run the image's programs.
func rootfs(t *testing.T, o SparkOptions) (root string, env []string) {
	t.Helper()

	if testing.Short() {
		t.Skip("builds and runs a Spark image: skipped with -short")
	}

	if os.Getuid() != 0 {
		t.Skip("running the image's programs needs root (chroot, mounts): run this test as root")
	}

	requireProgram(t, "unshare", "util-linux")
	requireProgram(t, "ip", "iproute2")
	requireProgram(t, "tar", "tar")

	if out, err := exec.Command("unshare", "-m", "-n", "-p", "-f", "true").CombinedOutput(); err != nil {
		t.Skipf("this machine does not allow namespaces: %s", out)
	}

	o.Progress = t.Output()

	archive, err := Spark(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	s, err := openStore("", nil)
	if err != nil {
		t.Fatal(err)
	}

	dir, err := s.workDir() // Not t.TempDir, because /tmp may be in memory.
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(dir) })
	// The directory becomes the root directory, so users other than root need access to it.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return unpackArchive(t, archive, o.tags()[0], dir)
}

func unpackArchive(t *testing.T, archive, tag, dir string) (root string, env []string) {
	t.Helper()

	ref, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}

	img, err := tarball.ImageFromPath(archive, &ref)
	if err != nil {
		t.Fatal(err)
	}

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	if config.Config.User != "185" {
		t.Errorf("user %q, want the number 185", config.Config.User)
	}

	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range layers {
		body, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}

		cmd := exec.CommandContext(t.Context(), "tar", "-x", "--numeric-owner", "-p", "-C", dir)
		cmd.Stdin = body

		out, err := cmd.CombinedOutput()
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatalf("unpack: %v\n%s", err, out)
		}
	}
	return dir, config.Config.Env
}

// runInside runs a command in the image and returns its output and exit code.
func runInside(t *testing.T, root string, env []string, user string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// --kill-child: a JVM must not survive a test that times out.
	full := []string{"-m", "-n", "-p", "-f", "--kill-child", "--propagation", "private", "bash", "-c", enterScript,
		"enter", root, user}
	full = append(append(full, env...), args...)
	cmd := exec.CommandContext(ctx, "unshare", full...)

	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%q did not end: %v\n%s", args, err, lastLines(string(out), 30))
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// testedSpark returns the Spark versions to test. The variable SPARKLOCAL_TEST_SPARK lists them, separated by commas.
// If the variable is not set, testedSpark returns the demo's version.
func testedSpark() []string {
	if v := os.Getenv("SPARKLOCAL_TEST_SPARK"); v != "" {
		return strings.Split(v, ",")
	}
	return []string{"4.1.4"}
}

// TestSparkImage runs the programs of real Spark images on a read-only root file system, without a cluster.
func TestSparkImage(t *testing.T) {
	for _, version := range testedSpark() {
		t.Run(version, func(t *testing.T) {
			root, env := rootfs(t, SparkOptions{Version: version})
			t.Run("files", func(t *testing.T) { checkFiles(t, root, version) })
			t.Run("runs", func(t *testing.T) { checkRuns(t, root, env, version) })
		})
	}
}

func checkFiles(t *testing.T, root, version string) {
	scala := "2.13"
	if strings.HasPrefix(version, "3.") {
		scala = "2.12"
	}

	names := []string{
		"entrypoint.sh", "decom.sh", "spark/RELEASE", "spark/bin/spark-submit", "spark/sbin/start-master.sh",
		"spark/sbin/stop-master.sh",
		"spark/sbin/start-worker.sh", "spark/sbin/stop-worker.sh", "spark/sbin/start-connect-server.sh",
		"spark/sbin/stop-connect-server.sh",
		"spark/sbin/start-history-server.sh", "spark/examples/jars/spark-examples.jar",
		"spark/examples/jars/spark-failures.jar",
		"spark/examples/jars/spark-examples_" + scala + "-" + version + ".jar", "spark/examples/src/main/python/pi.py",
		"spark/examples/src/main/python/failures/throws.py",
	}
	if hasConnect(version) {
		names = append(names, "spark/jars/spark-connect_"+scala+"-"+version+".jar")
	}

	for _, name := range names {
		path := filepath.Join(root, "opt", name)

		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
			continue
		}

		if strings.HasSuffix(name, ".sh") && info.Mode().Perm() != 0o755 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	// Files of the machine that built the image must not be in it.
	for _, name := range []string{"etc/hostname", "etc/resolv.conf", "etc/apt", "var/lib/apt"} {
		if exists(filepath.Join(root, name)) {
			t.Errorf("the image has /%s", name)
		}
	}
}

func checkRuns(t *testing.T, root string, env []string, version string) {
	submit := func(args ...string) []string {
		return append([]string{"/opt/entrypoint.sh", "driver", "--master", "local[2]", "--driver-memory", "600m"},
			args...)
	}
	examples, failures := "local:///opt/spark/examples/jars/spark-examples.jar",
		"local:///opt/spark/examples/jars/spark-failures.jar"
	python := "local:///opt/spark/examples/src/main/python/"
	const ( // whether a program runs only with SPARK_PROGRAMS=all
		quick = false
		whole = true
	)
	type run struct {
		whole      bool
		name, user string
		env, args  []string
		wantCode   int
		want       string // a regular expression that the output must match
	}

	runs := []run{
		{whole, "SparkPi", "185:185", nil, submit("--class", "org.apache.spark.examples.SparkPi", examples, "2"), 0,
			`(?m)^Pi is roughly 3\.1\d+$`},
		{quick, "JavaSparkPi as another user", "4711:0", nil,
			submit("--class", "org.apache.spark.examples.JavaSparkPi", examples), 0, `(?m)^Pi is roughly 3\.1\d+$`},
		{whole, "JavaWordCount", "185:185", nil,
			submit("--class", "org.apache.spark.examples.JavaWordCount", examples, "/etc/debian_version"), 0,
			`(?m)^\S+: 1$`},
		{whole, "GroupByTest", "185:185", nil,
			submit("--class", "org.apache.spark.examples.GroupByTest", examples, "2", "10", "10"), 0, `(?m)^20$`},
		{quick, "pi.py", "185:185", []string{"SPARK_DRIVER_BIND_ADDRESS=127.0.0.1"}, submit(python+"pi.py", "2"), 0,
			`(?m)^Pi is roughly 3\.1\d+$`},
		{quick, "python module", "4711:0", nil,
			[]string{"/opt/entrypoint.sh", "python3", "-c", "import pyspark; print(pyspark.__version__)"}, 0,
			`(?m)^` + regexp.QuoteMeta(version)},
		{quick, "uncaught exception", "185:185", nil,
			submit("--class", "dev.sparkoperator.failures.Throws", failures, "so it is"), 1,
			`IllegalStateException: so it is`},
		{whole, "exit code", "185:185", nil, submit("--class", "dev.sparkoperator.failures.ExitsWith", failures), 3,
			`exiting with 3`},
		{whole, "heap exhausted", "185:185", nil,
			submit("--class", "dev.sparkoperator.failures.HeapExhausted", failures), 1,
			`OutOfMemoryError: Java heap space`},
		{whole, "tasks fail", "185:185", nil, submit("--class", "dev.sparkoperator.failures.TaskFails", failures), 1,
			`failed on purpose`},
		{quick, "python exits", "185:185", nil, submit(python+"failures/exits_with.py", "5"), 5, `exiting with 5`},
		{whole, "no such class", "185:185", nil, submit("--class", "org.example.Absent", examples), 101,
			`org\.example\.Absent`},
		{quick, "executor without a driver", "185:185", append([]string{"SPARK_JAVA_OPT_0=-Dx=y z"}, absentDriver...),
			[]string{"/opt/entrypoint.sh", "executor"}, 1, `Connection refused`},
		{quick, "standalone", "4711:0", nil, []string{"bash", "-c", standaloneScript}, 0,
			`(?s)Master is running.*ALIVE WORKERS 1\n`},
	}
	if hasConnect(version) {
		runs = append(runs, run{quick, "Connect server", "185:185", nil, []string{"bash", "-c", connectServer}, 143,
			`Spark Connect server started at`})
	}

	for _, test := range runs {
		if test.whole && os.Getenv("SPARK_PROGRAMS") != "all" {
			continue
		}

		t.Run(test.name, func(t *testing.T) {
			out, code := runInside(t, root, append(append([]string{}, env...), test.env...), test.user, test.args...)

			fits := regexp.MustCompile(test.want).MatchString(out)
			if diff := cmp.Diff([]any{test.wantCode, true}, []any{code, fits}); diff != "" {
				t.Errorf("exit code, output fits %s: %s\n%s", test.want, diff, lastLines(out, 40))
			}
		})
	}
}

// absentDriver is the environment of an executor whose driver does not exist. An executor that accepts its arguments
// then fails because it cannot connect to the driver.
var absentDriver = []string{
	"SPARK_EXECUTOR_MEMORY=512m", "SPARK_DRIVER_URL=spark://CoarseGrainedScheduler@127.0.0.1:1", "SPARK_EXECUTOR_ID=1",
	"SPARK_EXECUTOR_CORES=1",
	"SPARK_APPLICATION_ID=spark-1", "SPARK_EXECUTOR_POD_IP=127.0.0.1", "SPARK_RESOURCE_PROFILE_ID=0",
	"SPARK_EXECUTOR_POD_NAME=x-exec-1",
}

// hasConnect reports whether a Spark version's distribution contains the Connect server.
func hasConnect(version string) bool { return !strings.HasPrefix(version, "3.") }

// connectServer is a script that starts a Spark Connect server with spark-submit, as the command of a pod does. It
// waits until clients can connect, and then sends the server a signal.
const connectServer = `
spark-submit --class org.apache.spark.sql.connect.service.SparkConnectServer --master 'local[1]' --driver-memory 600m \
  --conf spark.driver.bindAddress=0.0.0.0 --conf spark.driver.host=127.0.0.1 &
for _ in $(seq 600); do
  if (: < /dev/tcp/127.0.0.1/15002) 2>/dev/null; then kill $!; break; fi
  kill -0 $! || break
  sleep 0.2
done
wait $!
`

// standaloneScript starts a master and a worker, and requests the master's page until the worker is registered.
const standaloneScript = `
export SPARK_MASTER_HOST=localhost
# spark-daemon.sh reports that a daemon failed if it is not a JVM after five seconds, which is too early on a busy machine.
start-master.sh
workers() { python3 -c 'import json, urllib.request as u; print(json.load(u.urlopen("http://localhost:8080/json/"))["aliveworkers"])' 2>/dev/null; }
for _ in $(seq 120); do workers && break; sleep 1; done
spark-daemon.sh status org.apache.spark.deploy.master.Master 1
start-worker.sh spark://localhost:7077
for _ in $(seq 120); do [ "$(workers)" = 1 ] && break; sleep 1; done
echo "ALIVE WORKERS $(workers)"
stop-worker.sh
stop-master.sh
`

// TestTagsChangeTheArchiveName checks the tags of images and the names of archives. If the user sets no tag, the image
// has the default tags, and its archive has the name that earlier releases gave it. If the user sets a tag, the image
// has only this tag, and its archive replaces no other archive.
func TestTagsChangeTheArchiveName(t *testing.T) {
	usual := SparkOptions{Version: "4.1.4"}
	if diff := cmp.Diff(SparkTags("4.1.4"), usual.tags()); diff != "" {
		t.Errorf("the usual names (-want +got):\n%s", diff)
	}

	id := usual.archive(17, "layer")
	if diff := cmp.Diff(productID{kind: "archives", name: "spark-4.1.4-java17", key: key("layer"), ext: ".tar"}, id,
		cmp.AllowUnexported(productID{})); diff != "" {
		t.Errorf("the usual archive (-want +got):\n%s", diff)
	}

	s := &store{dir: t.TempDir()}

	kept := map[string]productID{"": id}
	for _, tag := range []string{"registry.example/spark:mine", "registry.example/spark:yours"} {
		o := SparkOptions{Version: "4.1.4", Tag: tag}
		if diff := cmp.Diff([]string{tag}, o.tags()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tag, diff)
		}

		kept[tag] = o.archive(17, "layer")
	}

	if err := os.MkdirAll(filepath.Join(s.dir, "archives"), 0o755); err != nil {
		t.Fatal(err)
	}

	for _, id := range kept {
		if err := os.WriteFile(s.path(id), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, id := range kept {
		s.removeOlder(s.path(id), id)
	}

	for tag, id := range kept {
		if !exists(s.path(id)) {
			t.Errorf("the archive of tag %q was removed as another's older version", tag)
		}
	}
}

func TestSparkRejectsInvalidOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options SparkOptions
		want    string
	}{
		"unknown version": {SparkOptions{Version: "9.9.9"}, "4.1.4"},
		"no version":      {SparkOptions{}, "4.1.4"},
		"old Java":        {SparkOptions{Version: "4.1.4", Java: 8}, "17 or 21"},
		"malformed tag":   {SparkOptions{Version: "4.1.4", Tag: "Not A Tag"}, "image tag"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.CacheDir = t.TempDir()
			if path, err := Spark(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v; want an error that contains %q", path, err, test.want)
			}
		})
	}
}
