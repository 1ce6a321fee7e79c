package standalone

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// distribution returns the directory of a Spark installation on this machine: the value of SPARK_DISTRIBUTION or, if it
// is empty, the newest Spark that was unpacked from an image.
func distribution(t *testing.T) string {
	t.Helper()

	if home := os.Getenv("SPARK_DISTRIBUTION"); home != "" {
		return home
	}

	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("there is no directory of caches:", err)
	}

	jars, err := filepath.Glob(filepath.Join(cache, "sparklocal", "record", "layers", "*", "opt", "spark", "jars",
		"spark-core_*.jar"))
	if err != nil || len(jars) == 0 {
		t.Skip("no Spark is unpacked on this machine")
	}

	slices.SortFunc(jars, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	return filepath.Dir(filepath.Dir(jars[0]))
}

// running is a daemon that runs on this machine as it would run in its pod: with the container's command and
// environment, and with the files that the kubelet would mount.
type running struct {
	*exec.Cmd
	log *os.File
}

// stand describes a standalone cluster on this machine. Its directories and ports replace the names of pods and
// Services, which do not resolve outside a Kubernetes cluster.
type stand struct {
	home, dir string
	port, web int
	ui        int
}

func (s stand) start(t *testing.T, set *appsv1.StatefulSet, role string) *running {
	t.Helper()
	c := container(t, set, role)

	args := slices.Clone(c.Args)
	for i, arg := range args {
		switch arg {
		case strconv.Itoa(masterPort):
			args[i] = strconv.Itoa(s.port)
		case masterURL("qa"):
			args[i] = fmt.Sprintf("spark://127.0.0.1:%d", s.port)
		}
	}

	cmd := exec.Command(c.Command[0], args...)
	cmd.Dir = s.dir

	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "SPARK_HOME=" + s.home, "SPARK_MASTER_HOST=127.0.0.1",
		"SPARK_LOCAL_IP=127.0.0.1",
		"SPARK_WORKER_DIR=" + filepath.Join(s.dir, "work"), "SPARK_WORKER_CORES=1", "SPARK_WORKER_MEMORY=512m",
		"SPARK_DAEMON_MEMORY=256m",
	}
	for _, e := range c.Env {
		if e.Name != "SPARK_LOG_DIR" {
			cmd.Env = append(cmd.Env, e.Name+"="+strings.ReplaceAll(e.Value, mountDir, s.dir))
		}
	}

	log, err := os.CreateTemp(s.dir, role+"-*.log")
	if err != nil {
		t.Fatal(err)
	}

	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	r := &running{cmd, log}
	t.Cleanup(func() {
		_ = r.end(os.Kill) // the error only says that the signal ended the daemon

		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s says:\n%s", role, text[max(0, len(text)-4000):])
		}

		log.Close()
	})
	return r
}

// end sends a signal and waits until the daemon has ended.
func (r *running) end(signal os.Signal) error {
	if r.ProcessState != nil {
		return nil
	}

	if err := r.Process.Signal(signal); err != nil {
		return err
	}
	return r.Wait()
}

// state is a master's report about its cluster.
type state struct {
	Status  string `json:"status"`
	Workers []struct {
		ID    string `json:"id"`
		State string `json:"state"`
	} `json:"workers"`
}

// until polls the master until the master's state matches, and returns that state. After four minutes it fails the
// test, with the text `wanted` in the message.
func (s stand) until(t *testing.T, wanted string, matches func(state) bool) (last state) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()

	for tick := time.NewTicker(200 * time.Millisecond); ; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://127.0.0.1:%d/json/", s.ui), nil)
		if err != nil {
			t.Fatal(err)
		}

		if answer, err := http.DefaultClient.Do(request); err == nil {
			last = state{}
			err := json.NewDecoder(answer.Body).Decode(&last)
			answer.Body.Close()

			if err == nil && matches(last) {
				tick.Stop()
				return last
			}
		}

		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the master does not get %s; it says %+v", wanted, last)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// systemProperties returns the system properties of a JVM, as reported by the JDK's own tool, or nil if there is no
