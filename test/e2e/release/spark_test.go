//go:build linux

package release

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
	spark "github.com/sparkoperator/spark-operator/test/record"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
)

// TestRulesHoldAgainstADriver runs the driver of test/e2e/testdata/rules/attack.py with the real Spark and the token of
// a driver's service account. It creates pods by itself, and gives its executors a template in its own code. The
// policies of the chart and the webhook must refuse these pods.
func TestRulesHoldAgainstADriver(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts the files of the Spark image: run as root")
	}

	r := newRelease(t)
	namespace := kit.Namespace(t)
	r.installRules(namespace, map[string]any{
		"name": "tenants", "podSecurity": "restricted", "images": map[string]any{"allowed": []string{sparkImage}},
		"serviceAccounts": map[string]any{"allowed": []string{driver}}, "limits": map[string]any{"cores": 4},
	})
	r.servePods(namespace)
	r.waitRules(namespace, "admission webhook")

	log := r.attack(namespace)

	executor := regexp.MustCompile(`pods "\S+-exec-\d+" is forbidden: ValidatingAdmissionPolicy .*the pod's "hostPID" is not allowed by the rule podSecurity of the policy tenants`)
	if !executor.MatchString(log) {
		t.Errorf("the driver's log has no refusal of its executors:\n%s", log)
	}

	t.Logf("the API server answers Spark: %s", executor.FindString(log))

	for pod, want := range map[string]string{
		"own-allowed": "201", "own-privileged": "the rule podSecurity", "own-foreign": "the rule images",
		"own-account": "the rule serviceAccounts",
		"own-root":    "the rule podSecurity: restricted", "own-large": "the rule limits.cores",
	} {
		answer := regexp.MustCompile(`answer ` + pod + ` .*`).FindString(log)
		t.Log(answer)

		if !strings.Contains(answer, want) {
			t.Errorf("the API server answers %q, want %q", answer, want)
		}
	}

	var pods corev1.PodList
	if err := r.api.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}

	if len(pods.Items) != 1 || pods.Items[0].Name != "own-allowed" {
		for _, pod := range pods.Items {
			t.Errorf("the pod %s exists", pod.Name)
		}
	}
}

// attack runs the driver until Spark has reported a refusal of its executors, and returns its log.
func (r *release) attack(namespace string) string {
	t := r.t
	t.Helper()
	rc := kit.Rest(t)

	core, err := kubernetes.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}

	token, err := core.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), driver,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	attack, err := os.ReadFile("test/e2e/testdata/rules/attack.py")
	if err != nil {
		t.Fatal(err)
	}

	local := gobuild.Must(t, "local", "./cmd/sparklocal")

	archive, err := exec.CommandContext(t.Context(), local, "image", "spark", "--version", sparkVersion).Output()
	if err != nil {
		t.Fatal(err)
	}

	machine, err := submitter.OnHost(t.Context(), sparkVersion, strings.TrimSpace(string(archive)), map[string]string{
		"attack.py": string(attack), "token": token.Status.Token, "ca.crt": string(rc.CAData), "namespace": namespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = machine.Close() }()

	args := []string{"--master", "k8s://" + rc.Host, "--deploy-mode", "client"}
	for _, conf := range []string{
		"kubernetes.namespace=" + namespace, "kubernetes.container.image=" + sparkImage,
		"kubernetes.authenticate.executor.serviceAccountName=" + driver,
		"kubernetes.authenticate.oauthTokenFile=" + spark.Dir + "/token",
		"kubernetes.authenticate.caCertFile=" + spark.Dir + "/ca.crt",
		"executor.instances=1", "driver.memory=512m", "executor.memory=512m", "driver.host=127.0.0.1",
		"ui.enabled=false",
	} {
		args = append(args, "--conf", "spark."+conf)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	log := &untilText{text: "-exec-1\" is forbidden", found: cancel}

	_, err = machine.Submit(ctx,
		append(args, spark.Dir+"/attack.py", sparkImage, driver, strings.TrimPrefix(rc.Host, "https://"),
			spark.Dir), log)
	if ctx.Err() == nil {
		t.Errorf("the driver ended: %v", err)
	}
	return log.String()
}

// untilText is a log that calls a function when it contains a text.
type untilText struct {
	mu    sync.Mutex
	log   bytes.Buffer
	text  string
	found func()
}

// Write implements io.Writer.
func (u *untilText) Write(text []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()

	n, err := u.log.Write(text)
	if strings.Contains(u.log.String(), u.text) {
		u.found()
	}
	return n, err
}

// String returns the whole log.
func (u *untilText) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.log.String()
}
