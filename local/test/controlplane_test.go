package test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestControlPlanesRunSideBySide runs two control planes at the same time, and kills a component of one of them.
func TestControlPlanesRunSideBySide(t *testing.T) {
	t.Parallel()
	a, b := newCluster(t), newCluster(t)

	var wg sync.WaitGroup
	for _, c := range []*cluster{a, b} {
		wg.Go(func() {
			if out, err := c.tryRun("up", "--dir", c.dir, "--control-plane-only"); err != nil {
				t.Errorf("up: %v\n%s", err, out)
			}
		})
	}

	wg.Wait()

	if t.Failed() {
		t.FailNow()
	}

	a.kubectl("create", "namespace", "only-in-a")

	if out := b.kubectl("get", "namespaces"); strings.Contains(out, "only-in-a") {
		t.Error("the clusters share their data")
	}

	if out := a.mustRun("kubeconfig", "--dir", a.dir); out != filepath.Join(a.dir, "kubeconfig")+"\n" {
		t.Errorf("kubeconfig printed %q", out)
	}

	if out := a.mustRun("up", "--dir", a.dir, "--control-plane-only"); !strings.Contains(out, "already runs") {
		t.Errorf("the second up printed: %s", out)
	}

	if out, err := a.tryRun("up", "--dir", a.dir, "--control-plane-only", "--scheduler"); err == nil ||
		!strings.Contains(out, "other options") {
		t.Errorf("up with other options: %v, %s", err, out)
	}

	before := b.component("kube-apiserver")

	victim := a.component("kube-apiserver")
	if err := syscall.Kill(victim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	waitFor(t, "the API server is started again", func() bool {
		now := a.component("kube-apiserver")
		return now.Status == "ready" && now.Restarts == 1 && now.PID != victim.PID && now.LastExit == "signal: killed"
	})
	waitFor(t, "status reports all components ready again",
		func() bool { _, err := a.tryRun("status", "--dir", a.dir); return err == nil })

	if out := a.kubectl("get", "namespaces"); !strings.Contains(out, "only-in-a") {
		t.Errorf("data is lost:\n%s", out)
	}

	if after := b.component("kube-apiserver"); after != before {
		t.Errorf("the other cluster's API server was %+v and is %+v", before, after)
	}

	pids := a.pids()
	a.mustRun("down", "--dir", a.dir)
	a.waitUntilGone(pids)

	if out, err := a.tryRun("status", "--dir", a.dir); err == nil || !strings.Contains(out, "no cluster in") {
		t.Errorf("status after down: %v, %s", err, out)
	}

	a.mustRun("down", "--dir", a.dir)
	b.kubectl("get", "namespaces")
}

func TestEveryConnectionIsVerified(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.up(os.Getpid(), "--control-plane-only", "--scheduler")

	spec, err := os.ReadFile(filepath.Join(c.dir, "cluster.json"))
	if err != nil {
		t.Fatal(err)
	}

	var ports struct{ Ports map[string]int }
	if err := json.Unmarshal(spec, &ports); err != nil {
		t.Fatal(err)
	}

	pool := func(name string) *x509.CertPool {
		b, err := os.ReadFile(filepath.Join(c.dir, "pki", name))
		if err != nil {
			t.Fatal(err)
		}

		p := x509.NewCertPool()
		p.AppendCertsFromPEM(b)
		return p
	}

	get := func(port, path, ca, cert string) (int, error) {
		config := &tls.Config{RootCAs: pool(ca), MinVersion: tls.VersionTLS12}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, "pki", cert+".crt"),
				filepath.Join(c.dir, "pki", cert+".key"))
			if err != nil {
				t.Fatal(err)
			}

			config.Certificates = []tls.Certificate{pair}
		}

		client := http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second}
		url := "https://127.0.0.1:" + itoa(ports.Ports[port]) + path

		resp, err := client.Get(url)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	for _, tt := range []struct {
		port, path, ca, cert string
		want                 int
	}{
		{"api", "/api/v1/namespaces", "ca.crt", "admin", 200},
		{"api", "/api/v1/namespaces", "ca.crt", "", 403},
		{"api", "/readyz", "ca.crt", "", 200},
		{"api", "/readyz", "etcd-ca.crt", "admin", 0},
		{"api", "/api/v1/secrets", "ca.crt", "kube-scheduler", 403},
		{"etcd", "/health", "etcd-ca.crt", "etcd-client", 200},
		{"etcd", "/health", "etcd-ca.crt", "", 0},
		{"etcd", "/health", "etcd-ca.crt", "admin", 0},
		{"controllers", "/metrics", "ca.crt", "", 403},
		{"scheduler", "/metrics", "ca.crt", "", 403},
	} {
		got, err := get(tt.port, tt.path, tt.ca, tt.cert)
		if got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("%s%s with authority %s as %q gave %d, %v; want %d", tt.port, tt.path, tt.ca, tt.cert, got, err,
				tt.want)
		}
	}
}

func TestAuditLogHasMicroseconds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.up(os.Getpid(), "--control-plane-only", "--audit")
	c.kubectl("create", "configmap", "written-down")

	log, err := os.Open(filepath.Join(c.dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()

	micro := regexp.MustCompile(`"requestReceivedTimestamp":"[^"]*\.\d{6}Z","stageTimestamp":"[^"]*\.\d{6}Z"`)
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, `"name":"written-down"`) && strings.Contains(line, `"verb":"create"`) {
			if !strings.Contains(line, `"stage":"ResponseComplete"`) || !micro.MatchString(line) {
				t.Errorf("the line is %s", line)
			}
			return
		}
	}

	t.Error("the request is not in the log")
}

