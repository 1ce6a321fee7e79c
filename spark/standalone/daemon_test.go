package standalone

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fakeSpark returns the directory of a Spark installation whose spark-class prints its arguments, the relevant
// environment variables and its process ID.
func fakeSpark(t *testing.T, scripts map[string]string) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "spark's $HOME")
	files := map[string]string{
		"bin/spark-class": `#!/bin/bash
printf '%s\n' "$@"
for name in SPARK_HOME LC_ALL SPARK_MASTER_PORT SPARK_MASTER_WEBUI_PORT SPARK_WORKER_PORT SPARK_WORKER_WEBUI_PORT FROM_CONFIG FROM_ENV; do
  [ -z "${!name+set}" ] || echo "$name=${!name}"
done
[ -z "$STAY" ] || { echo "pid=$$"; exec sleep 60; }
exit ${EXIT:-0}
`,
		"sbin/spark-config.sh":  "export FROM_CONFIG=yes\n",
		"bin/load-spark-env.sh": "export FROM_ENV=yes\n",
	}
	maps.Copy(files, scripts)

	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if text == "" {
			continue
		}

		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// command returns a container's command for execution on this machine. It checks that the arguments contain nothing
// that the kubelet would expand.
func command(t *testing.T, c *corev1.Container, env ...string) *exec.Cmd {
	t.Helper()

	all := slices.Concat(c.Command, c.Args)
	for _, arg := range all {
		if strings.Contains(arg, "$(") || strings.Contains(arg, "$$") {
			t.Fatalf("the kubelet would expand %q", arg)
		}
	}

	cmd := exec.Command(all[0], all[1:]...)

	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}

