package certs_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sparkoperator/spark-operator/internal/webhook/certs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	kit.MainShared(m)
}

// rig is a webhook for the ConfigMaps of a namespace, with the objects that contain its certificate. The webhook
// rejects every ConfigMap. A call has therefore failed if the API server admits the ConfigMap or reports another error.
type rig struct {
	*scene.World
	address string
	// limited has the rights that the chart grants, and no others.
	limited client.Client

	mu     sync.Mutex
	served map[string]int // handshakes by serial number
}

func newRig(t *testing.T) *rig {
	t.Helper()
	kit.NeedsLoopback(t)
	r := &rig{World: scene.New(t), served: map[string]int{}}
	r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "certs"}})
	r.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "certs"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"certs"}, Verbs: []string{"get", "update"}},
	}})
	subject := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: r.Namespace}
	r.Create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "certs"}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "certs"}})
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}, ResourceNames: []string{r.Namespace}, Verbs: []string{"get", "update"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.Namespace}}
	r.forever(role)
	r.forever(binding)

	rc := kit.Rest(t)
	rc.QPS = -1
	rc.Impersonate = rest.ImpersonationConfig{UserName: r.Namespace}

	var err error
	if r.limited, err = client.New(rc, client.Options{Scheme: r.API.Scheme()}); err != nil {
		t.Fatal(err)
	}
	return r
}

// forever creates an object without a namespace, and deletes it at the end of the test.
func (r *rig) forever(object client.Object) {
	r.T.Helper()
	r.Create(object)
	r.T.Cleanup(func() {
		if err := client.IgnoreNotFound(r.API.Delete(context.Background(), object)); err != nil {
			r.T.Error(err)
		}
	})
}

// replica starts one replica: its certificate rotation, and a server that the API server calls over a new connection
// each time. Both run until the test ends.
func (r *rig) replica(lifetime, renewBefore time.Duration) *certs.Serving {
	r.T.Helper()

	serving := &certs.Serving{}

	listener, err := (&net.ListenConfig{}).Listen(r.T.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		r.T.Fatal(err)
	}

	r.address = listener.Addr().String()
	secure := tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := serving.Certificate(hello)
		if err == nil {
			r.mu.Lock()
			r.served[c.Leaf.SerialNumber.String()]++
			r.mu.Unlock()
		}
		return c, err
	}})
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Denied("by the webhook")
	})}}

	server.SetKeepAlivesEnabled(false)
	go func() { _ = server.Serve(secure) }()

	r.T.Cleanup(func() { _ = server.Close() })
	r.run(&certs.SelfSigned{
		Reader: r.limited, Writer: r.limited, Secret: types.NamespacedName{Namespace: r.Namespace, Name: "certs"}, Configuration: r.Namespace, Mutating: r.Namespace,
		Names: []string{"127.0.0.1", "hook.ns.svc"}, Lifetime: lifetime, RenewBefore: renewBefore, Serving: serving, Log: r.Logger(),
	})
	return serving
}

func (r *rig) run(s *certs.SelfSigned) {
	ctx, cancel := context.WithCancel(context.Background())

	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()

	r.T.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			r.T.Error(err)
		}
	})
}

// configure creates the webhook's configuration, without a CA bundle.
func (r *rig) configure() {
	r.T.Helper()
	r.forever(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:     new(admissionregistrationv1.Fail),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new("https://" + r.address + "/")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: r.Namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"call": "webhook"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	})
	r.forever(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.Namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:     new(admissionregistrationv1.Fail),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new("https://" + r.address + "/")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: r.Namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"call": "mutating"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	})
}

// call makes the API server call the validating and the mutating webhook. It returns an error unless both webhooks
// answered.
func (r *rig) call(ctx context.Context) error {
	for _, which := range []string{"webhook", "mutating"} {
		err := r.API.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, GenerateName: "c-", Labels: map[string]string{"call": which}}}, client.DryRunAll)
		if err == nil {
			return fmt.Errorf("the webhook of %s is not called", which)
		}

		if !strings.Contains(err.Error(), "denied the request: by the webhook") {
			return err
		}
	}
	return nil
}

// serials returns the number of different certificates that the servers have presented.
func (r *rig) serials() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.served)
}

// TestRotationUnderLoad checks that no call of the webhook fails while two replicas rotate the certificate in their
// common Secret. The API server calls the webhook all the time, and the certificate rotates several times. Each
// certificate is valid for some minutes, but its rotation begins at once. The replicas have only the rights that the
// chart grants.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const lifetime = 4 * time.Minute
	r.replica(lifetime, lifetime-time.Second)
	r.replica(lifetime, lifetime-time.Second)
	r.configure()
	kit.Wait(t, "the first call", r.call)

	ctx, cancel := context.WithCancel(t.Context())
	var calls, failed atomic.Int64

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := r.call(ctx); err != nil && ctx.Err() == nil {
					failed.Add(1)
					t.Errorf("call %d failed: %v", calls.Load(), err)
				}

				calls.Add(1)
			}
		})
	}

	for n := 2; n <= 3; n++ {
		kit.Wait(t, fmt.Sprintf("certificate %d", n), func(context.Context) error {
			if got := r.serials(); got < n {
				return fmt.Errorf("%d certificates were served", got)
			}
			return nil
		})
	}

	cancel()
	group.Wait()

	if calls.Load() < 100 || failed.Load() > 0 {
		t.Errorf("%d of %d calls failed", failed.Load(), calls.Load())
	}

	t.Logf("%d calls, %d certificates", calls.Load(), r.serials())
}

