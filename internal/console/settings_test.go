package console_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestSettingsOfTheOperator checks that the pages of an object follow from the configuration of the operator: the
// manifest has the platform's defaults with their origins. The console once used the operator's own defaults.
func TestSettingsOfTheOperator(t *testing.T) {
	t.Parallel()

	w := scene.New(t)
	app := w.Application("pi")
	page := "/o/sparkapplications.sparkoperator.k8s.io/" + app.Namespace + "/pi"

	configured, err := config.Parse([]byte("apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\ndefaults: [{name: everyone, sparkDefaults: spark.sql.adaptive.enabled maybe}]"))
	if err != nil {
		t.Fatal(err)
	}

	var reads atomic.Int32

	b := serve(t, alone(t, kit.Rest(t)), func(o *console.Options) {
		o.Operator = func(context.Context) (config.Configuration, error) {
			reads.Add(1)
			return configured, nil
		}
	}).local()

	if text := b.get(page + "/manifest").text; !strings.Contains(text, "spark.sql.adaptive.enabled=maybe") || !strings.Contains(text, "everyone") {
		t.Errorf("the manifest lacks the default or its origin: %s", text)
	}

	if b.get(page); reads.Load() != 1 {
		t.Errorf("two pages read the configuration %d times, want once", reads.Load())
	}

	broken := serve(t, alone(t, kit.Rest(t)), func(o *console.Options) {
		o.Operator = func(context.Context) (config.Configuration, error) {
			return config.Configuration{}, errors.New("line 3: did not find expected key")
		}
	}).local()
	broken.waitFor(page, "the operator&#39;s present settings are missing: line 3")
}
