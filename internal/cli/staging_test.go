package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// localFiles writes an application's files into a directory, and returns the command line that submits them.
func localFiles(t *testing.T, more ...string) []string {
	t.Helper()

	dir := t.TempDir()
	for name, text := range map[string]string{"app.py": "print('main')", "lib.py": "x = 1", "data.txt": "data"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	line := append([]string{"submit"}, more...)
	return append(line, "--deploy-mode", "cluster", "--object-name", "job", image, "--py-files",
		filepath.Join(dir, "lib.py"), "--files", filepath.Join(dir, "data.txt"),
		filepath.Join(dir, "app.py"), "arg")
}

// fill replaces the content of data.txt in a command line of localFiles.
func fill(t *testing.T, line []string, content []byte) {
	t.Helper()

	if err := os.WriteFile(line[slices.Index(line, "--files")+1], content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSubmitStagesDryRun checks the manifests of applications whose files are local, without a cluster.
func TestSubmitStagesDryRun(t *testing.T) {
	withoutSpark(t)
	t.Setenv("SPARKCTL_STAGE", "")

	got := run(t, localFiles(t, "--dry-run")...)
	if got.code != exit.OK || !strings.Contains(got.err,
		"3 local files (22 bytes) would be put into the ConfigMap sparkctl-files-") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}

	golden(t, "submit/staged.yaml", got.out)
	store := filepath.Join(t.TempDir(), "store")
	t.Setenv("SPARKCTL_STAGE", "file://"+store)

	got = run(t, localFiles(t, "--dry-run", "--stage-as", "https://files.example.org/")...)
	if got.code != exit.OK || !strings.Contains(got.err, "would be put into file://"+store) ||
		strings.Count(got.out, "https://files.example.org/default/") != 3 {
		t.Errorf("exit code %d, %s\n%s", got.code, got.err, got.out)
	}

	if _, err := os.Stat(filepath.Join(store, "default")); !os.IsNotExist(err) {
		t.Errorf("the dry run stored files: %v", err)
	}
}

// TestSubmitStages checks on a real API server where the verb submit puts local files: into a ConfigMap that the
// applications own, or into a store. The store must keep the files until the application is deleted.
func TestSubmitStages(t *testing.T) {
	withoutSpark(t)
	t.Setenv("SPARKCTL_STAGE", "")
	w := scene.New(t)
	u := newUser(t, w)
	u.does(exit.OK, "job created", localFiles(t)...)
	again := localFiles(t)
	again[4] = "again"
	u.does(exit.OK, "again created", again...)

	var job, other v1beta2.SparkApplication
	for name, app := range map[string]*v1beta2.SparkApplication{"job": &job, "again": &other} {
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, app); err != nil {
			t.Fatal(err)
		}
	}

	var configs corev1.ConfigMapList
	if err := w.API.List(t.Context(), &configs, client.InNamespace(w.Namespace),
		client.MatchingLabels{"app.kubernetes.io/managed-by": "sparkctl"}); err != nil {
		t.Fatal(err)
	}

	if len(configs.Items) != 1 || len(configs.Items[0].BinaryData) != 3 || len(configs.Items[0].OwnerReferences) != 2 {
		t.Fatalf("%d ConfigMaps: %+v", len(configs.Items), configs.Items)
	}

	for i, uid := range []string{string(job.UID), string(other.UID)} {
		if owner := configs.Items[0].OwnerReferences[i]; string(owner.UID) != uid || owner.Kind != "SparkApplication" {
			t.Errorf("owner %d is %+v, want UID %s", i, owner, uid)
		}
	}

	if job.Spec.MainApplicationFile != "local:///mnt/sparkctl/app.py" ||
		job.Spec.Volumes[0].ConfigMap.Name != configs.Items[0].Name {
		t.Errorf("the application is %+v", job.Spec)
	}

	full := localFiles(t)
	full[4] = "full"
	fill(t, full, make([]byte, stage.MaxConfigMap-len("print('main')")-len("x = 1")))
	u.does(exit.OK, "full created", full...)

	root := filepath.Join(t.TempDir(), "store")
	stored := localFiles(t, "--stage", "file://"+root)
	stored[6] = "stored"
	u.does(exit.OK, "app.py (13 bytes) stored", stored...)

	if files, _ := filepath.Glob(root + "/" + w.Namespace + "/*/*"); len(files) != 3 {
		t.Errorf("the store has %v", files)
	}
	// The files of a submission that is rejected are deleted, except those of the existing application.
	rejected := localFiles(t, "--stage", "file://"+root)
	rejected[6] = "stored"
	fill(t, rejected, []byte("other data"))
	u.does(exit.Cluster, "stored exists already", rejected...)

	if files, _ := filepath.Glob(root + "/" + w.Namespace + "/*/*"); len(files) != 3 {
		t.Errorf("after a rejected submission the store has %v", files)
	}

	u.does(exit.OK, "stored deleted", "delete", "stored", "--yes")
	kit.Wait(t, "the files of the deleted application", func(context.Context) error {
		if files, _ := filepath.Glob(root + "/" + w.Namespace + "/*/*"); len(files) > 0 {
			return fmt.Errorf("the store has %v", files)
		}
		return nil
	})
}
