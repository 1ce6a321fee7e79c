package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// runSubmitted runs a program with the spark-submit of the program's own image, in a separate pod.
func (p *lineProof) runSubmitted(t *testing.T, prog program) execution {
	began := time.Now()
	// The name must not begin with the name of the SparkApplication, because remove waits for all objects whose names
	// do.
	name := "submitted-" + p.id(prog)
	pod, config := p.submitPod(t, prog, name)
	p.createAll(t, config, pod)
	p.awaitPod(t, pod.Name, "to submit", succeeded)
	driver := p.awaitPod(t, name+driverSuffix, "to end", succeeded)
	done := p.checkRun(t, prog, name, driver.Name)
	done.took = time.Since(began)

	for _, o := range []client.Object{driver, pod, config} {
		if err := p.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	// Deleting the driver pod also deletes the objects that spark-submit created, because the pod owns them.
	eventually(t, 90*time.Second, "the driver to be gone", func() (string, bool) {
		return "it is there", apierrors.IsNotFound(p.Client.Get(t.Context(), client.ObjectKeyFromObject(driver),
			driver))
	})
	return done
}

// driverSuffix is the end of the names of the drivers that spark-submit creates. The tests set these names explicitly,
// because spark-submit would otherwise generate them.
const driverSuffix = "-by-hand"

// submitPod returns a pod that runs spark-submit, and a ConfigMap with the files of the pod. The files include the pod
// templates of the program's manifest.
func (p *lineProof) submitPod(t *testing.T, prog program, name string) (*corev1.Pod, *corev1.ConfigMap) {
	t.Helper()
	app := p.manifest(t, prog)

	properties := everyProperty + prog.properties + "spark.kubernetes.driver.pod.name " + name + driverSuffix + "\n"
	for key, value := range timeouts {
		properties += key + " " + value + "\n"
	}

	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-files", Namespace: "default"},
		Data: map[string]string{
			"proof.properties": p.fill(t, name, properties),
			"driver.yaml":      templateFile(t, app.Spec.Driver.Template),
			"executor.yaml":    templateFile(t, app.Spec.Executor.Template),
		},
	}

	var templated corev1.PodTemplateSpec
	if err := yaml.Unmarshal(app.Spec.Driver.Template.Raw, &templated); err != nil {
		t.Fatal(err)
	}

	args := append([]string{"/opt/spark/bin/spark-submit", "--master", "k8s://https://kubernetes.default.svc",
		"--deploy-mode", "cluster",
		"--name", name, "--properties-file", "/opt/submit/proof.properties"}, prog.submit...)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-submit", Namespace: "default"},
		Spec: corev1.PodSpec{
			RestartPolicy:      corev1.RestartPolicyNever,
			ServiceAccountName: cluster.SubmitAccount, // the chart gives this account sufficient rights
			Volumes:            []corev1.Volume{configMapVolume("files", config.Name), templated.Spec.Volumes[0]},
			Containers: []corev1.Container{{
				Name: "spark-submit", Image: p.image, Args: args,
				VolumeMounts: []corev1.VolumeMount{
					{Name: "files", MountPath: "/opt/submit"},
					// --packages reads it during submission
					{Name: templated.Spec.Volumes[0].Name, MountPath: "/opt/proof"},
				},
			}},
		},
	}
	return pod, config
}

// templateFile converts a pod template of a SparkApplication to the file format of spark-submit.
func templateFile(t *testing.T, template *runtime.RawExtension) string {
	t.Helper()

	var tree map[string]any
	if err := yaml.Unmarshal(template.Raw, &tree); err != nil {
		t.Fatal(err)
	}

	tree["apiVersion"], tree["kind"] = "v1", "Pod"

	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
