package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rhysd/actionlint"
)

// releaseStep returns the commands of a step of the workflow that makes a release.
func releaseStep(t *testing.T, id string) string {
	t.Helper()

	workflow, errs := actionlint.Parse([]byte(read(t, "../../.github/workflows/release.yml")))
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	for _, step := range workflow.Jobs["release"].Steps {
		if run, ok := step.Exec.(*actionlint.ExecRun); ok && step.ID != nil && step.ID.Value == id {
			return run.Run.Value
		}
	}

	t.Fatalf("the workflow has no step %s", id)
	return ""
}

// checkPush runs the step of the workflow that pushes the images and the chart, with a registry of the test. The
// registry must then have the images with the digests that the chart contains, and Helm must render the chart from the
// registry with these images.
func checkPush(t *testing.T, out, version string, digests map[string]string) {
	t.Helper()

	silent := log.New(io.Discard, "", 0)
	server := httptest.NewUnstartedServer(registry.New(registry.Logger(silent)))
	server.Config.ErrorLog = silent
	server.StartTLS()
	t.Cleanup(server.Close)

	host, dir := strings.TrimPrefix(server.URL, "https://"), t.TempDir()
	authority := filepath.Join(dir, "ca.pem")
	write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))

	environment := append(os.Environ(), "DIST="+out, "IMAGES="+host+"/sparkoperator", "CHARTS=oci://"+host+"/charts",
		"GITHUB_REF_NAME="+version, "GITHUB_OUTPUT="+filepath.Join(dir, "output"), "RUNNER_TEMP="+dir,
		"SSL_CERT_FILE="+authority, "DOCKER_CONFIG="+dir,
		"HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)

	push := exec.Command("bash", "-e", "-c", releaseStep(t, "push"))
	push.Dir, push.Env = "../..", environment
	output(t, push)

	for program, digest := range digests {
		reference, err := name.ParseReference(host + "/sparkoperator/" + program + ":" + version)
		if err != nil {
			t.Fatal(err)
		}

		got, err := remote.Head(reference, remote.WithTransport(server.Client().Transport))
		if err != nil || got.Digest.String() != digest {
			t.Errorf("the registry has %+v for %s, want the digest %s: %v", got, program, digest, err)
		}

		if text := read(t, filepath.Join(dir, "output")); !strings.Contains(text, program+"="+digest+"\n") {
			t.Errorf("the step has the outputs %q", text)
		}
	}

	render := exec.Command(filepath.Join(dir, "helm"), "template", "spark-operator", "oci://"+host+"/charts/spark-operator",
		"--namespace", "spark-operator", "--version", strings.TrimPrefix(version, "v"), "--set", "console.enable=true")

	render.Env = environment
	manifests := output(t, render)

	for program, digest := range digests {
		if want := "docker.io/sparkoperator/" + program + ":" + version + "@" + digest; !strings.Contains(manifests, want) {
			t.Errorf("the chart does not render the image %s", want)
		}
	}
}
