package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/images"
)

// sandbox is a Spark home that contains the image's scripts and fake programs. The fakes print their arguments, one per
// line, and record some environment variables.
type sandbox struct {
	home, bin string
}

const fakeProgram = `#!/bin/bash
echo "${0##*/}"
printf '%s\n' "$@"
for name in SPARK_DIST_CLASSPATH NSS_WRAPPER_PASSWD LD_PRELOAD SPARK_MASTER; do
  [ -z "${!name}" ] || echo "$name=${!name}" >>"$TOLD"
done
`

func newSandbox(t *testing.T) sandbox {
	t.Helper()

	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine")
	}

	dir := t.TempDir()
	b := sandbox{home: filepath.Join(dir, "spark"), bin: filepath.Join(dir, "bin")}
	script := func(path, content string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	top, err := newTop(base{}, sparkLayer{})
	if err != nil {
		t.Fatal(err)
	}

	for name, content := range top.filesBelow("sbin/") {
		script(filepath.Join(b.home, "sbin", name), content)
	}

	script(filepath.Join(b.home, "entrypoint.sh"), top.files["entrypoint.sh"])
	// tini is the last program that the entrypoint runs. The fake prints the whole command and does not run it.
	for _, name := range []string{"tini", "other"} {
		script(filepath.Join(b.bin, name), fakeProgram)
	}

	script(filepath.Join(b.home, "sbin", "spark-daemon.sh"), fakeProgram)
	script(filepath.Join(b.home, "sbin", "spark-config.sh"), "")
	script(filepath.Join(b.home, "bin", "load-spark-env.sh"), "")
	return b
}

// run runs a script of the sandbox. The environment of the script contains only the given variables, PATH, SPARK_HOME
// and TOLD. TOLD is the path of the file in which the fake programs record some of their environment variables. The
// first result contains the lines of the script's output, and the second result the lines of that file. In both, the
// path of the sandbox's Spark home is replaced with HOME, because it varies.
func (b sandbox) run(t *testing.T, env []string, script string, args ...string) (lines, recorded []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "told")
	cmd := exec.Command(filepath.Join(b.home, script), args...)
	cmd.Env = append([]string{"PATH=" + b.bin + ":/usr/bin:/bin", "SPARK_HOME=" + b.home, "TOLD=" + file}, env...)

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", script, args, err, out)
	}

	split := func(s string) []string {
		s = strings.ReplaceAll(strings.TrimRight(s, "\n"), b.home, "HOME")
		if s == "" {
			return nil
		}
		return strings.Split(s, "\n")
	}
	content, _ := os.ReadFile(file) // The file is missing if no variable was set.
	return split(string(out)), split(string(content))
}

var executorEnv = []string{
	"SPARK_EXECUTOR_MEMORY=512m", "SPARK_DRIVER_URL=spark://d:7078", "SPARK_EXECUTOR_ID=7", "SPARK_EXECUTOR_CORES=2",
	"SPARK_APPLICATION_ID=spark-1", "SPARK_EXECUTOR_POD_IP=10.0.0.7", "SPARK_RESOURCE_PROFILE_ID=0",
	"SPARK_EXECUTOR_POD_NAME=x-exec-7",
}

func executorCommand(java string, options []string, classPath string) []string {
	command := append([]string{"tini", "-s", "--", java}, options...)
	return append(command, "-Xms512m", "-Xmx512m", "-cp", classPath,
		"org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
		"--driver-url", "spark://d:7078", "--executor-id", "7", "--cores", "2", "--app-id", "spark-1", "--hostname",
		"10.0.0.7",
		"--resourceProfileId", "0", "--podName", "x-exec-7")
}

