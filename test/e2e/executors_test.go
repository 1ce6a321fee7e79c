package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

const executorOverlayLabel = "sparkoperator.dev/executor-overlay"

// executorsAtAdmission checks executor settings that Spark overwrites, such as a memory limit. A
// MutatingAdmissionPolicy or the webhook therefore applies them when the API server admits the executor pods. The
// settings of the first application need only the policy. The settings of the second also need the webhook. The third
// application has no such settings. The test checks the pods while the executors work.
func (w *suite) executorsAtAdmission(t *testing.T) {
	// The test does not depend on the size of the executors: the limit is far above what they use.
	const limit = "1200m"
	hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep",
		"1"}}}}
	byPolicy := w.createStory(t,
		w.scriptedApp(t, "limit", []string{"session", "sleep"}, func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.MemoryLimit = new(limit)
		}))
	byWebhook := w.createStory(t,
		w.scriptedApp(t, "limit-and-hook", []string{"session", "sleep"}, func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.decommission.enabled": "true"}
			a.Spec.Executor.MemoryLimit, a.Spec.Executor.Lifecycle = new(limit), hook
			a.Spec.Executor.Env = []corev1.EnvVar{{Name: "SPARK_USER",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
		}))

	plain := w.createStory(t, w.scriptedApp(t, "unlimited", []string{"session", "sleep"}, nil))
	for _, s := range []*story{byPolicy, byWebhook, plain} {
		s.untilWorking(t, 1)

		if _, ok := conditions(s.app)["FieldsOverwritten"]; ok {
			t.Errorf("%s: %+v", s.app.Name, condition(s.app, "FieldsOverwritten"))
		}
	}

	for s, by := range map[*story]string{byPolicy: "policy", byWebhook: "webhook", plain: ""} {
		for _, pod := range s.executors(t) {
			spark := pod.Spec.Containers[len(pod.Spec.Containers)-1]

			got := spark.Resources.Limits.Memory().String()
			if label := pod.Labels[executorOverlayLabel]; label != by || (got == "1200Mi") != (by != "") {
				t.Errorf("%s has the memory limit %s, and is changed by %q", pod.Name, got, label)
			}

			if by != "webhook" {
				continue
			}

			if spark.Lifecycle == nil ||
				!slices.Equal(spark.Lifecycle.PreStop.Exec.Command, hook.PreStop.Exec.Command) {
				t.Errorf("%s has the lifecycle %+v", pod.Name, spark.Lifecycle)
			}

			if last := lastVariable(spark.Env, "SPARK_USER"); last.ValueFrom == nil ||
				last.ValueFrom.FieldRef.FieldPath != "metadata.name" {
				t.Errorf("%s has SPARK_USER %+v", pod.Name, last)
			}
		}
	}

	w.onlySentToWebhook(t, byWebhook)

	for _, s := range []*story{byPolicy, byWebhook, plain} {
		w.remove(t, s.app)
	}
}

func lastVariable(env []corev1.EnvVar, name string) (last corev1.EnvVar) {
	for _, v := range env {
		if v.Name == name {
			last = v
		}
	}
	return last
}

// onlySentToWebhook checks in the audit log that the API server called a mutating webhook only for the executors of one
// application.
func (w *suite) onlySentToWebhook(t *testing.T, s *story) {
	t.Helper()

	if !w.Embedded() {
		return // its audit log cannot be read
	}
	var sent []string
	w.readAudit(t, func(r cluster.Request) {
		for key := range r.Annotations {
			if strings.HasPrefix(key, "mutation.webhook.admission.k8s.io/") {
				sent = append(sent, r.ObjectRef.Resource+"/"+r.ObjectRef.Name)
				return
			}
		}
	})

	for _, pod := range s.executors(t) {
		if !slices.Contains(sent, "pods/"+pod.Name) {
			t.Errorf("%s was not sent to the webhook, but %v", pod.Name, sent)
		}
	}

	for _, object := range sent {
		if !strings.HasPrefix(object, "pods/"+s.app.Name+"-") {
			t.Errorf("%s was sent to the webhook", object)
		}
	}
}