// printed runs the command of a daemon's container on this machine, and returns the printed lines. It runs the command
// without tini, because tini may not be installed.
func printed(t *testing.T, c *corev1.Container, env ...string) []string {
	t.Helper()
	cmd := command(t, c, env...)
	var failed bytes.Buffer
	cmd.Stderr = &failed

	out, err := cmd.Output()
	if err != nil || failed.Len() > 0 {
		t.Fatalf("the command fails: %v %s", err, failed.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestCommands(t *testing.T) {
	home := fakeSpark(t, nil)

	name, err := exec.Command("hostname", "-f").Output()
	if err != nil {
		if name, err = exec.Command("hostname").Output(); err != nil {
			t.Fatal(err)
		}
	}

	host := strings.TrimSpace(string(name))
	base := []string{"SPARK_HOME=" + home, "LC_ALL=C.UTF-8", "FROM_CONFIG=yes", "FROM_ENV=yes"}
	master := func(host, port, web string) []string {
		return []string{"org.apache.spark.deploy.master.Master", "--host", host, "--port", port, "--webui-port", web}
	}

	worker := func(web string) []string {
		return []string{"org.apache.spark.deploy.worker.Worker", "--webui-port", web, "spark://qa-master-svc:7077"}
	}
	for what, c := range map[string]struct {
		role   string
		change func(*Request)
		env    []string
		want   []string
	}{
		"master": {RoleMaster, counts(1, 1, 1), nil,
			slices.Concat(master(host, "7077", "8080"), base)},
		"master with SPARK_MASTER_HOST": {RoleMaster, counts(1, 1, 1), []string{"SPARK_MASTER_HOST=a b"},
			slices.Concat(master("a b", "7077", "8080"), base)},
		"master with another UI port": {RoleMaster, with(masterUIKey, "9090"), nil,
			slices.Concat(master(host, "7077", "9090"), base)},
		"master with the variables of a Service": {RoleMaster, counts(1, 1, 1),
			[]string{"SPARK_MASTER_PORT=tcp://10.0.0.1:7077", "SPARK_MASTER_WEBUI_PORT=1"},
			slices.Concat(master(host, "7077", "8080"), base)},
		"worker": {RoleWorker, counts(1, 1, 1), nil,
			slices.Concat(worker("8081"), base)},
		"worker with another UI port": {RoleWorker, with(workerUIKey, "9091"), nil,
			slices.Concat(worker("9091"), base)},
		"worker with the variables of a Service": {RoleWorker, counts(1, 1, 1),
			[]string{"SPARK_WORKER_PORT=tcp://10.0.0.1:1", "SPARK_WORKER_WEBUI_PORT=1"},
			slices.Concat(worker("8081"), base)},
		"worker with a port in the image": {RoleWorker, counts(1, 1, 1), []string{"SPARK_WORKER_PORT=7078"},
			slices.Concat(worker("8081"), base[:2], []string{"SPARK_WORKER_PORT=7078"}, base[2:])},
		"worker with a locale in the image": {RoleWorker, counts(1, 1, 1), []string{"LANG=en_US.UTF-8"},
			slices.Concat(worker("8081"), base[:1], base[2:])},
	} {
		o := build(t, simple(c.change))
		set := map[string]*appsv1.StatefulSet{RoleMaster: o.Master, RoleWorker: o.Workers}[c.role]

		got := printed(t, container(t, set, c.role), append(c.env, "SPARK_HOME="+home)...)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestImageWithoutScripts checks that a daemon starts from an image that lacks the two scripts that Spark's own start
// scripts read.
func TestImageWithoutScripts(t *testing.T) {
	home := fakeSpark(t, map[string]string{"sbin/spark-config.sh": "", "bin/load-spark-env.sh": ""})

	got := printed(t, container(t, build(t, simple()).Workers, RoleWorker), "SPARK_HOME="+home)
	if got[0] != "org.apache.spark.deploy.worker.Worker" || slices.Contains(got, "FROM_ENV=yes") {
		t.Errorf("it prints %q", got)
	}
}

// TestTheDaemonIsTheContainer checks that the daemon's exit code becomes the exit code of the container, and that
// signals of the kubelet reach the daemon. For this, the daemon must either replace bash or be a child process of tini.
func TestTheDaemonIsTheContainer(t *testing.T) {
	home := fakeSpark(t, nil)
	c := container(t, build(t, simple()).Master, RoleMaster)

	cmd := command(t, c, "SPARK_HOME="+home, "EXIT=13")
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 13 {
		t.Errorf("the container ends with %v, want exit code 13", err)
	}

	tini := t.TempDir()
	if err := os.WriteFile(filepath.Join(tini, "tini"),
		[]byte("#!/bin/bash\n[ \"$1 $2\" = '-s --' ] && shift 2 && echo tini && exec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	cmd = command(t, c, "SPARK_HOME="+home, "STAY=1")
	cmd.Env[0] = "PATH=" + tini + ":" + os.Getenv("PATH")

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	stop := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()

	var lines []string
	for buffer := make([]byte, 4096); !strings.Contains(strings.Join(lines, ""), "pid="); {
		n, err := out.Read(buffer)
		if lines = append(lines, string(buffer[:n])); err != nil {
			t.Fatalf("it ended before it said its number: %q", lines)
		}
	}

	text := strings.Join(lines, "")
	if want := fmt.Sprintf("pid=%d\n", cmd.Process.Pid); !strings.HasPrefix(text, "tini\n") ||
		!strings.HasSuffix(text, want) {
		t.Errorf("the daemon is another process than the container's %d, or not below tini: %q", cmd.Process.Pid, text)
	}

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Wait(); err == nil {
		t.Error("the signal is not the daemon's")
	}
}

func TestPorts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		master []int32
		worker []int32
		probes [2]int32
		warns  string
	}{
		"default": {counts(1, 1, 1), []int32{8080, 7077, 6066}, []int32{8081},
			[2]int32{7077, 8081}, ""},
		"other ports": {with(masterUIKey, " 1 ", workerUIKey, "2", restKey, "3"), []int32{1, 7077, 3},
			[]int32{2}, [2]int32{7077, 2}, ""},
		"UI port of zero": {with(workerUIKey, "0"), []int32{8080, 7077, 6066}, []int32{8081},
			[2]int32{7077, 0}, "spark.worker.ui.port: is not a fixed port"},
		"invalid ports": {with(masterUIKey, "web", restKey, "70000"), []int32{8080, 7077, 6066},
			[]int32{8081}, [2]int32{7077, 8081}, "spark.master.rest.port: is not a fixed port"},
		"ports in the template":    {masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","ports":[{"name":"spark","containerPort":7077},{"containerPort":9}]}]}}}`), []int32{7077, 9, 8080, 6066}, []int32{8081}, [2]int32{7077, 8081}, ""},
		"UDP port in the template": {workerTemplate(`{"template":{"spec":{"containers":[{"name":"worker","ports":[{"containerPort":8081,"protocol":"UDP"}]}]}}}`), []int32{8080, 7077, 6066}, []int32{8081, 8081}, [2]int32{7077, 8081}, ""},
	} {
		o := build(t, simple(c.change))
		master, worker := container(t, o.Master, RoleMaster), container(t, o.Workers, RoleWorker)

		numbers := func(c *corev1.Container) (out []int32) {
			for _, p := range c.Ports {
				out = append(out, p.ContainerPort)
			}
			return out
		}
		if diff := cmp.Diff(c.master, numbers(master)) + cmp.Diff(c.worker, numbers(worker)); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", name, diff)
		}

		for i, spark := range []*corev1.Container{master, worker} {
			switch probe := spark.ReadinessProbe; {
			case probe == nil && c.probes[i] != 0, probe != nil &&
				probe.TCPSocket.Port != intstr.FromInt32(c.probes[i]):
				t.Errorf("%s: %s is probed by %v, want port %d", name, spark.Name, probe, c.probes[i])
			}
		}

		if got := strings.Join(warningTexts(o), "\n"); !strings.Contains(got, c.warns) {
			t.Errorf("%s: warnings are %q, want %q", name, got, c.warns)
		}
	}
}

// TestOptionsOfTheTemplate checks that Build keeps the daemon options of a template, both literal values and values
// from a source (valueFrom), and adds the option files of the configuration after them.
func TestOptionsOfTheTemplate(t *testing.T) {
	for env, want := range map[string][]corev1.EnvVar{
		``:                             {{Name: "SPARK_MASTER_OPTS", Value: "@/etc/spark-cluster/conf.options"}},
		`{"name":"SPARK_MASTER_OPTS"}`: {{Name: "SPARK_MASTER_OPTS", Value: "@/etc/spark-cluster/conf.options"}},
		`{"name":"SPARK_WORKER_OPTS"}`: {{Name: "SPARK_WORKER_OPTS"},
			{Name: "SPARK_MASTER_OPTS", Value: "@/etc/spark-cluster/conf.options"}},
		`{"name":"A"},{"name":"B"}`: {{Name: "A"}, {Name: "B"},
			{Name: "SPARK_MASTER_OPTS", Value: "@/etc/spark-cluster/conf.options"}},
		`{"name":"SPARK_MASTER_OPTS","value":"-Xmx2g -Da=$(B)"}`: {
			{Name: "SPARK_MASTER_OPTS", Value: "-Xmx2g -Da=$(B) @/etc/spark-cluster/conf.options"},
		},
		`{"name":"SPARK_MASTER_OPTS","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"B"}`: {
			{Name: "SPARK_TEMPLATE_OPTS",
				ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
			{Name: "B"}, {Name: "SPARK_MASTER_OPTS", Value: "$(SPARK_TEMPLATE_OPTS) @/etc/spark-cluster/conf.options"},
		},
	} {
		o := build(t, simple(masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","env":[`+env+
			`]}]}}}`)))
		if diff := cmp.Diff(want, container(t, o.Master, RoleMaster).Env); diff != "" {
			t.Errorf("%s (-want +got):\n%s", env, diff)
		}
	}

	log := build(t, simple(workerTemplate(`{"template":{"spec":{"containers":[{"name":"worker","env":[{"name":"SPARK_LOG_DIR","value":"/mine"}]}]}}}`)))
	if got := container(t, log.Workers, RoleWorker).Env; len(got) != 2 || got[0].Value != "/mine" {
		t.Errorf("the template's directory of logs is %v", got)
	}
}

func TestVariablesWithoutEffectWarn(t *testing.T) {
	o := build(t, simple(counts(1, 1, 1),
		masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","env":[{"name":"SPARK_MASTER_PORT","value":"1"},{"name":"SPARK_MASTER_WEBUI_PORT","value":"2"},{"name":"SPARK_WORKER_INSTANCES","value":"2"}]}]}}}`),
		workerTemplate(`{"template":{"spec":{"containers":[{"name":"worker","env":[{"name":"SPARK_WORKER_INSTANCES","value":"2"},{"name":"SPARK_WORKER_CORES","value":"2"}]}]}}}`)))
	if diff := cmp.Diff([]string{
		"Master.StatefulSet: variable SPARK_MASTER_PORT of container master has no effect: the Service always has port 7077",
		"Master.StatefulSet: variable SPARK_MASTER_WEBUI_PORT of container master has no effect: set spark.master.ui.port",
		"Workers.StatefulSet: variable SPARK_WORKER_INSTANCES of container worker has no effect: each pod is one worker; use more workers",
	}, warningTexts(o)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestPrivileges checks that a container that requests privileges keeps them. Kubernetes would reject a privileged
// container that sets allowPrivilegeEscalation to false.
func TestPrivileges(t *testing.T) {
	for context, want := range map[string]*bool{
		`{}`:                                         new(false),
		`{"runAsUser":1}`:                            new(false),
		`{"privileged":false}`:                       new(false),
		`{"allowPrivilegeEscalation":false}`:         new(false),
		`{"allowPrivilegeEscalation":true}`:          new(true),
		`{"privileged":true}`:                        nil,
		`{"capabilities":{"add":["CAP_SYS_ADMIN"]}}`: nil,
		`{"capabilities":{"add":["NET_ADMIN"]}}`:     new(false),
	} {
		o := build(t, simple(masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","securityContext":`+
			context+`}]}}}`)))
		if diff := cmp.Diff(want, container(t, o.Master,
			RoleMaster).SecurityContext.AllowPrivilegeEscalation); diff != "" {
			t.Errorf("%s (-want +got):\n%s", context, diff)
		}
	}
}
