package world

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// Properties of the operator that tests change while the operator runs.
const (
	PropertyNamespaces = "spark.kubernetes.operator.watchedNamespaces"
	PropertyTrim       = "spark.kubernetes.operator.reconciler.trimStateTransitionHistoryEnabled"
)

// DynamicConfigMap returns a ConfigMap of dynamic settings that the default selector selects.
func (w *World) DynamicConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "spark-kubernetes-operator", "app.kubernetes.io/component": "operator-dynamic-config-overrides",
		}},
		Data: data,
	}
}

// RunBoth starts an operator that serves both API groups, as the binary does.
func (w *World) RunBoth(cfg config.Configuration, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()

	env := w.Environment()
	for _, c := range change {
		c(&env)
	}

	op, err := operator.NewOperator(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Run(op)
}

// Definition returns the definition of a kind.
func Definition(kind schema.GroupVersionKind) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "widgets." + kind.Group},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	return crd
}

// ListOf returns an empty list of objects of a kind.
func ListOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// Relabel sets a label of the test's namespace. An empty value removes the label.
func (w *World) Relabel(key, value string) {
	w.T.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}

	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if value == "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)
	}

	if err := w.API.Patch(w.T.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// Untouched fails the test unless the application is unchanged and its namespace has the given number of pods. If this
// number is 0, the application may have no Events either.
func (w *World) Untouched(before *v1beta2.SparkApplication, pods int) {
	w.T.Helper()

	now := w.Get(before.Name)
	if diff := cmp.Diff(before, now); diff != "" {
		w.T.Errorf("%s was written (-before +now):\n%s", before.Name, diff)
	}

	var list corev1.PodList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil || len(list.Items) != pods {
		w.T.Errorf("%d pods in its namespace, want %d; %v", len(list.Items), pods, err)
	}

	if pods == 0 && len(w.EventsOf(before)) > 0 {
		w.T.Errorf("events about it: %v", w.EventsOf(before))
	}
}

// ApacheOperator returns an operator that serves only SparkApplications of spark.apache.org. The operator is not
// started.
func (w *World) ApacheOperator(cfg config.Configuration) *operator.Operator {
	w.T.Helper()

	op, err := operator.NewEmpty(w.T.Context(), cfg, w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	if err := operator.Add(w.T.Context(), op, configured.For(kinds.ApacheApplication).Build(op.Settings, nil), time.Now); err != nil {
		w.T.Fatal(err)
	}
	return op
}

// OperatorReady waits until /readyz of an operator passes.
func (w *World) OperatorReady(address string) {
	w.T.Helper()
	kit.Wait(w.T, "the operator to be ready", func(ctx context.Context) error {
		status, _, err := Fetch(ctx, "http://"+address+"/readyz")
		if err != nil {
			return err
		}
		return Want(status, http.StatusOK)
	})
}

// WaitLog waits until the operator has logged a text.
func (w *World) WaitLog(text string) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("%q in the log", text), func(context.Context) error {
		if strings.Contains(w.Log.String(), text) {
			return nil
		}
		return fmt.Errorf("the log does not contain it")
	})
}

// Grant creates a role with the given rules in the test's namespace, and binds the user to it.
func (w *World) Grant(name, user string, rules ...rbacv1.PolicyRule) {
	w.T.Helper()
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Rules: rules})
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
}

// Fetch returns the status and the body that a URL answers with.
func Fetch(ctx context.Context, url string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
