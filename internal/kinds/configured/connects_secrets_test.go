package configured_test

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
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// serverSecret waits until a server has exactly one Secret, which is of the given attempt, and returns this Secret. If
// attempt is 0, it waits until the server has no Secret, and returns nil.
func serverSecret(w *world.World, sc *v1alpha1.SparkConnect, attempt int) *corev1.Secret {
	w.T.Helper()
	var secrets corev1.SecretList
	kit.Wait(w.T, fmt.Sprintf("the Secret of attempt %d", attempt), func(ctx context.Context) error {
		if err := w.API.List(ctx, &secrets, client.InNamespace(w.Namespace),
			client.MatchingLabels{identity.AppUIDLabel: string(sc.UID)}); err != nil {
			return err
		}

		switch {
		case attempt == 0:
			return world.Want(len(secrets.Items), 0)
		case len(secrets.Items) != 1:
			return fmt.Errorf("%d Secrets", len(secrets.Items))
		}
		return world.Want(secrets.Items[0].Labels[identity.AttemptLabel], fmt.Sprint(attempt))
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
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.SparkConf = map[string]string{"spark.connect.authenticate.token": "Xyzzy-1"}
	})
	pod := resources.ReadyServer(w, sc, 1)

	first := serverSecret(w, sc, 1)
	if ref := metav1.GetControllerOf(first); ref == nil || ref.UID != sc.UID ||
		!strings.Contains(string(first.Data["spark.properties"]), "Xyzzy-1") {
		t.Errorf("the Secret is %+v", first)
	}

	objects := []client.Object{pod, resources.ServerService(w, "x-server"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}}
	w.MustExist(objects[2])

	for _, object := range objects {
		if text, err := yaml.Marshal(object); err != nil || strings.Contains(string(text), "Xyzzy") {
			t.Errorf("%s has the token (%v):\n%s", object.GetName(), err, text)
		}
	}

	clock.Advance(time.Second)
	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.connect.authenticate.token":"Xyzzy-2"}}}`)
	resources.ReadyServer(w, sc, 2)

	if second := serverSecret(w, sc, 2); second.UID == first.UID ||
		!strings.Contains(string(second.Data["spark.properties"]), "Xyzzy-2") {
		t.Errorf("the Secret of the edited server is %+v", second)
	}

	clock.Advance(time.Second)
	resources.PatchServer(w, "x", `{"spec":{"sparkConf":null}}`)
	resources.ReadyServer(w, sc, 3)
	serverSecret(w, sc, 0)
}

// TestOperatorWithoutRightsOnSecretsDeletesNone checks that an operator that never runs spark-submit sends no request
// for Secrets, since it may lack the rights for them.
func TestOperatorWithoutRightsOnSecretsDeletesNone(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	made := &world.Requests{}
	cfg := world.Config(w.Namespace)
	cfg.Submission.Mode = config.SubmissionNative
	resources.RunServers(w, cfg, clock.Now, func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	sc := resources.Server(w, "x")
	resources.ReadyServer(w, sc, 1)
	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.x":"y"}}}`)
	resources.ReadyServer(w, sc, 2)

	for request, n := range made.Since(nil) {
		if strings.Contains(request, "secrets") {
			t.Errorf("%d times %s", n, request)
		}
	}
}
