package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// secretText is a text that no log may contain.
const secretText = "hunter2"

// withSecrets puts secretText into all the fields in which users put passwords.
func withSecrets(app *v1beta2.SparkApplication) {
	scene.WithDriver(app)
	app.Spec.SparkConf = map[string]string{
		"spark.hadoop.fs.s3a.secret.key": secretText, "spark.kubernetes.driver.annotation.note": secretText,
		"spark.executorEnv.PASSWORD":      secretText,
		"spark.executor.extraJavaOptions": "-Dpassword=" + secretText,
	}
	app.Spec.HadoopConf = map[string]string{"fs.azure.account.key": secretText}
	app.Spec.Arguments = []string{"--password=" + secretText}
	app.Spec.Driver.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: secretText}}
	app.Spec.Driver.EnvVars = map[string]string{"TOKEN": secretText}
	app.Spec.Executor.Env = app.Spec.Driver.Env
	app.Spec.Driver.JavaOptions = new("-Djavax.net.ssl.keyStorePassword=" + secretText)
}

// TestSecretsAreNotLogged checks that even the most verbose log contains no secret of the applications, from their
// creation to their end. Some applications are submitted by the operator, and others by spark-submit. They fail, are
// retried, edited and suspended. The API server rejects some submissions with messages that quote the request.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal(func(env *operator.Environment) {
		log, err := telemetry.NewLogger(io.Writer(w.Log), "debug", "json")
		if err != nil {
			t.Fatal(err)
		}

		env.Log = log
	})
	native := w.Application("native", withSecrets, world.OnFailure(1))
	w.Execute(w.DriverOf(native, 1), scene.Exited(1, "cannot log in with "+secretText))
	w.RunningDriver(native, 2)
	w.Patch("native", `{"spec":{"arguments":["--token=`+secretText+`"]}}`)
	w.Kubelet(w.DriverOf(native, 3).Name, corev1.PodRunning, world.Running())
	w.Suspend("native", true)
	w.WaitState("native", v1beta2.ApplicationStateSuspended)

	submitted := w.Application("submitted", withSecrets, world.BySparkSubmit)
	submitter := w.SubmitterOf(submitted, 1)
	w.Execute(w.SparkSubmit(submitter, true), scene.Exited(0, ""))
	w.WaitState("submitted", v1beta2.ApplicationStateCompleted)
	failing := w.Application("failing", withSecrets, world.BySparkSubmit)
	w.Kubelet(w.SubmitterOf(failing, 1).Name, corev1.PodFailed, scene.Exited(1, "no such bucket: "+secretText))
	w.WaitState("failing", v1beta2.ApplicationStateFailed)

	// Submissions that the API server or the builder rejects, with an answer that quotes them.
	for i, change := range []func(*v1beta2.SparkApplication){
		func(app *v1beta2.SparkApplication) {
			app.Spec.Driver.Labels = map[string]string{"team": secretText + " with blanks"}
		},
		func(app *v1beta2.SparkApplication) {
			app.Spec.Driver.DNSConfig = &corev1.PodDNSConfig{Nameservers: []string{secretText}}
		},
		func(app *v1beta2.SparkApplication) { app.Spec.SparkConf["spark.driver.memoryOverhead"] = secretText },
	} {
		refused := w.Application(fmt.Sprint("refused-", i), withSecrets, change)

		got := w.WaitState(refused.Name, v1beta2.ApplicationStateFailed)
		if !strings.Contains(got.Status.AppState.ErrorMessage, secretText) {
			t.Errorf("the message for %s does not quote the request, so the test would prove nothing: %s", refused.Name,
				got.Status.AppState.ErrorMessage)
		}
	}

	kit.Wait(t, "the log of all applications", func(context.Context) error {
		return world.Want(strings.Contains(w.Log.String(), "refused-2"), true)
	})

	for line := range strings.Lines(w.Log.String()) {
		if strings.Contains(line, secretText) {
			t.Errorf("the log contains a secret: %s", line)
		}
	}
}
