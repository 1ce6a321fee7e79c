package operator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/config/peer"
	"github.com/sparkoperator/spark-operator/internal/settings/live"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

const (
	propertyNamespaces = "spark.kubernetes.operator.watchedNamespaces"
	propertyTrim       = "spark.kubernetes.operator.reconciler.trimStateTransitionHistoryEnabled"
)

// dynamicConfigMap returns a ConfigMap of dynamic settings that the default selector selects.
func (w *world) dynamicConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "spark-kubernetes-operator", "app.kubernetes.io/component": "operator-dynamic-config-overrides",
		}},
		Data: data,
	}
}

// waitServed waits until an operator serves exactly the given namespaces.
func (w *world) waitServed(op *Operator, names ...string) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("%v to be served", names), func(context.Context) error {
		if served := op.Settings().Namespaces.Names; !slices.Equal(served, names) {
			return fmt.Errorf("served are %v; the log is\n%s", served, w.Log)
		}
		return nil
	})
}

// TestNamespacesChangeLive checks that a ConfigMap adds and removes served namespaces. The operator serves the objects
// in an added namespace, and leaves those in a removed namespace as they are.
func TestNamespacesChangeLive(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	cfg := testConfig(a.Namespace)
	cfg.DynamicConfig.Enabled, cfg.DynamicConfig.Namespace = true, a.Namespace
	waiting := b.Get(b.Application("waiting", scene.WithDriver).Name)
	first := a.Application("first", scene.WithDriver)

	op, err := NewOperator(t.Context(), cfg, a.environment())
	if err != nil {
		t.Fatal(err)
	}

	a.run(op)
	a.driverOf(first, 1)
	b.untouched(waiting, 0)

	dynamic := a.dynamicConfigMap("dynamic", map[string]string{propertyNamespaces: a.Namespace + "," + b.Namespace, "spark.nonsense": "1"})
	a.Create(dynamic)
	b.driverOf(waiting, 1)

	for _, want := range []string{"Served namespaces changed", a.Namespace + "," + b.Namespace, "spark.nonsense"} {
		if !strings.Contains(a.Log.String(), want) {
			t.Errorf("the log does not contain %q:\n%s", want, a.Log)
		}
	}

	// The objects of a removed namespace stay as they are.
	dynamic.Data = map[string]string{propertyNamespaces: b.Namespace, propertyTrim: "false"}
	if err := a.API.Update(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	a.waitServed(op, b.Namespace)

	if *op.Settings().Apache.TrimHistory {
		t.Error("the other setting of the same ConfigMap was not applied")
	}

	late := a.Get(a.Application("late", scene.WithDriver).Name)
	b.driverOf(b.Application("also", scene.WithDriver), 1)
	a.untouched(late, 1)

	// An invalid list changes nothing.
	dynamic.Data = map[string]string{propertyNamespaces: a.Namespace + ",No_Name"}
	if err := a.API.Update(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the rejection to be reported", func(context.Context) error {
		if !strings.Contains(a.Log.String(), "No_Name") {
			return fmt.Errorf("the log is\n%s", a.Log)
		}
		return nil
	})
	a.waitServed(op, b.Namespace)

	// Without the ConfigMap the initial settings apply.
	if err := a.API.Delete(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	a.waitServed(op, a.Namespace)
	a.driverOf(late, 1)

	if !*op.Settings().Apache.TrimHistory {
		t.Error("the other setting does not have its initial value again")
	}
}

// TestSettingsFromAFile checks that the operator reads a file of settings before the first pass and then periodically,
// and that the file may be missing.
func TestSettingsFromAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "dynamic.properties")
	write := func(text string) {
		t.Helper()

		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := testConfig("there-is-none")
	cfg.DynamicConfig = config.DynamicConfig{Enabled: true, Source: config.SourceFile, File: file, Selector: "a=b", ReloadInterval: metav1.Duration{Duration: 20 * time.Millisecond}}

	write(propertyNamespaces + " = " + w.Namespace + "\n")

	op, err := newOperator(t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	if served := op.Settings().Namespaces.Names; !slices.Equal(served, []string{w.Namespace}) {
		t.Fatalf("before the start %v are served", served)
	}

	w.run(op)
	write(propertyNamespaces + " = one, two\n")
	w.waitServed(op, "one", "two")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	w.waitServed(op, "there-is-none")
}

// TestSettingsOfSeveralConfigMaps checks that, if several ConfigMaps have the same setting, the ConfigMap whose name is
// last in alphabetical order decides. ConfigMaps that lack the labels or are in another namespace have no effect.
func TestSettingsOfSeveralConfigMaps(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	w.Create(w.dynamicConfigMap("b", map[string]string{propertyNamespaces: "later"}))
	w.Create(w.dynamicConfigMap("a", map[string]string{propertyNamespaces: "earlier", propertyTrim: "false"}))
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c"}, Data: map[string]string{propertyNamespaces: "unlabelled"}})
	other.Create(other.dynamicConfigMap("d", map[string]string{propertyNamespaces: "elsewhere"}))

	cfg := testConfig("first")
	cfg.DynamicConfig.Enabled, cfg.LeaderElection.Namespace = true, w.Namespace

	op, err := newOperator(t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	if settings := op.Settings(); !slices.Equal(settings.Namespaces.Names, []string{"later"}) || *settings.Apache.TrimHistory {
		t.Errorf("served are %v, trimmed %v", settings.Namespaces.Names, *settings.Apache.TrimHistory)
	}
}

// TestSettingsOfNoNamespace checks that an operator that runs outside a pod does not start if its configuration does
// not give the namespace of the ConfigMaps.
func TestSettingsOfNoNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)

	cfg.DynamicConfig.Enabled = true
	if _, err := newOperator(t.Context(), cfg, w.environment()); err == nil || !strings.Contains(err.Error(), "dynamicConfig.namespace") {
		t.Errorf("the error outside a pod and without a namespace is %v", err)
	}
}

