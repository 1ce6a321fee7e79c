package operator

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/webhook"
	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
)

// addWebhook adds the server of the admission webhook, if the configuration enables the webhook. Then the replica is
// not ready before the webhook has a certificate.
func (op *Operator) addWebhook() error {
	cfg := op.config.Webhook
	if cfg.BindAddress == config.Off {
		return nil
	}
	scope, err := op.newScope()
	if err != nil {
		return err
	}
	log := op.GetLogger().WithName("webhook")
	var reviewers []*webhook.Reviewer
	for _, kind := range kinds.Admission() {
		reviewers = append(reviewers, &webhook.Reviewer{Kind: kind, Settings: op.Settings, Serves: scope.Reviews, Clock: time.Now, Log: log})
	}
	handler, err := webhook.Handler(reviewers)
	if err != nil {
		return err
	}
	serving := &certs.Serving{}
	server, err := webhook.NewServer(cfg.BindAddress, handler, serving)
	if err != nil {
		return err
	}
	return errors.Join(op.Add(server), op.Add(op.certificates(cfg, serving)), op.AddReadyzCheck("webhook", serving.Ready))
}

// certificates returns the runnable that provides the webhook's certificate to serving: from files if the configuration
// gives a directory, and otherwise self-signed.
func (op *Operator) certificates(cfg config.Webhook, serving *certs.Serving) manager.Runnable {
	log := op.GetLogger().WithName("webhook")
	if cfg.CertDir != "" {
		return &certs.Files{Dir: cfg.CertDir, Serving: serving, Log: log}
	}
	self := cfg.SelfSigned
	return &certs.SelfSigned{
		Reader: op.GetAPIReader(), Writer: op.GetClient(), Secret: namespaced(self.Namespace, self.Secret), Configuration: self.Configuration,
		Names: []string{self.Service + "." + self.Namespace + ".svc"}, Lifetime: self.Lifetime.Duration, Serving: serving, Log: log,
	}
}
