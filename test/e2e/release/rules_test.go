package release

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/test/kit"
)

const (
	sparkVersion = "4.1.4"
	sparkImage   = "docker.io/apache/spark:" + sparkVersion
	driver       = "spark-operator-spark" // the service account of drivers
)

// installRules installs the release for one namespace, with a set of rules of the platform.
func (r *release) installRules(namespace string, rules map[string]any) {
	r.t.Helper()

	values, err := kyaml.Marshal(map[string]any{
		"config": map[string]any{"policy": map[string]any{"rules": []any{rules}}},
		"spark":  map[string]any{"jobNamespaces": []string{namespace}},
	})
	if err != nil {
		r.t.Fatal(err)
	}

	r.install(currentChart, string(values))
}

// servePods serves the reviews of pods with the configuration of the release, and directs the API server to them. The
// Service of the release has no pod here. The other webhooks of the release are removed.
func (r *release) servePods(namespace string) {
	r.t.Helper()
	kit.NeedsLoopback(r.t)

	cfg, err := config.Parse([]byte(r.configurationFile()))
	if err != nil {
		r.t.Fatal(err)
	}

	handler, err := webhook.Handler(nil, nil, &webhook.Pods{
		Settings: func() config.Configuration { return cfg },
		Serves:   func(_ context.Context, of string) (bool, error) { return of == namespace, nil },
		Labels: func(_ context.Context, of string) (map[string]string, error) {
			return map[string]string{corev1.LabelMetadataName: of}, nil
		},
		DefaultClass: func(context.Context, string) (bool, error) { return false, nil },
		Log:          logr.Discard(),
	})
	if err != nil {
		r.t.Fatal(err)
	}

	server := httptest.NewTLSServer(handler)
	r.t.Cleanup(server.Close)
	r.changeWebhooks(func(hook *admissionregistrationv1.ValidatingWebhook) bool {
		path := hook.ClientConfig.Service.Path
		hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{
			URL:      new(server.URL + webhook.PodPath),
			CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}
		return *path == webhook.PodPath
	})
}

// changeWebhooks changes each webhook of the release, and removes those for which the function returns false.
func (r *release) changeWebhooks(change func(*admissionregistrationv1.ValidatingWebhook) (keep bool)) {
	r.t.Helper()

	configuration, err := r.configuration(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}

	var kept []admissionregistrationv1.ValidatingWebhook
	for _, hook := range configuration.Webhooks {
		if change(&hook) {
			kept = append(kept, hook)
		}
	}

	configuration.Webhooks = kept
	if err := r.api.Update(r.t.Context(), configuration); err != nil {
		r.t.Fatal(err)
	}
}

// executorPod returns a pod of an executor that the rules of the tests allow, except that it may run as root.
func executorPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{"spark-role": "executor"}},
		Spec: corev1.PodSpec{ServiceAccountName: driver,
			Containers: []corev1.Container{{Name: "a", Image: sparkImage}}},
	}
}

// waitRules waits until the policies of the release judge pods, and until the webhook does if its words are given.
func (r *release) waitRules(namespace, words string) {
	r.t.Helper()
	kit.Wait(r.t, "the rules", func(ctx context.Context) error {
		pod := executorPod(namespace, "try")
		if err := r.api.Create(ctx, pod.DeepCopy(), client.DryRunAll); words != "" &&
			(err == nil || !strings.Contains(err.Error(), words)) {
			return errors.Join(errors.New("the webhook does not judge the pod"), err)
		}

		pod.Spec.HostPID = true
		if err := r.api.Create(ctx, pod, client.DryRunAll); err == nil ||
			!strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return errors.Join(errors.New("the policies do not judge the pod"), err)
		}
		return nil
	})
}

// BenchmarkPodCreations creates executors at a rate of 50 in a second, without rules, with the policies of the chart,
// and with policies and the webhook, and measures how long the API server takes:
//
//	go test ./release -run '^$' -bench PodCreations -benchtime 1000x
func BenchmarkPodCreations(b *testing.B) {
	for _, judged := range []string{"none", "policies", "policies and webhook"} {
		b.Run(judged, func(b *testing.B) {
			r := newRelease(b)
			namespace := kit.Namespace(b)

			rules := map[string]any{
				"name": "tenants", "podSecurity": "baseline", "images": map[string]any{"allowed": []string{sparkImage}},
				"serviceAccounts": map[string]any{"allowed": []string{driver}},
				"tolerations":     map[string]any{"allowed": []string{}}, "limits": map[string]any{"cores": 4},
			}
			if judged == "none" {
				rules = map[string]any{"name": "tenants", "limits": map[string]any{"executors": 4}}
			}

			r.installRules(namespace, rules)

			switch judged {
			case "policies":
				r.changeWebhooks(func(*admissionregistrationv1.ValidatingWebhook) bool { return false })
				r.waitRules(namespace, "")
			case "policies and webhook":
				r.servePods(namespace)
				kit.Wait(b, "the webhook", func(ctx context.Context) error {
					pod := executorPod(namespace, "try")

					pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}
					if err := r.api.Create(ctx, pod, client.DryRunAll); err == nil {
						return errors.New("it does not judge the pod")
					}
					return nil
				})
				r.waitRules(namespace, "")
			}

			r.createPods(b, namespace, "warm", 50)
			b.ResetTimer()

			took := r.createPods(b, namespace, "pod", b.N)
			for unit, i := range map[string]int{"p50": len(took) / 2, "p99": len(took) * 99 / 100,
				"max": len(took) - 1} {
				b.ReportMetric(float64(took[i].Microseconds())/1000, unit+"-ms")
			}
		})
	}
}

// createPods creates n pods at a constant rate, and returns the sorted durations of the requests.
func (r *release) createPods(b *testing.B, namespace, name string, n int) []time.Duration {
	took := make([]time.Duration, n)
	tick := time.NewTicker(time.Second / 50)
	defer tick.Stop()

	var group sync.WaitGroup
	for i := range n {
		<-tick.C
		group.Go(func() {
			begin := time.Now()

			if err := r.api.Create(b.Context(), executorPod(namespace, fmt.Sprintf("%s-%d", name, i))); err != nil {
				b.Error(err)
			}

			took[i] = time.Since(begin)
		})
	}

	group.Wait()
	slices.Sort(took)
	return took
}
