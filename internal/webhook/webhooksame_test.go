package webhook_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestSameObjectsWithTheWebhook checks that the webhook changes nothing: an application that it has reviewed, and the
// same application without a webhook, have equal driver pods, ConfigMaps and Services.
func TestSameObjectsWithTheWebhook(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)

	var objects []map[string]any
	for _, reviewed := range []bool{false, true} {
		w := world.New(t)

		cfg := world.Config(w.Namespace)
		if reviewed {
			cfg.Webhook = config.Webhook{BindAddress: kit.FreeAddress(t), CertDir: t.TempDir()}
			chain := world.WriteCertificate(t, cfg.Webhook.CertDir)
			w.RunBoth(cfg)
			world.Review(t, cfg.Webhook.BindAddress, chain)
			w.ReviewBy("https://"+cfg.Webhook.BindAddress, chain, w.Namespace)
			kit.Wait(t, "the webhook to be called", func(ctx context.Context) error {
				app := refusedByWebhook(w.Namespace)
				if err := w.API.Create(ctx, app, client.DryRunAll); err == nil ||
					!strings.Contains(err.Error(), "denied the request") {
					return errors.Join(errors.New("the webhook was not called"), err)
				}
				return nil
			})
		} else {
			w.RunBoth(cfg)
		}

		app := w.Application("pi", scene.WithDriver, world.WithVolume)
		w.DriverOf(app, 1)
		kit.Wait(t, "the submission id", func(context.Context) error {
			if w.Get("pi").Status.SubmissionID == "" {
				return errors.New("there is none")
			}
			return nil
		})

		objects = append(objects, madeFor(w, w.Get("pi")))
	}

	for kind, n := range map[string]int{"Pod": 1, "ConfigMap": 1, "Service": 2} {
		if got := countKeys(objects[0], kind+" "); got < n {
			t.Errorf("%d objects of the kind %s, want at least %d: %v", got, kind, n, objects[0])
		}
	}

	if diff := cmp.Diff(objects[0], objects[1]); diff != "" {
		t.Errorf("(-without +with the webhook):\n%s", diff)
	}
}

func countKeys(objects map[string]any, prefix string) (n int) {
	for name := range objects {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// submitTime, tokenMount and content match the texts that differ between the objects of two equal applications.
var (
	submitTime = regexp.MustCompile(`(spark\.app\.submitTime=)\d+|#\w{3} \w{3} \d{2} [\d:]{8} UTC \d{4}`)
	tokenMount = regexp.MustCompile(`kube-api-access-\w+`)
	content    = regexp.MustCompile(`("sparkoperator.dev/content":")\w+`) // a digest of an object with these texts
)

// madeFor returns the objects of an application as the API server has stored them, by kind and name. Placeholders
// replace the texts that differ between two equal applications.
func madeFor(w *world.World, app *v1beta2.SparkApplication) map[string]any {
	w.T.Helper()

	id := app.Status.SubmissionID
	digest := sha256.Sum256([]byte(id))
	words := strings.NewReplacer(w.Namespace, "NAMESPACE", string(app.UID), "UID", id, "SUBMISSION",
		strings.ReplaceAll(id, "-", ""), "APPLICATION", hex.EncodeToString(digest[:4]), "DIGEST")

	out := map[string]any{}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}} {
		err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace),
			client.MatchingLabels{identity.AppUIDLabel: string(app.UID)})
		if err != nil {
			w.T.Fatal(err)
		}

		tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
		if err != nil {
			w.T.Fatal(err)
		}

		for _, item := range tree["items"].([]any) {
			object := item.(map[string]any)

			meta, spec := object["metadata"].(map[string]any), object["spec"]
			for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
				delete(meta, key)
			}

			if service, ok := spec.(map[string]any); ok {
				delete(service, "clusterIP")
				delete(service, "clusterIPs")
			}

			delete(object, "status")

			text, err := json.Marshal(object)
			if err != nil {
				w.T.Fatal(err)
			}

			plain := content.ReplaceAllString(submitTime.ReplaceAllString(words.Replace(string(text)), "${1}TIME"),
				"${1}CONTENT")
			plain = tokenMount.ReplaceAllString(plain, "TOKEN")

			var read any
			if err := json.Unmarshal([]byte(plain), &read); err != nil {
				w.T.Fatal(err)
			}

			kind := strings.TrimSuffix(fmt.Sprintf("%T", list)[len("*v1."):], "List")
			out[kind+" "+words.Replace(fmt.Sprint(meta["name"]))] = read
		}
	}
	return out
}

// refusedByWebhook returns an application that the definition accepts and the webhook refuses: its sparkConf names
// another namespace.
func refusedByWebhook(namespace string) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "elsewhere"}}
	app.Spec = v1beta2.SparkApplicationSpec{
		Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", MainClass: new("a.Main"),
		MainApplicationFile: "local:///a.jar",
		Image:               new("spark"), SparkConf: map[string]string{"spark.kubernetes.namespace": "elsewhere"},
	}
	return app
}
