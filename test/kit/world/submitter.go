package world

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// These tests play the kubelet and spark-submit for applications that spark-submit submits.

// BySparkSubmit makes an application one that spark-submit submits.
func BySparkSubmit(app *v1beta2.SparkApplication) {
	app.Spec.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionModeSparkSubmit}
}

// SubmitterOf waits for the pod that runs spark-submit for the given attempt of an application, and returns this pod.
func (w *World) SubmitterOf(app *v1beta2.SparkApplication, attempt int) *corev1.Pod {
	w.T.Helper()
	var pods corev1.PodList
	kit.Wait(w.T, fmt.Sprintf("the pod that submits attempt %d of %s", attempt, app.Name), func(ctx context.Context) error {
		if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{
			identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: fmt.Sprint(attempt), identity.RoleLabel: identity.RoleSubmitter,
		}); err != nil {
			return err
		}
		return Want(len(pods.Items), 1)
	})
	return &pods.Items[0]
}

// SparkSubmit plays spark-submit: it creates and returns the driver pod, with all fields that matter to the operator.
// If withConfigMap is true, it also creates the ConfigMap that the driver pod mounts.
func (w *World) SparkSubmit(submitter *corev1.Pod, withConfigMap bool) *corev1.Pod {
	w.T.Helper()

	var secret corev1.Secret
	if err := w.API.Get(w.T.Context(), client.ObjectKeyFromObject(submitter), &secret); err != nil {
		w.T.Fatal(err)
	}

	settings, err := conf.UnmarshalProperties(string(secret.Data["spark.properties"]))
	if err != nil {
		w.T.Fatal(err)
	}

	driver := &corev1.Pod{}
	if err := json.Unmarshal(secret.Data["driver.json"], driver); err != nil {
		w.T.Fatal(err)
	}

	driver.Namespace = w.Namespace
	driver.Name, _ = settings.Get("spark.kubernetes.driver.pod.name")
	driver.Labels = map[string]string{identity.RoleLabel: identity.RoleDriver, "spark-app-selector": "spark-of-" + submitter.Name}
	maps.Insert(driver.Labels, settings.WithPrefix("spark.kubernetes.driver.label."))
	driver.Spec.ServiceAccountName, _ = settings.Get("spark.kubernetes.authenticate.driver.serviceAccountName")
	driver.Spec.RestartPolicy = corev1.RestartPolicyNever
	driver.Spec.Containers[len(driver.Spec.Containers)-1].Image = submitter.Spec.Containers[0].Image
	driver.Spec.Volumes = append(driver.Spec.Volumes, corev1.Volume{Name: trim.ConfVolume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: submitter.Name + "-conf"}},
	}})
	w.Create(driver)

	if withConfigMap {
		w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: submitter.Name + "-conf"}})
	}
	return driver
}

// SecretsOf returns the Secrets that the operator created for a custom resource.
func (w *World) SecretsOf(owner client.Object) []corev1.Secret {
	w.T.Helper()

	var list corev1.SecretList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(owner.GetUID())}); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// WaitEvent waits until an Event with the given reason contains all texts.
func (w *World) WaitEvent(app client.Object, reason string, says ...string) {
	w.T.Helper()
	kit.Wait(w.T, "an event "+reason, func(context.Context) error {
		reported := w.EventsOf(app)[reason]
		for _, text := range says {
			if !strings.Contains(reported, text) {
				return fmt.Errorf("it says %q, not %q", reported, text)
			}
		}
		return Want(reported != "", true)
	})
}
