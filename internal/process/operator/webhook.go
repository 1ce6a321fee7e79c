package operator

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
	"github.com/sparkoperator/spark-operator/internal/webhook/quota"
)

// addWebhook creates the server of the admission webhook, if the configuration enables the webhook. In this case the
// replica is not ready before the webhook has a certificate.
func (op *Operator) addWebhook() error {
	cfg, log := op.config.Webhook, op.GetLogger().WithName("webhook")
	if op.config.Policy.JudgesPods() && cfg.Pods == (config.PodAdmission{}) {
		log.Info("Rules about pods are advisory for executors, because nothing judges pods at admission; set webhook.pods.enable of the chart (docs/policy.md)")
	}

	if cfg.BindAddress == config.Off {
		return nil
	}

	scope, err := op.newScope()
	if err != nil {
		return err
	}

	quotas, err := op.quotas(cfg.ResourceQuotaEnforcement)
	if err != nil {
		return err
	}

	var reviewers []*webhook.Reviewer
	for _, kind := range configured.Admission(op.NamespaceLabels()) {
		reviewers = append(reviewers, &webhook.Reviewer{Kind: kind, Settings: op.Settings, Serves: scope.Reviews, Labels: scope.Labels, Quotas: quotas, Clock: time.Now, Log: log})
	}

	var executors *webhook.Executors
	if cfg.Executors.Webhook {
		executors = &webhook.Executors{Log: log}
	}

	handler, err := webhook.Handler(reviewers, executors, op.podReviews(cfg.Pods, scope, log))
	if err != nil {
		return err
	}

	serving := &certs.Serving{}
	if op.webhook, err = webhook.NewServer(cfg.BindAddress, handler, serving, cfg.ShutdownDelay.Duration); err != nil {
		return err
	}
	return errors.Join(op.Add(op.certificates(cfg, serving)), op.AddReadyzCheck("webhook", serving.Ready))
}

// podReviews returns the reviews of pods, or nil if the API server sends none.
func (op *Operator) podReviews(cfg config.PodAdmission, scope *scope, log logr.Logger) *webhook.Pods {
	if !cfg.Webhook {
		return nil
	}

	reader := op.GetAPIReader()
	return &webhook.Pods{Settings: op.Settings, Serves: scope.Reviews, Labels: scope.Labels, Log: log, DefaultClass: func(ctx context.Context, name string) (bool, error) {
		var class schedulingv1.PriorityClass
		err := reader.Get(fence.Unfenced(ctx), client.ObjectKey{Name: name}, &class) // each replica answers reviews
		return class.GlobalDefault, client.IgnoreNotFound(err)
	}}
}

// serveWebhook starts the server of the webhook, and returns a function that waits until the server has ended. The
// manager cannot run this server, because it would stop the server as soon as the passes in flight are finished. The
// API server may still call the webhook at that time. When the server ends, for example because it fails, serveWebhook
// calls the function `stop`, so that the operator stops too.
func (op *Operator) serveWebhook(ctx context.Context, stop func()) (wait func() error) {
	if op.webhook == nil {
		return func() error { return nil }
	}

	done := make(chan error, 1)
	go func() {
		err := op.webhook.Serve(ctx)

		stop()
		done <- err
	}()
	return func() error { return <-done }
}

// quotas returns the function that reads the ResourceQuotas of a namespace from a cache, and adds this cache to the
// manager. The replica is then not ready before the cache is full. If the configuration does not compare custom
// resources with quotas, quotas returns nil and adds no cache.
func (op *Operator) quotas(cfg config.ResourceQuotaEnforcement) (func(context.Context, string) ([]corev1.ResourceQuota, error), error) {
	if !cfg.Enabled {
		return nil, nil
	}

	options := cacheOptions(op.config)
	options.Scheme, options.Mapper, options.HTTPClient, options.DefaultTransform = op.GetScheme(), op.GetRESTMapper(), op.GetHTTPClient(), nil
	options.NewInformer = op.Watches.NewInformer(toolscache.NewSharedIndexInformer)

	quotas, err := quota.NewCache(op.GetConfig(), options)
	if err != nil {
		return nil, err
	}

	kind := corev1.SchemeGroupVersion.WithKind("ResourceQuota").GroupKind()
	in := func(ctx context.Context, namespace string) ([]corev1.ResourceQuota, error) {
		if err := op.Watches.Refused(namespace, kind); err != nil {
			return nil, err
		}
		return quotas.In(ctx, namespace)
	}
	ready := func(req *http.Request) error {
		return errors.Join(quotas.Ready(req), op.Watches.RefusedInAll(op.watchedNamespaces(), kind))
	}
	return in, errors.Join(op.Add(quotas), op.AddReadyzCheck("quotas", ready))
}

// certificates returns the runnable that stores the webhook's certificate in the argument serving. If the configuration
// names a directory, the runnable reads the certificate from files there. Otherwise it creates a self-signed one.
func (op *Operator) certificates(cfg config.Webhook, serving *certs.Serving) manager.Runnable {
	log := op.GetLogger().WithName("webhook")
	if cfg.CertDir != "" {
		return &certs.Files{Dir: cfg.CertDir, Serving: serving, Log: log}
	}

	self := cfg.SelfSigned

	mutating := ""
	if cfg.Executors.Webhook {
		mutating = self.Configuration
	}
	return &certs.SelfSigned{
		Reader: op.GetAPIReader(), Writer: op.GetClient(), Secret: client.ObjectKey{Namespace: self.Namespace, Name: self.Secret}, Configuration: self.Configuration,
		Mutating: mutating,
		Names:    []string{self.Service + "." + self.Namespace + ".svc"}, Lifetime: self.Lifetime.Duration, Serving: serving, Log: log,
	}
}
