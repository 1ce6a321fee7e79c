package podproxy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/ground/budget"
)

// timeFormat is the format of times in Spark's REST API (org.apache.spark.status.api.v1.JacksonMessageWriter).
const timeFormat = "2006-01-02T15:04:05.000GMT"

// Time returns a time of Spark's REST API, or the zero time if the text is none.
func Time(text string) time.Time {
	at, _ := time.Parse(timeFormat, text)
	return at
}

// applications is the path of the applications in Spark's REST API.
const applications = "/api/v1/applications"

// App is an application in Spark's REST API (org.apache.spark.status.api.v1.ApplicationInfo).
type App struct {
	ID       string `json:"id"`
	Attempts []struct {
		Started string `json:"startTime"` // Time reads it
	} `json:"attempts"`
}

// ReadApp reads the application that runs in a driver pod. If there is no answer, the second result says why the part
// that is wanted, such as stages or jobs, is missing.
func ReadApp(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string) (app App, missing string) {
	var apps []App
	if missing := readJSON(ctx, c, pod, part, &url.URL{Path: applications}, &apps); missing != "" {
		return App{}, missing
	}

	if len(apps) == 0 {
		return App{}, "no " + part + ": Spark has not started its application yet"
	}
	return apps[0], ""
}

// Read decodes what Spark's REST API answers about a part of the application. If there is no answer, the result says
// why the part is missing.
func (a App) Read(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string, into any) (missing string) {
	return a.ReadQuery(ctx, c, pod, part, part, nil, into)
}

// ReadQuery decodes what Spark's REST API answers to a query about a path of the application. The part is the name of
// the answer, as for Read.
func (a App) ReadQuery(ctx context.Context, c *kube.Client, pod *corev1.Pod, part, path string, query url.Values, into any) (missing string) {
	return readJSON(ctx, c, pod, part, &url.URL{Path: applications + "/" + a.ID + "/" + path, RawQuery: query.Encode()}, into)
}

// ReadPart decodes a part of the application that runs in a driver pod, as Read does.
func ReadPart(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string, into any) (missing string) {
	app, missing := ReadApp(ctx, c, pod, part)
	if missing != "" {
		return missing
	}
	return app.Read(ctx, c, pod, part, into)
}

// readJSON decodes one response of Spark's REST API. If there is no response, the result says why a part is missing.
func readJSON(ctx context.Context, c *kube.Client, pod *corev1.Pod, part string, at *url.URL, into any) (missing string) {
	text, err := Read(ctx, c, pod, UIPort(pod), at)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("no %s: %v", part, c.Explain(err))
	case errors.Is(err, budget.ErrSpent):
		return fmt.Sprintf("no %s: %v; try it again", part, err)
	case err != nil:
		return "no " + part + ": Spark's REST API does not answer through the API server; the driver may be starting, its web UI may be off " +
			"(spark.ui.enabled), or a NetworkPolicy may close its port"
	}

	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Sprintf("no %s: the answer of Spark's REST API cannot be read: %v", part, err)
	}
	return ""
}
