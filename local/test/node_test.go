package test

import (
	"bufio"
	"encoding/json"
	"io"
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

	"github.com/sparkoperator/spark-operator/local/internal/image"
)

func requireRoot(t *testing.T) {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("a node needs root")
	}
}

// probe returns the path of a tar archive that contains a small container image for the pods of the tests.
func probe(t *testing.T) string {
	t.Helper()

	tar, err := image.Probe(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return tar
}

// machine describes the resources that a cluster with a node uses on the host.
type machine struct {
	Node struct {
		HostLink string `json:"hostLink"`
		Cgroup   string `json:"cgroup"`
		Run      string `json:"run"`
	} `json:"node"`
	netns string
}

func (c *cluster) machine() machine {
	c.t.Helper()

	b, err := os.ReadFile(filepath.Join(c.dir, "cluster.json"))
	if err != nil {
		c.t.Fatal(err)
	}

	var m machine
	if err := json.Unmarshal(b, &m); err != nil {
		c.t.Fatal(err)
	}

	if m.netns, err = os.Readlink("/proc/" + itoa(c.component("kubelet").PID) + "/ns/net"); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// checkNothingRemains checks that the host has no resources of the cluster any longer.
func (c *cluster) checkNothingRemains(m machine, pids []int) {
	c.t.Helper()
	c.waitUntilGone(pids)
	waitFor(c.t, "the cluster's network ends", func() bool {
		links, err := filepath.Glob("/proc/[0-9]*/ns/net")
		if err != nil {
			return false
		}

		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && target == m.netns {
				return false
			}
		}
		return true
	})

	for _, path := range []string{"/sys/class/net/" + m.Node.HostLink, m.Node.Run} {
		if _, err := os.Stat(path); err == nil {
			c.t.Errorf("%s remains", path)
		}
	}

	groups, err := filepath.Glob("/sys/fs/cgroup/*/" + m.Node.Cgroup)
	if unified, err := filepath.Glob("/sys/fs/cgroup/" + m.Node.Cgroup); err == nil {
		groups = append(groups, unified...)
	}

	if err != nil || len(groups) != 0 {
		c.t.Errorf("control groups are left: %v, %v", groups, err)
	}

	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		c.t.Fatal(err)
	}

	if strings.Contains(string(mounts), c.dir) || strings.Contains(string(mounts), m.Node.Run) {
		c.t.Errorf("mounts are left:\n%s", mounts)
	}
}

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "localhost/probe:1", args: [serve]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  restartPolicy: Never
  securityContext: {runAsUser: 185, fsGroup: 185}
  containers: [{name: c, image: "localhost/probe:1", args: [write, /data/file, kept], volumeMounts: [{name: d, mountPath: /data}]}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Pod
metadata: {name: unpullable}
spec: {containers: [{name: c, image: "registry.example.com/none:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: greedy}
spec:
  containers: [{name: c, image: "localhost/probe:1", args: [serve], resources: {limits: {memory: 64Mi, cpu: 100m}}}]
`

func (c *cluster) pod(name, path string) string {
	c.t.Helper()
	return c.kubectl("get", "pod", name, "-o", "jsonpath={"+path+"}")
}

// TestNodesRunPodsAndRecover starts two clusters with a node at the same time and runs all checks in both.
func TestNodesRunPodsAndRecover(t *testing.T) {
	requireRoot(t)
	tar := probe(t)
	a, b := newCluster(t), newCluster(t)

	var wg sync.WaitGroup
	for c, options := range map[*cluster][]string{a: nil, b: {"--cpus", manyCPUs}} {
		wg.Go(func() {
			if out, err := c.tryRun(append([]string{"up", "--dir", c.dir, "--owner-pid", itoa(os.Getpid())},
				options...)...); err != nil {
				t.Errorf("up: %v\n%s", err, out)
			}
		})
	}

	wg.Wait()

	if t.Failed() {
		t.FailNow()
	}

	beat := b.heartbeat()
	for _, c := range []*cluster{a, b} {
		// The second load finds the image in the cluster.
		c.mustRun("load", "--dir", c.dir, tar)
		c.mustRun("load", "--dir", c.dir, tar)
		c.apply(workload)
	}

	for _, c := range []*cluster{a, b} {
		c.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
	}

	for name, c := range map[string]*cluster{"a": a, "b": b} {
		t.Run(name, func(t *testing.T) {
			web := strings.TrimSpace(strings.Split(c.kubectl("get", "pods", "-l", "app=web", "-o", "name"), "\n")[0])
			t.Run("network", func(t *testing.T) { (&cluster{t, c.dir}).checkNetwork(web) })
			t.Run("volume", func(t *testing.T) { (&cluster{t, c.dir}).checkVolume() })
			t.Run("logs and port-forward", func(t *testing.T) { (&cluster{t, c.dir}).checkStreams(web) })
			t.Run("unpullable image", func(t *testing.T) { (&cluster{t, c.dir}).checkUnpullable() })
			t.Run("limits", func(t *testing.T) { (&cluster{t, c.dir}).checkLimits() })
		})
	}

	t.Run("more CPUs than the machine has", func(t *testing.T) { (&cluster{t, b.dir}).checkCPUs(beat) })

	machine, pids := a.machine(), a.pids()
	a.mustRun("down", "--dir", a.dir)
	a.checkNothingRemains(machine, pids)
	// The end of one cluster does not affect the other.
	b.mustRun("status", "--dir", b.dir)
	b.kubectl("exec", "deployment/web", "--", "/probe", "get", "http://web")

	for _, component := range b.state().Components {
		if component.Restarts != 0 {
			t.Errorf("%s was restarted: %s", component.Name, component.LastExit)
		}
	}

	// A crash of the supervisor must not end the containers. After the crash, the cluster's owner ends.
	b.checkCrash()
}

func (c *cluster) checkNetwork(web string) {
	c.t.Helper()

	if out := c.kubectl("exec", web, "--", "/probe", "lookup", "kubernetes.default.svc"); !strings.Contains(out,
		"10.96.0.1") {
		c.t.Errorf("kubernetes.default.svc is %s", out)
	}

	c.kubectl("exec", web, "--", "/probe", "dial", "kubernetes.default.svc:443")
	// The Service must reach both pods, also if the request comes from one of these pods.
	names := map[string]bool{}
	waitFor(c.t, "both pods answer", func() bool {
		names[c.kubectl("exec", web, "--", "/probe", "get", "http://web")] = true
		return len(names) == 2
	})

	ip := c.kubectl("get", web, "-o", "jsonpath={.status.podIP}")
	if !strings.HasPrefix(ip, "10.88.") {
		c.t.Errorf("the pod's address is %q", ip)
	}

	c.kubectl("exec", "greedy", "--", "/probe", "get", "http://"+ip+":8080")
	// Other networks are unreachable, and a connection attempt fails at once.
	if out, err := c.tryRun("kubectl", "--dir", c.dir, "exec", web, "--", "/probe", "dial",
		"192.0.2.1:80"); err == nil || strings.Contains(out, "timeout") {
		c.t.Errorf("the world outside: %v, %s", err, out)
	}
}

func (c *cluster) checkVolume() {
	c.t.Helper()
	waitFor(c.t, "the pod has written its file", func() bool { return c.pod("writer", ".status.phase") == "Succeeded" })
	volume := c.kubectl("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}")

	b, err := os.ReadFile(filepath.Join(c.dir, "node", "volumes", volume, "file"))
	if err != nil || string(b) != "kept" {
		c.t.Errorf("the volume holds %q, %v", b, err)
	}

	c.kubectl("delete", "pod/writer", "pvc/data", "--wait=false")
	waitFor(c.t, "the volume is deleted with its claim", func() bool {
		_, err := os.Stat(filepath.Join(c.dir, "node", "volumes", volume))
		return os.IsNotExist(err) && !strings.Contains(c.kubectl("get", "pv"), volume)
	})
}

func (c *cluster) checkStreams(web string) {
	c.t.Helper()

	if out := c.kubectl("logs", web); out == "" {
		c.t.Error("the pod's log is empty")
	}

	cmd := exec.Command(binary, "kubectl", "--dir", c.dir, "port-forward", web, ":8080")

	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}

	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindString(line)
	if port == "" {
		c.t.Fatalf("port-forward printed %q", line)
	}

	resp, err := http.Get("http://" + port + "/")
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()

	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "web-") {
		c.t.Errorf("the pod answers %q, %v", body, err)
	}
}

func (c *cluster) checkUnpullable() {
	c.t.Helper()
	waitFor(c.t, "the pull of the image fails", func() bool {
		return c.pod("unpullable", ".status.containerStatuses[0].state.waiting.reason") == "ImagePullBackOff"
	})

	if out := c.kubectl("get", "events", "--field-selector", "involvedObject.name=unpullable"); !strings.Contains(out,
		"failed to resolve reference") {
		c.t.Errorf("the events do not contain the cause:\n%s", out)
	}
}

// checkLimits checks that the control group of a container has the container's limits.
func (c *cluster) checkLimits() {
	c.t.Helper()
	waitFor(c.t, "the pod runs", func() bool { return c.pod("greedy", ".status.phase") == "Running" })
	uid := c.pod("greedy", ".metadata.uid")
	found := false
	// The file names of cgroup version 1 and version 2.
	for _, file := range []string{"memory.limit_in_bytes", "memory.max"} {
		for _, root := range []string{"/sys/fs/cgroup/memory/", "/sys/fs/cgroup/"} {
			paths, err := filepath.Glob(root + c.machine().Node.Cgroup + "/kubepods/*pod" + uid + "/" + file)
			if err != nil {
				c.t.Fatal(err)
			}

			nested, err := filepath.Glob(root + c.machine().Node.Cgroup + "/kubepods/*/pod" + uid + "/" + file)
			if err != nil {
				c.t.Fatal(err)
			}

			for _, path := range append(paths, nested...) {
				b, err := os.ReadFile(path)
				if err != nil {
					continue
				}

				found = true

				if got := strings.TrimSpace(string(b)); got != "67108864" {
					c.t.Errorf("%s is %s", path, got)
				}
			}
		}
	}

	if !found {
		c.t.Error("the pod has no control group below the cluster's")
	}
}

// manyCPUs is the number of CPUs of the node of the second cluster. No machine that runs these tests has as many.
const manyCPUs = "900"

// heartbeat returns the time at which the kubelet last wrote the status of its node.
func (c *cluster) heartbeat() string {
	c.t.Helper()
	return c.kubectl("get", "node", "sparklocal", "-o",
		`jsonpath={.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}`)
}

// checkCPUs checks that the node runs a pod that requests more CPUs than the machine has. The kubelet must have written
// the status of the node since the given heartbeat, because the kubelet reads only the CPUs of the machine.
func (c *cluster) checkCPUs(before string) {
	c.t.Helper()
	c.apply(`
apiVersion: v1
kind: Pod
metadata: {name: wide}
spec: {containers: [{name: c, image: "localhost/probe:1", args: [serve], resources: {requests: {cpu: 800}}}]}
`)
	waitFor(c.t, "the pod runs", func() bool { return c.pod("wide", ".status.phase") == "Running" })
	waitFor(c.t, "the kubelet writes the node's status", func() bool { return c.heartbeat() != before })

	if got := c.kubectl("get", "node", "sparklocal", "-o",
		"jsonpath={.status.capacity.cpu} {.status.allocatable.cpu}"); got != manyCPUs+" "+manyCPUs {
		c.t.Errorf("the node has the CPUs %s", got)
	}
}

// checkCrash kills the supervisor while the cluster's containers run. It checks that the next `sparklocal up` ends
// these containers and keeps the cluster's data.
func (c *cluster) checkCrash() {
	c.t.Helper()
	c.kubectl("create", "configmap", "from-before")
	before := c.pids()

	pid := before[0]
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}

	waitFor(c.t, "the supervisor ends", func() bool { return !running(pid) })

	o := owner(c.t)
	if out := c.up(o.Pid); !strings.Contains(out, "again with its data") {
		c.t.Errorf("up printed: %s", out)
	}

	c.kubectl("get", "configmap", "from-before")
	waitFor(c.t, "a pod from before the crash serves again", func() bool {
		_, err := c.tryRun("kubectl", "--dir", c.dir, "exec", "deployment/web", "--", "/probe", "get", "http://web")
		return err == nil
	})
	machine, pids := c.machine(), c.pids()
	// Do not compare network namespaces, because the kernel reuses the inode number of a namespace that has just ended.
	waitFor(c.t, "the processes of the killed cluster end",
		func() bool { return !slices.ContainsFunc(before, running) })

	if err := o.Kill(); err != nil {
		c.t.Fatal(err)
	}

	c.checkNothingRemains(machine, pids)
}