func TestAuditLogOmitsBodiesOfSecrets(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.up(os.Getpid(), "--control-plane-only", "--audit-bodies")
	c.kubectl("create", "configmap", "logged", "--from-literal=key=written-down")
	c.kubectl("create", "secret", "generic", "kept", "--from-literal=key=never-written")
	waitFor(t, "the controller manager has written", func() bool {
		_, err := c.tryRun("kubectl", "--dir", c.dir, "get", "configmap", "kube-root-ca.crt")
		return err == nil
	})

	log, err := os.ReadFile(filepath.Join(c.dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}

	line := func(name string) string {
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, `"name":"`+name+`"`) && strings.Contains(line, `"verb":"create"`) {
				return line
			}
		}
		return ""
	}
	if logged := line("logged"); !strings.Contains(logged, `"requestObject":{"kind":"ConfigMap"`) ||
		!strings.Contains(logged, `"key":"written-down"`) {
		t.Errorf("the line of the ConfigMap is %s", logged)
	}

	if kept := line("kept"); kept == "" || strings.Contains(kept, "requestObject") {
		t.Errorf("the line of the Secret is %s", kept)
	}
	// The log contains the writes of Kubernetes components, but not their bodies.
	if root := line("kube-root-ca.crt"); root == "" || strings.Contains(root, "requestObject") {
		t.Errorf("the line of the controller manager is %s", root)
	}
}

func TestPodSecurityIsEnforced(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.up(os.Getpid(), "--control-plane-only")
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: %s}, spec: {hostNetwork: true, containers: [{name: c, image: i}]}}`

	c.kubectl("create", "namespace", "strict")
	c.kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
	waitFor(t, "the namespace has its service account", func() bool {
		_, err := c.tryRun("kubectl", "--dir", c.dir, "-n", "strict", "get", "serviceaccount", "default")
		return err == nil
	})
	c.apply(strings.Replace(pod, "%s", "default", 1))
	cmd := exec.CommandContext(t.Context(), binary, "kubectl", "--dir", c.dir, "create", "-f", "-")

	cmd.Stdin = strings.NewReader(strings.Replace(pod, "%s", "strict", 1))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "violates PodSecurity") {
		t.Errorf("a pod of the host's network in a restricted namespace: %v, %s", err, out)
	}
}

// TestClusterEndsWithItsOwner checks that a cluster ends when its owner is killed. The tests rely on this: if the test
// binary is killed, its clusters must end too.
func TestClusterEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := owner(t)
	c.up(o.Pid, "--control-plane-only")
	pids := c.pids()

	if err := o.Kill(); err != nil {
		t.Fatal(err)
	}

	c.waitUntilGone(pids)
}

func TestClusterEndsWithItsDirectory(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.up(os.Getpid(), "--control-plane-only")

	pids := c.pids()
	if err := os.RemoveAll(c.dir); err != nil {
		t.Fatal(err)
	}

	c.waitUntilGone(pids)
}

func TestClusterKeepsItsDataAfterACrash(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.up(os.Getpid(), "--control-plane-only")
	c.kubectl("create", "namespace", "from-before")

	config, err := os.ReadFile(filepath.Join(c.dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}

	pids := c.pids()
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	waitFor(t, "the components end with their supervisor", func() bool { return !slices.ContainsFunc(pids, running) })

	if out, err := c.tryRun("status", "--dir", c.dir); err == nil || !strings.Contains(out, "not running") {
		t.Errorf("status after a crash: %v, %s", err, out)
	}

	if out := c.up(os.Getpid(), "--control-plane-only"); !strings.Contains(out, "again with its data") {
		t.Errorf("up printed: %s", out)
	}
	// A copy of the old kubeconfig still works, because the address and the certificate authority are the same.
	old := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(old, config, 0o600); err != nil {
		t.Fatal(err)
	}

	if out := c.kubectl("--kubeconfig", old, "get", "namespaces"); !strings.Contains(out, "from-before") {
		t.Errorf("data is lost:\n%s", out)
	}
}

// TestUpSweepsAKilledCluster checks that a command for another cluster removes a cluster whose supervisor and owner
// were killed.
func TestUpSweepsAKilledCluster(t *testing.T) {
	t.Parallel()
	killed, other := newCluster(t), newCluster(t)
	o := owner(t)
	killed.up(o.Pid, "--control-plane-only")

	pids := killed.pids()
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	if err := o.Kill(); err != nil {
		t.Fatal(err)
	}

	waitFor(t, "the supervisor and the owner have ended", func() bool { return !running(pids[0]) && !running(o.Pid) })
	other.mustRun("down", "--dir", other.dir)
	killed.waitUntilGone(pids)
}

func TestFailedStartQuotesTheLog(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	// Create a file with the name of etcd's directory during the start, because up removes such files before the start.
	if err := os.MkdirAll(filepath.Join(c.dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}

	blocker := make(chan struct{})
	go func() {
		defer close(blocker)

		for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(c.dir, "cluster.json")); err == nil {
				_ = os.WriteFile(filepath.Join(c.dir, "etcd"), nil, 0o644)
				return
			}
		}
	}()

	out, err := c.tryRun("up", "--dir", c.dir, "--control-plane-only")

	<-blocker

	if err == nil {
		t.Skip("etcd was faster than this test")
	}

	for _, want := range []string{"etcd keeps exiting",
		"the last lines of its log " + filepath.Join(c.dir, "logs", "etcd.log"), "not a directory"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}

	if out, err := c.tryRun("status", "--dir", c.dir); err == nil || !strings.Contains(out, "failed") {
		t.Errorf("status: %v, %s", err, out)
	}

	c.up(os.Getpid(), "--control-plane-only")
}