// TestScopeThatChanges checks which namespaces are served while the dynamic settings change the configured names, with
// and without a selector. A namespace is served if the current names contain it, or if it has the selected labels.
func TestScopeThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.relabel("team", "a")

	for _, test := range []struct {
		start  config.Namespaces
		now    map[string]string
		served bool
	}{
		{config.Namespaces{Names: []string{"another"}}, nil, false},
		{config.Namespaces{Names: []string{"another"}}, map[string]string{propertyNamespaces: w.Namespace}, true},
		{config.Namespaces{Names: []string{"another"}}, map[string]string{propertyNamespaces: "*"}, true},
		{config.Namespaces{Names: []string{w.Namespace}}, map[string]string{propertyNamespaces: "another"}, false},
		{config.Namespaces{}, nil, true},
		{config.Namespaces{}, map[string]string{propertyNamespaces: "another"}, false},
		{config.Namespaces{Selector: "team=a"}, map[string]string{propertyNamespaces: "another"}, true},
		{config.Namespaces{Selector: "team=b"}, map[string]string{propertyNamespaces: "another"}, false},
		{config.Namespaces{Selector: "team=b"}, map[string]string{propertyNamespaces: w.Namespace}, true},
		{config.Namespaces{Selector: "team=b"}, map[string]string{propertyNamespaces: "*"}, true},
		{config.Namespaces{Selector: "team=b"}, nil, false},
	} {
		cfg := testConfig()
		cfg.Namespaces = test.start
		live := live.New(cfg)

		s, err := newScope(cfg.Namespaces, w.API)
		if err != nil {
			t.Fatal(err)
		}

		s.live = live

		next, _, err := peer.Override(&cfg, test.now)
		if err != nil {
			t.Fatal(err)
		}
		var woken []string
		live.OnNamespaceChange(func(name string) { woken = append(woken, name) })
		live.Update(next)

		if served, err := s.Serves(t.Context(), w.Namespace); err != nil || served != test.served {
			t.Errorf("%+v, then %v: served %v, %v", test.start, test.now, served, err)
		}

		if (test.now != nil) != (len(woken) > 0) {
			t.Errorf("%+v, then %v: the function was called for %v", test.start, test.now, woken)
		}
	}
}