func TestEntrypointBuildsTheCommand(t *testing.T) {
	b := newSandbox(t)
	for _, test := range []struct {
		name      string
		env, args []string
		want      []string
		wantEnv   []string
	}{
		{
			name: "driver", env: []string{"SPARK_DRIVER_BIND_ADDRESS=10.0.0.5"},
			args: []string{"driver", "--properties-file", "/opt/spark/conf/spark.properties", "--class",
				"org.example.Main", "local:///a.jar", "two words", ""},
			want: []string{
				"tini", "-s", "--", "HOME/bin/spark-submit", "--conf", "spark.driver.bindAddress=10.0.0.5",
				"--conf", "spark.executorEnv.SPARK_DRIVER_POD_IP=10.0.0.5", "--deploy-mode", "client",
				"--properties-file",
				"/opt/spark/conf/spark.properties", "--class", "org.example.Main", "local:///a.jar", "two words",
			},
		},
		{
			name: "driver without an address", args: []string{"driver", "x"},
			want: []string{"tini", "-s", "--", "HOME/bin/spark-submit", "--deploy-mode", "client", "x"},
		},
		{
			name: "driver with a class path", env: []string{"SPARK_EXTRA_CLASSPATH=/extra/*"},
			args:    []string{"driver", "x"},
			want:    []string{"tini", "-s", "--", "HOME/bin/spark-submit", "--deploy-mode", "client", "x"},
			wantEnv: []string{"SPARK_DIST_CLASSPATH=/extra/*"},
		},
		{
			name:    "driver with two class paths",
			env:     []string{"SPARK_EXTRA_CLASSPATH=/extra/*", "SPARK_DIST_CLASSPATH=/hadoop/*"},
			args:    []string{"driver", "x"},
			want:    []string{"tini", "-s", "--", "HOME/bin/spark-submit", "--deploy-mode", "client", "x"},
			wantEnv: []string{"SPARK_DIST_CLASSPATH=/hadoop/*:/extra/*"},
		},
		{
			name: "executor", args: []string{"executor"},
			want: executorCommand("java", nil, "HOME/conf:HOME/jars/*"),
		},
		{
			name: "executor options in the order of numbers, blanks kept", args: []string{"executor"},
			env: []string{
				"SPARK_JAVA_OPT_10=-Dten=10", "SPARK_JAVA_OPT_2=-Dtwo=a b",
				"SPARK_JAVA_OPT_0=-XX:OnOutOfMemoryError=kill -9 %p", "SPARK_JAVA_OPT_x=-Dno",
				"SPARK_JAVA_OPT_1=-Dglob=*",
			},
			want: executorCommand("java",
				[]string{"-XX:OnOutOfMemoryError=kill -9 %p", "-Dglob=*", "-Dtwo=a b", "-Dten=10"},
				"HOME/conf:HOME/jars/*"),
		},
		{
			name: "executor class path", args: []string{"executor"},
			env: []string{
				"SPARK_CLASSPATH=/user/*", "SPARK_EXTRA_CLASSPATH=/extra/*", "SPARK_CONF_DIR=/conf",
				"HADOOP_CONF_DIR=/hadoop/conf", "SPARK_DIST_CLASSPATH=/dist/*",
				"JAVA_HOME=/jvm",
			},
			want:    executorCommand("/jvm/bin/java", nil, "/conf:/hadoop/conf:/extra/*:/user/*:HOME/jars/*:/dist/*"),
			wantEnv: []string{"SPARK_DIST_CLASSPATH=/dist/*"},
		},
		{
			name: "executor class path with empty elements", args: []string{"executor"},
			env:  []string{"SPARK_CLASSPATH=:/a::/b:"},
			want: executorCommand("java", nil, "HOME/conf:/a:/b:HOME/jars/*"),
		},
		{name: "anything else", args: []string{"other", "a b", "driver"}, want: []string{"other", "a b", "driver"}},
		{name: "nothing", want: []string{"tini", "-s", "--", "/bin/bash"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := test.env
			if len(test.args) > 0 && test.args[0] == "executor" {
				env = append(append([]string{}, executorEnv...), test.env...)
			}

			got, recorded := b.run(t, env, "entrypoint.sh", test.args...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error("command:", diff)
			}

			if diff := cmp.Diff(test.wantEnv, recorded); diff != "" {
				t.Error("environment:", diff)
			}
		})
	}
}

