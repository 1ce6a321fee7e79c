package webhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestQuotaEnforcement checks that the webhook refuses an application whose pods together need more than a quota of the
// namespace allows, until the quota is raised. An equal application that was created before the webhook was registered
// gets its driver: passes do not compare applications with quotas, and the driver alone fits into the quota.
func TestQuotaEnforcement(t *testing.T) {
	t.Parallel()
	kit.NeedsLoopback(t)
	kit.NeedsControllers(t, world.QuotaFigures)
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Webhook = config.Webhook{BindAddress: kit.FreeAddress(t), CertDir: t.TempDir(),
		ResourceQuotaEnforcement: config.ResourceQuotaEnforcement{Enabled: true}}
	chain := world.WriteCertificate(t, cfg.Webhook.CertDir)
	w.RunBoth(cfg)
	world.Review(t, cfg.Webhook.BindAddress, chain)

	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "compute"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1500m")}}}
	w.Create(quota)
	kit.Wait(t, "the status of the quota", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil || len(quota.Status.Hard) == 0 {
			return errors.Join(errors.New("the status is empty"), err)
		}
		return nil
	})

	stored := w.Application("pi", scene.WithDriver) // without a webhook
	w.DriverOf(stored, 1)
	w.ReviewBy("https://"+cfg.Webhook.BindAddress, chain, w.Namespace)

	again := func(ctx context.Context) error {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-2"},
			Spec: stored.Spec}
		return w.API.Create(ctx, app, client.DryRunAll)
	}
	kit.Wait(t, "the webhook's refusal", func(ctx context.Context) error {
		const want = `and the ResourceQuota "compute" allows 1500m in all`
		if err := again(ctx); err == nil || !strings.Contains(err.Error(), want) {
			return errors.Join(errors.New("want a refusal because of the quota"), err)
		}
		return nil
	})

	before := quota.DeepCopy()

	quota.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse("100")
	if err := w.API.Patch(t.Context(), quota, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the webhook to receive the raised quota", again)
}
