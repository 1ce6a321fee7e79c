package certs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/fence"
)

const (
	// requestTimeout limits all requests of one check of the certificate (round).
	requestTimeout = 30 * time.Second
	// minRetry is the time until the first retry after an error. This time doubles with each further retry, up to the
	// time between two checks (interval).
	minRetry = 200 * time.Millisecond
)

// SelfSigned keeps a self-signed certificate in a Secret. It makes the API server trust the certificate in a
// ValidatingWebhookConfiguration and, if Mutating is set, in a MutatingWebhookConfiguration. The chart creates these
// objects. The operator only has the right to read and update them by name.
//
// A rotation never serves a certificate that the API server does not trust yet:
//
//  1. The next certificate is stored in the Secret, and the configurations trust it in addition to the current one.
//  2. After some time (settle), every API server has read the configurations, and the next certificate becomes current.
//  3. The previous certificate stays trusted until it expires, because other replicas serve it for a moment longer.
//
// Every replica rotates the certificate, whether it leads or not. Each update contains the resourceVersion that was
// read. If several replicas make the same update, only one succeeds.
type SelfSigned struct {
	Reader        client.Reader // without a cache: no Secret is listed or watched
	Writer        client.Writer
	Secret        types.NamespacedName
	Configuration string // name of the ValidatingWebhookConfiguration
	Mutating      string // name of the MutatingWebhookConfiguration, or "" if there is none
	// Names are the DNS names and IP addresses of the server.
	Names    []string
	Lifetime time.Duration
	// RenewBefore is the time before the end of a certificate at which its rotation begins; 0 means a third of
	// Lifetime.
	RenewBefore time.Duration
	Serving     *Serving
	Log         logr.Logger

	logged string // the last error
	// nextTrusted is the serial number of the next certificate if the configurations trust it. trustedAt is the time at
	// which this replica first observed that.
	nextTrusted string
	trustedAt   time.Time
}

// interval returns the time between two checks of the certificate.
func (s *SelfSigned) interval() time.Duration {
	return min(max(s.Lifetime/50, 200*time.Millisecond), 10*time.Second)
}

// settle returns the time after which every API server trusts a certificate that was added to the configurations.
func (s *SelfSigned) settle() time.Duration { return min(max(s.Lifetime/20, time.Second), time.Minute) }

// NeedLeaderElection returns false, because every replica serves the webhook.
func (*SelfSigned) NeedLeaderElection() bool { return false }