// such tool.
func systemProperties(t *testing.T, pid int) map[string]string {
	t.Helper()

	tool, err := exec.LookPath("jcmd")
	if err != nil {
		return nil
	}

	out, err := exec.Command(tool, strconv.Itoa(pid), "VM.system_properties").Output()
	if err != nil {
		t.Fatal(err)
	}

	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\f`, "\f", `\=`, "=", `\:`, ":",
		`\#`, "#", `\!`, "!", `\ `, " ", `\u20AC`, "€")

	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			all[key] = unescape.Replace(value)
		}
	}
	return all
}

// TestOnSpark starts a real master and a real worker from the built objects. It checks that the worker connects to the
// master with a secret that needs escapes, that every value arrives as the user wrote it, and that a master that is
// killed and restarted keeps its worker. It takes a third of the CPU time of all tests of pure packages, so it is
// skipped unless ON_SPARK is set, as in `make e2e`.
func TestOnSpark(t *testing.T) {
	if os.Getenv("ON_SPARK") == "" {
		t.Skip("starts real Spark: set ON_SPARK=1")
	}

	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("there is no java on this machine")
	}

	s := stand{home: distribution(t), dir: t.TempDir(), port: freePort(t), ui: freePort(t), web: freePort(t)}
	const secret = "a 'secret' \"in\" $HOME `quotes`\\ \n€  "
	values := map[string]string{
		"spark.x.text": ` it's "quoted" $(HOME) ${HOME} ` + "\\ \t\r\n# end  ", "spark.x.unicode": "€",
		"other.family":  "x=y",
		authenticateKey: "true", authSecretKey: secret, recoveryModeKey: "FILESYSTEM",
		recoveryPathKey: s.dir + "/recovery",
		masterUIKey:     strconv.Itoa(s.ui), workerUIKey: strconv.Itoa(s.web), "spark.worker.timeout": "600",
		shuffleKey: "false",
	}

	var pairs []string
	for key, value := range values {
		pairs = append(pairs, key, value)
	}

	o := build(t, simple(counts(1, 1, 1), with(pairs...)))
	for name, text := range map[string]string{OptionsKey: o.Config.Data[OptionsKey],
		SecretOptionsKey: string(o.Secret.Data[SecretOptionsKey])} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Mkdir(s.dir+"/recovery", 0o700); err != nil {
		t.Fatal(err)
	}

	hasOneWorker := func(s state) bool {
		return s.Status == "ALIVE" && len(s.Workers) == 1 && s.Workers[0].State == "ALIVE"
	}
	master, worker := s.start(t, o.Master, RoleMaster), s.start(t, o.Workers, RoleWorker)

	first := s.until(t, "a worker", hasOneWorker)
	for _, daemon := range []*running{master, worker} {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", daemon.Process.Pid))
		if err == nil && strings.Contains(string(line), "quotes") {
			t.Errorf("the secret is in the command line %q", line)
		}

		if got := systemProperties(t, daemon.Process.Pid); got != nil {
			for key, want := range values {
				if got[key] != want {
					t.Errorf("%s arrives as %q, want %q", key, got[key], want)
				}
			}
		}
	}

	if err := master.end(os.Kill); err == nil {
		t.Error("the master ended well")
	}

	s.start(t, o.Master, RoleMaster)

	second := s.until(t, "its worker back", hasOneWorker)
	if second.Workers[0].ID != first.Workers[0].ID {
		t.Errorf("the worker was %s, and is %s: it began anew", first.Workers[0].ID, second.Workers[0].ID)
	}

	if err := worker.end(os.Interrupt); err == nil || worker.ProcessState.ExitCode() != 130 {
		t.Errorf("the worker ends with %v, want Spark's end by a signal", err)
	}
}
