// Package dist installs a release from nothing but the files that `make dist` writes.
package dist

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// root is the root of the repository.
const root = "../../.."

// The blocks of commands of the page, in its order.
const (
	build = iota
	check
	push
	withHelm
	firstApplication
	withSparkctl
	withKubectl
	withKustomize
	uninstallHelm
	uninstallKubectl
	blockCount
)

// user follows the page. The user's working directory has the files of the release, and only programs that the page
// names are installed.
type user struct {
	*cluster.Cluster
	t      *testing.T
	blocks []markdown.Block
	dir    string // with the files of the release
	bin    string // with the programs
	env    []string
}

// TestInstall follows docs/how-to/install.md from the build to finished applications on real Spark, with Helm, with
// kubectl and with Kustomize. It builds only the platform of this machine. The node pulls the images from a registry of
// the test, which stands for Docker Hub, too.
func TestInstall(t *testing.T) {
	if os.Getenv("INSTALL") != "all" {
		t.Skip("`make e2e` runs it, because it takes minutes")
	}

	if kit.ExistingCluster(os.Getenv) != "" || runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs the embedded Kubernetes with a node: run as root on Linux, and unset TEST_KUBECONFIG")
	}

	u := &user{t: t, dir: t.TempDir(), blocks: markdown.Blocks(t, root+"/docs/how-to/install.md", "sh")}
	if len(u.blocks) != blockCount {
		t.Fatalf("the page has %d blocks of commands, want %d", len(u.blocks), blockCount)
	}

	u.Cluster = cluster.ForTest(t, cluster.Options{Root: root, Spark: true, Bare: true})
	u.tools()
	address := u.registry()

	u.build()
	u.run(check, "install.yaml: OK", "crds.yaml: OK", "spark-operator-0.1.0.tgz: OK")
	u.blocks[push].Text = strings.ReplaceAll(u.blocks[push].Text, "registry.example.com", address)
	u.run(push, "sparkctl@sha256:")

	u.run(withHelm, "STATUS: deployed")
	u.image("registry.example.com/sparkoperator/spark-operator:v0.1.0")
	u.run(firstApplication, "spark-pi created", "Pi is roughly 3.1")
	u.run(withSparkctl, "COMPLETED", "v0.1.0")
	u.run(uninstallHelm, "uninstalled")

	u.run(withKubectl, "successfully rolled out")
	u.image("docker.io/sparkoperator/spark-operator:v0.1.0@sha256:")
	u.shell("kubectl delete -f spark-pi.yaml")
	u.run(firstApplication, "spark-pi created", "Pi is roughly 3.1")

	// A second time, the certificate must stay valid.
	u.run(withKubectl, "successfully rolled out")
	u.run(withKustomize, "successfully rolled out")
	u.image("registry.example.com/sparkoperator/spark-operator:v0.1.0@sha256:")
	u.shell("kubectl delete -f spark-pi.yaml")
	u.run(firstApplication, "spark-pi created", "Pi is roughly 3.1")

	u.shell("helm upgrade --install spark-operator spark-operator-0.1.0.tgz --namespace spark-operator --wait --take-ownership --force-conflicts")
	u.run(uninstallHelm, "uninstalled")
	u.run(withKubectl, "successfully rolled out")
	u.run(uninstallKubectl, `namespace "spark-operator" deleted`)
	u.shell("kubectl get sparkapplications.sparkoperator.k8s.io/spark-pi")
}

// tools puts helm, kubectl and crane into a directory of the user's PATH.
func (u *user) tools() {
	u.t.Helper()

	u.bin = u.t.TempDir()
	for module, program := range map[string]string{
		"tools/ci": "github.com/google/go-containerregistry/cmd/crane", "test/e2e": "helm.sh/helm/v4/cmd/helm",
	} {
		build := exec.CommandContext(u.t.Context(), "go", "build", "-C", filepath.Join(root, module), "-trimpath", "-o", u.bin, program)
		if text, err := build.CombinedOutput(); err != nil {
			u.t.Fatalf("%s: %v\n%s", program, err, text)
		}
	}

	script := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", strings.Join(u.KubectlLine(), " "))
	if err := os.WriteFile(filepath.Join(u.bin, "kubectl"), []byte(script), 0o755); err != nil {
		u.t.Fatal(err)
	}

	home := u.t.TempDir()
	u.env = append(os.Environ(), "KUBECONFIG="+u.Kubeconfig(), "PATH="+u.bin+":"+os.Getenv("PATH"), "DOCKER_CONFIG="+home,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
}

// registry serves an empty registry of images to this machine and to the node, and returns its address on this machine.
func (u *user) registry() string {
	u.t.Helper()

	serve := exec.CommandContext(u.t.Context(), filepath.Join(u.bin, "crane"), "registry", "serve", "--address", "127.0.0.1:0")

	pipe, err := serve.StderrPipe()
	if err != nil {
		u.t.Fatal(err)
	}

	if err := serve.Start(); err != nil {
		u.t.Fatal(err)
	}

	u.t.Cleanup(func() { _ = serve.Wait() }) // the end of the test kills it

	output := bufio.NewReader(pipe)

	line, err := output.ReadString('\n')

	_, port, found := strings.Cut(strings.TrimSpace(line), "serving on port ")
	if !found {
		u.t.Fatalf("the registry prints %q: %v", line, err)
	}

	go func() { _, _ = io.Copy(u.t.Output(), output) }()

	here := "127.0.0.1:" + port

	host, err := u.HostAddress()
	if err != nil {
		u.t.Fatal(err)
	}

	listener, err := net.Listen("tcp", net.JoinHostPort(host.String(), "0"))
	if err != nil {
		u.t.Fatal(err)
	}

	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: here})
	there := &httptest.Server{Listener: listener, Config: &http.Server{Handler: proxy}}
	there.Start()
	u.t.Cleanup(there.Close)

	for _, name := range []string{"registry.example.com", "docker.io"} {
		if err := u.MirrorRegistry(name, there.URL); err != nil {
			u.t.Fatal(err)
		}
	}
	return here
}

// build builds the release for this machine into the user's directory.
func (u *user) build() {
	u.t.Helper()

	arch := runtime.GOARCH
	cmd := exec.CommandContext(u.t.Context(), "bash", "-euc", u.blocks[build].Text)
	cmd.Dir, cmd.Env = root, append(os.Environ(), fmt.Sprintf("ARGS=-out %s linux/%s image/%s", u.dir, arch, arch))

	if text, err := cmd.CombinedOutput(); err != nil {
		u.t.Fatalf("%v\n%s", err, text)
	}
}

// run runs a block of the page, and checks that its output contains texts.
func (u *user) run(block int, wants ...string) {
	u.t.Helper()

	text := u.shell(u.blocks[block].Text)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			u.t.Errorf("the commands do not print %q:\n%s\n%s", want, u.blocks[block].Text, text)
		}
	}
}

// shell runs commands, which must succeed, in the user's directory.
func (u *user) shell(commands string) string {
	u.t.Helper()

	cmd := exec.CommandContext(u.t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = u.dir, u.env

	text, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("%v in\n%s\n%s", err, commands, text)
	}
	return string(text)
}

// image checks that the operator's image has a name that begins with a text.
func (u *user) image(want string) {
	u.t.Helper()

	got := u.shell("kubectl get deployment/spark-operator-controller -n spark-operator -o jsonpath='{.spec.template.spec.containers[0].image}'")
	if !strings.HasPrefix(got, want) {
		u.t.Errorf("the operator's image is %s, want %s", got, want)
	}
}
