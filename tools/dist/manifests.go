package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// These are the files of a release for kubectl: the definitions, the chart with its default values, and a first
// application. The definitions are apart, so that `kubectl delete -f install.yaml` keeps them, and with them all custom
// resources.
const (
	definitionsFile = "crds.yaml"
	installFile     = "install.yaml"
	exampleFile     = "spark-pi.yaml"
)

// installHead is the beginning of install.yaml. Helm would create the namespace with --create-namespace.
const installHead = `# spark-operator %s, the chart with its default values:
#
#   kubectl apply --server-side -f crds.yaml -f install.yaml
---
apiVersion: v1
kind: Namespace
metadata:
  name: spark-operator
`

// managedByHelm is the label that names Helm as the owner of an object.
var managedByHelm = regexp.MustCompile(`(?m)^ *app\.kubernetes\.io/managed-by: Helm\n`)

// manifests writes the files for kubectl into the directory out, and returns their names. The package of the chart must
// be there, because install.yaml has the digests of its images.
func (r *release) manifests(ctx context.Context, root, out, chart string) ([]string, error) {
	definitions, err := filepath.Glob(filepath.Join(root, "charts", "spark-operator", "files", "crds", "*.yaml"))
	if err != nil {
		return nil, err
	}

	all := fmt.Appendf(nil, "# The custom resource definitions of spark-operator %s.\n", r.version)
	for _, file := range definitions {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}

		all = append(append(all, "---\n"...), bytes.TrimPrefix(text, []byte("---\n"))...)
	}

	install, err := render(ctx, root, filepath.Join(out, chart))
	if err != nil {
		return nil, err
	}

	example, err := os.ReadFile(filepath.Join(root, "examples", exampleFile))
	if err != nil {
		return nil, err
	}

	var names []string
	for _, file := range []struct {
		name    string
		content []byte
	}{{definitionsFile, all}, {installFile, append(fmt.Appendf(nil, installHead, r.version), install...)}, {exampleFile, example}} {
		if err := os.WriteFile(filepath.Join(out, file.name), file.content, 0o644); err != nil {
			return nil, err
		}

		names = append(names, file.name)
	}
	return names, nil
}

// render returns the manifests of the chart in a package, without the definitions and the tests of `helm test`. Helm
// reads none of the user's settings.
func render(ctx context.Context, root, chart string) ([]byte, error) {
	chart, err := filepath.Abs(chart)
	if err != nil {
		return nil, err
	}

	home, err := os.MkdirTemp("", "helm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)

	cmd := exec.CommandContext(ctx, "go", "run", "-C", filepath.Join(root, "test", "e2e"), "-trimpath", "helm.sh/helm/v4/cmd/helm",
		"template", "spark-operator", chart, "--namespace", "spark-operator", "--skip-tests", "--set", "crds.install=false")

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "HELM_PLUGINS="+home)

	var problem bytes.Buffer
	cmd.Stderr = &problem

	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("render the chart: %w\n%s", err, problem.Bytes())
	}
	return managedByHelm.ReplaceAll(text, nil), nil
}
