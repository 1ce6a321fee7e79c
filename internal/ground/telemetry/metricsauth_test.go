package telemetry_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestMetricsAuthentication checks the metrics of an operator with authentication switched on. They are served over
// TLS, and only to clients whose token has the right to read them. The replica does not lead.
func TestMetricsAuthentication(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := w.StandbyConfig()
	cfg.Metrics.BindAddress, cfg.Metrics.Authentication = kit.FreeAddress(t), true
	resources.RunApache(w, cfg, time.Now)

	token := func(name string) string {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		w.Create(account)

		request := &authenticationv1.TokenRequest{}
		if err := w.API.SubResource("token").Create(t.Context(), account, request); err != nil {
			t.Fatal(err)
		}
		return request.Status.Token
	}
	admitted, stranger := token("prometheus"), token("stranger")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}

	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.Namespace},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.Namespace, Name: "prometheus"}},
	}
	for _, object := range []client.Object{role, binding} {
		w.Create(object)
		t.Cleanup(func() { _ = w.API.Delete(context.Background(), object) })
	}

	ask := func(bearer string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://"+cfg.Metrics.BindAddress+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}

		if bearer != "" {
			req.Header.Set("Authorization", "Bearer "+bearer)
		}

		scraper := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		defer scraper.CloseIdleConnections()

		answer, err := scraper.Do(req)
		if err != nil {
			return 0
		}
		defer answer.Body.Close()

		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	kit.Wait(t, "the metrics", func(context.Context) error { return world.Want(ask(admitted), http.StatusOK) })

	for name, test := range map[string]struct {
		token string
		want  int
	}{
		"again, from the cached review": {admitted, http.StatusOK}, "no token": {"", http.StatusUnauthorized},
		"no such token":             {"x", http.StatusUnauthorized},
		"a token without the right": {stranger, http.StatusForbidden},
		"again, without the right":  {stranger, http.StatusForbidden},
	} {
		if got := ask(test.token); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
