package operator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// serverSecret waits until a server has exactly one Secret, which is of the given attempt, and returns this Secret. If
// attempt is 0, it waits until the server has no Secret, and returns nil.
func (w *world) serverSecret(sc *v1alpha1.SparkConnect, attempt int) *corev1.Secret {
	w.T.Helper()
	var secrets corev1.SecretList
	kit.Wait(w.T, fmt.Sprintf("the Secret of attempt %d", attempt), func(ctx context.Context) error {
		if err := w.API.List(ctx, &secrets, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(sc.UID)}); err != nil {
			return err
		}

		switch {
		case attempt == 0:
			return want(len(secrets.Items), 0)
		case len(secrets.Items) != 1:
			return fmt.Errorf("%d Secrets", len(secrets.Items))
		}
		return want(secrets.Items[0].Labels[identity.AttemptLabel], fmt.Sprint(attempt))
	})

	if attempt == 0 {
		return nil
	}
	return &secrets.Items[0]
}

// TestSecretsOfAServer checks that the clients' token is in a Secret and in no other object that the operator creates.
// The Secret is deleted with its server.
func TestSecretsOfAServer(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.SparkConf = map[string]string{"spark.connect.authenticate.token": "Xyzzy-1"}
	})
	pod := w.readyServer(sc, 1)

	first := w.serverSecret(sc, 1)
	if ref := metav1.GetControllerOf(first); ref == nil || ref.UID != sc.UID || !strings.Contains(string(first.Data["spark.properties"]), "Xyzzy-1") {
		t.Errorf("the Secret is %+v", first)
	}

	objects := []client.Object{pod, w.serverService("x-server"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}}
	w.mustExist(objects[2])

	for _, object := range objects {
		if text, err := yaml.Marshal(object); err != nil || strings.Contains(string(text), "Xyzzy") {
			t.Errorf("%s has the token (%v):\n%s", object.GetName(), err, text)
		}
	}

	clock.advance(time.Second)
	w.patchServer("x", `{"spec":{"sparkConf":{"spark.connect.authenticate.token":"Xyzzy-2"}}}`)
	w.readyServer(sc, 2)

	if second := w.serverSecret(sc, 2); second.UID == first.UID || !strings.Contains(string(second.Data["spark.properties"]), "Xyzzy-2") {
		t.Errorf("the Secret of the edited server is %+v", second)
	}

	clock.advance(time.Second)
	w.patchServer("x", `{"spec":{"sparkConf":null}}`)
	w.readyServer(sc, 3)
	w.serverSecret(sc, 0)
}

// TestOperatorWithoutRightsOnSecretsDeletesNone checks that an operator that never runs spark-submit sends no request
// for Secrets, since it may lack the rights for them.
func TestOperatorWithoutRightsOnSecretsDeletesNone(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	made := &requests{}
	cfg := testConfig(w.Namespace)
	cfg.Submission.Mode = config.SubmissionNative
	w.runServers(cfg, clock.now, func(env *Environment) { env.Rest.Wrap(made.over) })
	sc := w.server("x")
	w.readyServer(sc, 1)
	w.patchServer("x", `{"spec":{"sparkConf":{"spark.x":"y"}}}`)
	w.readyServer(sc, 2)

	for request, n := range made.since(nil) {
		if strings.Contains(request, "secrets") {
			t.Errorf("%d times %s", n, request)
		}
	}
}