// TestEntrypointPassesTheExitCodeThrough runs a command that has no special meaning for the entrypoint, and checks that
// the entrypoint returns the command's exit code.
func TestEntrypointPassesTheExitCodeThrough(t *testing.T) {
	b := newSandbox(t)
	cmd := exec.Command(filepath.Join(b.home, "entrypoint.sh"), "sh", "-c", "exit 7")
	cmd.Env = []string{"PATH=" + b.bin + ":/usr/bin:/bin", "SPARK_HOME=" + b.home}

	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

// TestEntrypointNamesANamelessUser runs the entrypoint as a user without an account. The fake of getent finds no
// account.
func TestEntrypointNamesANamelessUser(t *testing.T) {
	b := newSandbox(t)
	for name, text := range map[string]string{"getent": "#!/bin/sh\nexit 2\n",
		"id": "#!/bin/sh\n[ $1 = -u ] && echo 4711 || echo 0\n"} {
		if err := os.WriteFile(filepath.Join(b.bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	temporary := t.TempDir()
	// The machine that runs the test lacks the library. The loader reports this on standard error and continues.
	_, recorded := b.run(t, []string{"TMPDIR=" + temporary}, "entrypoint.sh", "driver", "x")

	accounts, _ := filepath.Glob(filepath.Join(temporary, "accounts.*", "passwd"))
	if len(accounts) != 1 {
		t.Fatalf("account files %v, want one", accounts)
	}

	if diff := cmp.Diff([]string{"NSS_WRAPPER_PASSWD=" + accounts[0], "LD_PRELOAD=libnss_wrapper.so"},
		recorded); diff != "" {
		t.Error(diff)
	}

	content, err := os.ReadFile(accounts[0])
	if err != nil {
		t.Fatal(err)
	}

	if !strings.HasSuffix(string(content), "\nspark-4711:x:4711:0:Spark:"+b.home+"/work-dir:/bin/false\n") {
		t.Errorf("last account is not the user's: %s", lastLines(string(content), 2))
	}
}

func TestStandaloneScriptsStartTheirDaemons(t *testing.T) {
	b := newSandbox(t)
	for _, test := range []struct {
		name, script string
		env, args    []string
		want         []string
	}{
		{
			name: "master", script: "start-master.sh", env: []string{"SPARK_MASTER_HOST=m"},
			args: []string{"--x", "a b"},
			want: []string{"spark-daemon.sh", "start", "org.apache.spark.deploy.master.Master", "1", "--host", "m",
				"--port", "7077", "--webui-port", "8080", "--x", "a b"},
		},
		{
			name: "master with ports", script: "start-master.sh",
			env: []string{"SPARK_MASTER_HOST=m", "SPARK_MASTER_PORT=1", "SPARK_MASTER_WEBUI_PORT=2",
				"SPARK_MASTER=elsewhere"},
			want: []string{"spark-daemon.sh", "start", "org.apache.spark.deploy.master.Master", "1", "--host", "m",
				"--port", "1", "--webui-port", "2"},
		},
		{name: "stop master", script: "stop-master.sh",
			want: []string{"spark-daemon.sh", "stop", "org.apache.spark.deploy.master.Master", "1"}},
		{
			name: "worker", script: "start-worker.sh", args: []string{"spark://m:7077", "--cores", "1"},
			want: []string{"spark-daemon.sh", "start", "org.apache.spark.deploy.worker.Worker", "1", "--webui-port",
				"8081", "spark://m:7077", "--cores", "1"},
		},
		{
			name: "two workers", script: "start-worker.sh", args: []string{"spark://m:7077"},
			env: []string{"SPARK_WORKER_INSTANCES=2", "SPARK_WORKER_PORT=5000", "SPARK_WORKER_WEBUI_PORT=9000"},
			want: []string{
				"spark-daemon.sh", "start", "org.apache.spark.deploy.worker.Worker", "1", "--webui-port", "9000",
				"--port", "5000", "spark://m:7077",
				"spark-daemon.sh", "start", "org.apache.spark.deploy.worker.Worker", "2", "--webui-port", "9001",
				"--port", "5001", "spark://m:7077",
			},
		},
		{name: "stop worker", script: "stop-worker.sh",
			want: []string{"spark-daemon.sh", "stop", "org.apache.spark.deploy.worker.Worker", "1"}},
		{
			name: "connect", script: "start-connect-server.sh", args: []string{"--conf", "a=b c"},
			want: []string{
				"spark-daemon.sh", "submit", "org.apache.spark.sql.connect.service.SparkConnectServer", "1", "--name",
				"Spark Connect server", "--conf", "a=b c",
			},
		},
		{
			name: "stop connect", script: "stop-connect-server.sh",
			want: []string{"spark-daemon.sh", "stop", "org.apache.spark.sql.connect.service.SparkConnectServer", "1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, recorded := b.run(t, test.env, "sbin/"+test.script, test.args...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}

			if len(recorded) > 0 {
				t.Errorf("environment of the daemon: %v", recorded)
			}
		})
	}
}

func TestWorkerWithoutMasterPrintsUsage(t *testing.T) {
	b := newSandbox(t)
	cmd := exec.Command(filepath.Join(b.home, "sbin", "start-worker.sh"))
	cmd.Env = []string{"PATH=" + b.bin + ":/usr/bin:/bin", "SPARK_HOME=" + b.home}

	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "usage:") {
		t.Errorf("exit code %d, output %q; want 1 and how to call it", code, out)
	}
}

// TestScriptsPassShellcheck checks the image's scripts with shellcheck.
func TestScriptsPassShellcheck(t *testing.T) {
	shellcheck := requireProgram(t, "shellcheck", "shellcheck")

	top, err := newTop(base{}, sparkLayer{})
	if err != nil {
		t.Fatal(err)
	}

	var checked int
	for _, name := range sortedKeys(top.files) {
		if !strings.HasSuffix(name, ".sh") {
			continue
		}

		text, err := images.Files.ReadFile("spark/" + name)
		if err != nil {
			t.Fatal(err)
		}

		cmd := exec.Command(shellcheck, "--exclude=SC1091", "-") // SC1091: shellcheck cannot read the sourced files.

		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		checked++
	}

	if checked < 9 {
		t.Errorf("checked %d scripts only", checked)
	}
}
