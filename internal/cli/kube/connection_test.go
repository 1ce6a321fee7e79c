package kube

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// twoClusters is a kubeconfig with two contexts.
const twoClusters = `apiVersion: v1
kind: Config
clusters:
- name: here
  cluster: {server: "https://here:6443"}
- name: there
  cluster: {server: "https://there:6443"}
users:
- name: me
  user: {token: abc}
contexts:
- name: here
  context: {cluster: here, user: me, namespace: jobs}
- name: there
  context: {cluster: there, user: me}
current-context: here
`

// parsed parses the connection flags in args, and returns the connection and the namespace that they choose.
func parsed(t *testing.T, args ...string) (*rest.Config, string, error) {
	t.Helper()
	var f Flags
	set := pflag.NewFlagSet("verb", pflag.ContinueOnError)
	f.AddTo(set)

	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}

	c, err := f.Connect(io.Discard)
	if err != nil {
		return nil, "", err
	}
	return c.Config(), c.Namespace, nil
}

// TestFlags checks that the flags have the same effect on the connection as in kubectl.
func TestFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(twoClusters), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Setenv("KUBECONFIG", path)

	type connection struct {
		Host, Namespace, Token string
		User                   rest.ImpersonationConfig
	}
	for _, test := range []struct {
		args string
		want connection
	}{
		{"", connection{Host: "https://here:6443", Namespace: "jobs", Token: "abc"}},
		{"--kubeconfig " + path + " --context there",
			connection{Host: "https://there:6443", Namespace: "default", Token: "abc"}},
		{"--cluster there -n namespace/prod", connection{Host: "https://there:6443", Namespace: "prod", Token: "abc"}},
		{"-s https://other:1 --token def", connection{Host: "https://other:1", Namespace: "jobs", Token: "def"}},
		{"--as jane --as-group a --as-group b --as-uid 7 --as-user-extra k=v --as-user-extra k=w=x",
			connection{Host: "https://here:6443", Namespace: "jobs", Token: "abc", User: rest.ImpersonationConfig{
				UserName: "jane", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"k": {"v", "w=x"}},
			}}},
	} {
		rc, namespace, err := parsed(t, strings.Fields(test.args)...)
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
			continue
		}

		if diff := cmp.Diff(test.want, connection{rc.Host, namespace, rc.BearerToken, rc.Impersonate}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.args, diff)
		}
	}

	for args, want := range map[string]string{
		"--as-user-extra team": "write KEY=VALUE", "--context nowhere": "kubectl config get-contexts",
		"--kubeconfig " + path + ".gone": "kubeconfig",
	} {
		if _, _, err := parsed(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestNoCluster checks that the error on a machine without a kubeconfig says what to do, and that --server needs no
// kubeconfig.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))

	if _, _, err := parsed(t); err == nil ||
		!strings.Contains(err.Error(), "no cluster is configured; set KUBECONFIG, or give --kubeconfig") {
		t.Error(err)
	}

	rc, namespace, err := parsed(t, "--server", "https://here:6443")
	if err != nil || rc.Host != "https://here:6443" || namespace != "default" {
		t.Errorf("%v, %q, %v", rc, namespace, err)
	}
}

// TestCarry checks that a command for users reaches the cluster of the flags.
func TestCarry(t *testing.T) {
	for command, want := range map[terminal.Command]terminal.Command{
		"":                      "",
		"kubectl get crd":       "kubectl --kubeconfig '/a b' --context prod get crd",
		"helm upgrade a b -n c": "helm --kubeconfig '/a b' --kube-context prod upgrade a b -n c",
		"kubectl get a && helm upgrade b": "kubectl --kubeconfig '/a b' --context prod get a && " +
			"helm --kubeconfig '/a b' --kube-context prod upgrade b",
		"kubectl create a -o yaml | kubectl apply -f -": "kubectl --kubeconfig '/a b' --context prod create a -o yaml | kubectl --kubeconfig '/a b' --context prod apply -f -",
	} {
		c := &Client{kubeconfig: "/a b", context: "prod"}
		if got := c.Carry(command); got != want {
			t.Errorf("%s, want %s", got, want)
		}

		if got := new(Client).Carry(command); got != command {
			t.Errorf("without flags %s, want %s", got, command)
		}
	}
}