// TestForeignContents checks that foreign content of the Secret or of the CA bundle is replaced, and that the API
// server can then call the webhook again. If the Secret is deleted, an error is logged and the server continues to
// serve the certificate.
func TestForeignContents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	serving := r.replica(time.Minute, 0)
	r.configure()
	kit.Wait(t, "the first call", r.call)

	expired, key, err := certs.Issue([]string{"127.0.0.1", "hook.ns.svc"}, time.Now(), -time.Second)
	if err != nil {
		t.Fatal(err)
	}

	foreign, foreignKey, err := certs.Issue([]string{"elsewhere.example.com"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}

	for name, data := range map[string]map[string][]byte{
		"an expired certificate": {"tls.crt": expired, "tls.key": key},
		"a foreign certificate":  {"tls.crt": foreign, "tls.key": foreignKey},
		"another key":            {"tls.crt": foreign, "tls.key": key},
		"garbage":                {"tls.crt": []byte("x"), "next.crt": []byte("y"), "previous.crt": []byte("z")},
		"nothing":                nil,
	} {
		before := r.serial(serving)
		secret := &corev1.Secret{}
		r.read("certs", secret)
		secret.Data = data
		r.update(secret)
		kit.Wait(t, name+" to be replaced", func(ctx context.Context) error {
			if r.serial(serving) == before {
				return errors.New("the old certificate is served")
			}
			return r.call(ctx)
		})
	}

	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := r.API.Get(t.Context(), client.ObjectKey{Name: r.Namespace}, configuration); err != nil {
		t.Fatal(err)
	}

	configuration.Webhooks[0].ClientConfig.CABundle = foreign
	r.update(configuration)
	kit.Wait(t, "the bundle to be replaced", func(ctx context.Context) error {
		if err := r.API.Get(ctx, client.ObjectKey{Name: r.Namespace}, configuration); err != nil {
			return err
		}

		if string(configuration.Webhooks[0].ClientConfig.CABundle) == string(foreign) {
			return errors.New("it is foreign")
		}
		return r.call(ctx)
	})

	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.API.Get(t.Context(), client.ObjectKey{Name: r.Namespace}, mutating); err != nil {
		t.Fatal(err)
	}

	mutating.Webhooks[0].ClientConfig.CABundle = foreign
	r.update(mutating)
	kit.Wait(t, "the bundle of the mutating webhook to be replaced", func(ctx context.Context) error {
		if err := r.API.Get(ctx, client.ObjectKey{Name: r.Namespace}, mutating); err != nil {
			return err
		}

		if string(mutating.Webhooks[0].ClientConfig.CABundle) == string(foreign) {
			return errors.New("it is foreign")
		}
		return r.call(ctx)
	})
	r.Remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "certs"}})
	kit.Wait(t, "the log", func(ctx context.Context) error {
		if !strings.Contains(r.Log.String(), "Could not update the webhook certificate") {
			return errors.New("the missing Secret is not reported")
		}
		return r.call(ctx)
	})
}

// TestOtherSecretsAndConfigurationsAreForbidden checks the rights that the chart grants. With them, the operator cannot
// read other Secrets and webhook configurations, and cannot list any.
func TestOtherSecretsAndConfigurationsAreForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "other"}})

	for name, err := range map[string]error{
		"another Secret":        r.limited.Get(t.Context(), client.ObjectKey{Namespace: r.Namespace, Name: "other"}, &corev1.Secret{}),
		"all Secrets":           r.limited.List(t.Context(), &corev1.SecretList{}, client.InNamespace(r.Namespace)),
		"another configuration": r.limited.Get(t.Context(), client.ObjectKey{Name: "other"}, &admissionregistrationv1.ValidatingWebhookConfiguration{}),
		"all configurations":    r.limited.List(t.Context(), &admissionregistrationv1.ValidatingWebhookConfigurationList{}),
		"another mutating one":  r.limited.Get(t.Context(), client.ObjectKey{Name: "other"}, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		"all mutating ones":     r.limited.List(t.Context(), &admissionregistrationv1.MutatingWebhookConfigurationList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (r *rig) serial(serving *certs.Serving) string {
	r.T.Helper()

	c, err := serving.Certificate(nil)
	if err != nil {
		r.T.Fatal(err)
	}
	return c.Leaf.SerialNumber.String()
}

func (r *rig) read(name string, into client.Object) {
	r.T.Helper()

	if err := r.API.Get(r.T.Context(), client.ObjectKey{Namespace: r.Namespace, Name: name}, into); err != nil {
		r.T.Fatal(err)
	}
}

func (r *rig) update(object client.Object) {
	r.T.Helper()

	if err := r.API.Update(r.T.Context(), object); err != nil {
		r.T.Fatal(err)
	}
}