// Start keeps the certificate valid and trusted until ctx ends. It logs an error and retries. Until a retry succeeds,
// the server uses the last certificate.
func (s *SelfSigned) Start(ctx context.Context) error {
	retry := minRetry
	for {
		wait := s.interval()
		if err := s.round(ctx); err == nil {
			s.logged, retry = "", minRetry
		} else {
			if text := err.Error(); text != s.logged && ctx.Err() == nil && !apierrors.IsConflict(err) {
				s.logged = text
				s.Log.Error(err, "Could not update the webhook certificate; retrying")
			}

			wait = min(wait, retry)
			retry *= 2
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (s *SelfSigned) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(fence.Unfenced(ctx), requestTimeout)
	defer cancel()
	// The configurations are read before the Secret. Another replica may add a certificate to both between the two
	// reads. In that case our update of a configuration is a conflict, so it does not remove that certificate.
	configurations, missing := s.configurations(ctx)

	secret := &corev1.Secret{}
	if err := s.Reader.Get(ctx, s.Secret, secret); err != nil {
		return errors.Join(fmt.Errorf("read Secret %s: %w", s.Secret, err), missing)
	}

	now := time.Now()
	held := s.read(secret.Data, now)

	renewed, err := s.renew(&held, now)
	if err != nil {
		return err
	}

	if renewed {
		if err := s.store(ctx, secret, held); err != nil {
			return err
		}
	}

	s.serve(held.current)

	changed, err := s.trust(ctx, configurations, held.bundle())
	if err = errors.Join(missing, err); err != nil || held.next == nil {
		return err
	}

	if serial := held.next.SerialNumber.String(); changed || s.nextTrusted != serial {
		s.nextTrusted, s.trustedAt = serial, now
	}

	if now.Sub(s.trustedAt) < s.settle() {
		return nil
	}

	held = pairs{current: held.next, previous: held.current}
	if err := s.store(ctx, secret, held); err != nil {
		return err
	}

	s.serve(held.current)
	return nil
}

// renew makes sure that the given pairs contain a current certificate, and reports whether it changed them. If there is
// no current certificate, the next certificate becomes the current one. If there is no next certificate either, renew
// issues a new one. If the current certificate expires soon and there is no next certificate, renew issues the next
// one.
func (s *SelfSigned) renew(held *pairs, now time.Time) (changed bool, err error) {
	switch {
	case held.current == nil && held.next != nil:
		held.current, held.next = held.next, nil
		return true, nil
	case held.current == nil:
		held.current, err = s.issue(now)
		return err == nil, err
	case held.next == nil && held.current.NotAfter.Sub(now) < cmp.Or(s.RenewBefore, s.Lifetime/3):
		held.next, err = s.issue(now)
		return err == nil, err
	}
	return false, nil
}

func (s *SelfSigned) issue(now time.Time) (*pair, error) {
	chain, key, err := Issue(s.Names, now, s.Lifetime)
	if err != nil {
		return nil, fmt.Errorf("issue the webhook's certificate: %w", err)
	}
	return readPair(chain, key)
}

func (s *SelfSigned) store(ctx context.Context, secret *corev1.Secret, held pairs) error {
	held.write(secret)

	if err := s.Writer.Update(ctx, secret); err != nil {
		return fmt.Errorf("update Secret %s: %w", s.Secret, err)
	}
	return nil
}

func (s *SelfSigned) serve(current *pair) {
	if s.Serving.set(current.certificate) {
		s.Log.Info("Webhook certificate loaded", "notAfter", current.NotAfter)
	}
}

// configuration is a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration, with pointers to its CA bundles.
type configuration struct {
	client.Object
	kind    string
	bundles []*[]byte
}

// configurations reads the webhook configurations. It returns those that it could read even if it returns an error.
func (s *SelfSigned) configurations(ctx context.Context) (found []configuration, err error) {
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	if missing := s.Reader.Get(ctx, client.ObjectKey{Name: s.Configuration}, validating); missing != nil {
		err = fmt.Errorf("read ValidatingWebhookConfiguration %s: %w", s.Configuration, missing)
	} else {
		c := configuration{Object: validating, kind: "ValidatingWebhookConfiguration"}
		for i := range validating.Webhooks {
			c.bundles = append(c.bundles, &validating.Webhooks[i].ClientConfig.CABundle)
		}

		found = append(found, c)
	}

	if s.Mutating == "" {
		return found, err
	}

	if missing := s.Reader.Get(ctx, client.ObjectKey{Name: s.Mutating}, mutating); missing != nil {
		return found, errors.Join(err, fmt.Errorf("read MutatingWebhookConfiguration %s: %w", s.Mutating, missing))
	}

	c := configuration{Object: mutating, kind: "MutatingWebhookConfiguration"}
	for i := range mutating.Webhooks {
		c.bundles = append(c.bundles, &mutating.Webhooks[i].ClientConfig.CABundle)
	}
	return append(found, c), err
}

// trust writes a CA bundle into every webhook of the configurations. It reports whether it updated a configuration.
func (s *SelfSigned) trust(ctx context.Context, configurations []configuration, bundle []byte) (changed bool, err error) {
	for _, c := range configurations {
		stale := false
		for _, place := range c.bundles {
			if !bytes.Equal(*place, bundle) {
				*place, stale = bundle, true
			}
		}

		if !stale {
			continue
		}

		if failed := s.Writer.Update(ctx, c.Object); failed != nil {
			err = errors.Join(err, fmt.Errorf("update %s %s: %w", c.kind, c.GetName(), failed))
			continue
		}

		changed = true
	}
	return changed, err
}
