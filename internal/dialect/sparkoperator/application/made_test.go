package application

import (
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// renderApp renders an application and fails the test if the application is invalid.
func renderApp(t testing.TB, app *v1beta2.SparkApplication) sparkapp.Launch {
	t.Helper()

	if wrong := validate.Spec(app); len(wrong) > 0 {
		t.Fatalf("refused: %v", wrong)
	}

	objects, err := usual.Render(app, createAttempt(1), sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	return sparkapp.LaunchOf(t, app, objects)
}
