package operator_test

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

	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/config/peer"
	"github.com/sparkoperator/spark-operator/internal/settings/live"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// waitServed waits until an operator serves exactly the given namespaces.
func waitServed(w *world.World, op *operator.Operator, names ...string) {
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
	a, b := world.New(t), world.New(t)
	cfg := world.Config(a.Namespace)
	cfg.DynamicConfig.Enabled, cfg.DynamicConfig.Namespace = true, a.Namespace
	waiting := b.Get(b.Application("waiting", scene.WithDriver).Name)
	first := a.Application("first", scene.WithDriver)

	op, err := operator.NewOperator(t.Context(), cfg, a.Environment())
	if err != nil {
		t.Fatal(err)
	}

	a.Run(op)
	a.DriverOf(first, 1)
	b.Untouched(waiting, 0)

	dynamic := a.DynamicConfigMap("dynamic", map[string]string{world.PropertyNamespaces: a.Namespace + "," + b.Namespace, "spark.nonsense": "1"})
	a.Create(dynamic)
	b.DriverOf(waiting, 1)

	for _, want := range []string{"Served namespaces changed", a.Namespace + "," + b.Namespace, "spark.nonsense"} {
		if !strings.Contains(a.Log.String(), want) {
			t.Errorf("the log does not contain %q:\n%s", want, a.Log)
		}
	}

	// The objects of a removed namespace stay as they are.
	dynamic.Data = map[string]string{world.PropertyNamespaces: b.Namespace, world.PropertyTrim: "false"}
	if err := a.API.Update(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	waitServed(a, op, b.Namespace)

	if *op.Settings().Apache.TrimHistory {
		t.Error("the other setting of the same ConfigMap was not applied")
	}

	late := a.Get(a.Application("late", scene.WithDriver).Name)
	b.DriverOf(b.Application("also", scene.WithDriver), 1)
	a.Untouched(late, 1)

	// An invalid list changes nothing.
	dynamic.Data = map[string]string{world.PropertyNamespaces: a.Namespace + ",No_Name"}
	if err := a.API.Update(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the rejection to be reported", func(context.Context) error {
		if !strings.Contains(a.Log.String(), "No_Name") {
			return fmt.Errorf("the log is\n%s", a.Log)
		}
		return nil
	})
	waitServed(a, op, b.Namespace)

	// Without the ConfigMap the initial settings apply.
	if err := a.API.Delete(t.Context(), dynamic); err != nil {
		t.Fatal(err)
	}

	waitServed(a, op, a.Namespace)
	a.DriverOf(late, 1)

	if !*op.Settings().Apache.TrimHistory {
		t.Error("the other setting does not have its initial value again")
	}
}

// TestSettingsFromAFile checks that the operator reads a file of settings before the first pass and then periodically,
// and that the file may be missing.
func TestSettingsFromAFile(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	file := filepath.Join(t.TempDir(), "dynamic.properties")
	write := func(text string) {
		t.Helper()

		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := world.Config("there-is-none")
	cfg.DynamicConfig = config.DynamicConfig{Enabled: true, Source: config.SourceFile, File: file, Selector: "a=b", ReloadInterval: metav1.Duration{Duration: 20 * time.Millisecond}}

	write(world.PropertyNamespaces + " = " + w.Namespace + "\n")

	op, err := operator.NewEmpty(t.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	if served := op.Settings().Namespaces.Names; !slices.Equal(served, []string{w.Namespace}) {
		t.Fatalf("before the start %v are served", served)
	}

	w.Run(op)
	write(world.PropertyNamespaces + " = one, two\n")
	waitServed(w, op, "one", "two")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	waitServed(w, op, "there-is-none")
}

// TestSettingsOfSeveralConfigMaps checks that, if several ConfigMaps have the same setting, the ConfigMap whose name is
// last in alphabetical order decides. ConfigMaps that lack the labels or are in another namespace have no effect.
func TestSettingsOfSeveralConfigMaps(t *testing.T) {
	t.Parallel()
	w, other := world.New(t), world.New(t)
	w.Create(w.DynamicConfigMap("b", map[string]string{world.PropertyNamespaces: "later"}))
	w.Create(w.DynamicConfigMap("a", map[string]string{world.PropertyNamespaces: "earlier", world.PropertyTrim: "false"}))
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c"}, Data: map[string]string{world.PropertyNamespaces: "unlabelled"}})
	other.Create(other.DynamicConfigMap("d", map[string]string{world.PropertyNamespaces: "elsewhere"}))

	cfg := world.Config("first")
	cfg.DynamicConfig.Enabled, cfg.LeaderElection.Namespace = true, w.Namespace

	op, err := operator.NewEmpty(t.Context(), cfg, w.Environment())
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
	w := world.New(t)
	cfg := world.Config(w.Namespace)

	cfg.DynamicConfig.Enabled = true
	if _, err := operator.NewEmpty(t.Context(), cfg, w.Environment()); err == nil || !strings.Contains(err.Error(), "dynamicConfig.namespace") {
		t.Errorf("the error outside a pod and without a namespace is %v", err)
	}
}

// TestScopeThatChanges checks which namespaces are served while the dynamic settings change the configured names, with
// and without a selector. A namespace is served if the current names contain it, or if it has the selected labels.
func TestScopeThatChanges(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Relabel("team", "a")

	for _, test := range []struct {
		start  config.Namespaces
		now    map[string]string
		served bool
	}{
		{config.Namespaces{Names: []string{"another"}}, nil, false},
		{config.Namespaces{Names: []string{"another"}}, map[string]string{world.PropertyNamespaces: w.Namespace}, true},
		{config.Namespaces{Names: []string{"another"}}, map[string]string{world.PropertyNamespaces: "*"}, true},
		{config.Namespaces{Names: []string{w.Namespace}}, map[string]string{world.PropertyNamespaces: "another"}, false},
		{config.Namespaces{}, nil, true},
		{config.Namespaces{}, map[string]string{world.PropertyNamespaces: "another"}, false},
		{config.Namespaces{Selector: "team=a"}, map[string]string{world.PropertyNamespaces: "another"}, true},
		{config.Namespaces{Selector: "team=b"}, map[string]string{world.PropertyNamespaces: "another"}, false},
		{config.Namespaces{Selector: "team=b"}, map[string]string{world.PropertyNamespaces: w.Namespace}, true},
		{config.Namespaces{Selector: "team=b"}, map[string]string{world.PropertyNamespaces: "*"}, true},
		{config.Namespaces{Selector: "team=b"}, nil, false},
	} {
		cfg := world.Config()
		cfg.Namespaces = test.start
		live := live.New(cfg)

		s, err := operator.NewScope(cfg.Namespaces, w.API)
		if err != nil {
			t.Fatal(err)
		}

		s.Follow(live)

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
