package draft_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestAppName(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*submit.Request)
		want   string
	}{
		"name in the Request": {func(r *submit.Request) { r.Conf.Set("spark.app.name", "other") }, "My App_1"},
		"name in the configuration": {func(r *submit.Request) { r.AppName = ""; r.Conf.Set("spark.app.name", "other") },
			"other"},
		"name from the main class": {func(r *submit.Request) { r.AppName = "" }, "org.apache.spark.examples.SparkPi"},
		"name from the file": {func(r *submit.Request) { r.AppName, r.Resource = "", "local:///opt/app/pi.py" },
			"pi.py"},
	} {
		r := kit.Minimal()
		c.change(&r)

		o := kit.Build(t, r)
		if got := kit.Props(t, o)["spark.app.name"]; got != c.want {
			t.Errorf("%s: spark.app.name is %q, want %q", name, got, c.want)
		}

		if got := o.Driver.Labels["spark-app-name"]; got != submit.AppNameLabel(c.want) {
			t.Errorf("%s: label is %q", name, got)
		}
	}
}

func TestTheRequestDecides(t *testing.T) {
	r := kit.With("spark.master", "k8s://https://elsewhere", "spark.kubernetes.namespace", "kube-system",
		"spark.app.id", "mine",
		"spark.kubernetes.driver.pod.name", "theirs", "spark.submit.deployMode", "client", "spark.driver.host", "h",
		"hadoop.x", "y")
	r.Master = "k8s://https://api:6443"
	o := kit.Build(t, r)

	p := kit.Props(t, o)
	for key, want := range map[string]string{
		"spark.master": "k8s://https://api:6443", "spark.kubernetes.namespace": "ns1", "spark.app.id": r.AppID,
		"spark.submit.deployMode":          "cluster",
		"spark.kubernetes.driver.pod.name": "my-app-1-c05dd8a1fbc0dc03-driver",
		"spark.driver.host":                "my-app-1-c05dd8a1fbc0dc03-driver-svc.ns1.svc",
	} {
		if p[key] != want {
			t.Errorf("%s is %q, want %q", key, p[key], want)
		}

		if !slices.ContainsFunc(o.Warnings, func(w string) bool { return strings.HasPrefix(w, key+": ") }) {
			t.Errorf("no warning says that %s has no effect: %q", key, o.Warnings)
		}
	}

	if _, ok := p["hadoop.x"]; ok ||
		!slices.ContainsFunc(o.Warnings, func(w string) bool { return strings.HasPrefix(w, "hadoop.x: ") }) {
		t.Errorf("a key without spark. should be left out with a warning: %q", o.Warnings)
	}

	if o := kit.Build(t, kit.Minimal()); len(o.Warnings) > 0 {
		t.Errorf("a plain request has warnings: %q", o.Warnings)
	}
}

func TestSubmitTimeOfTheUserStays(t *testing.T) {
	if got := kit.Props(t, kit.Build(t, kit.With("spark.app.submitTime", "1")))["spark.app.submitTime"]; got != "1" {
		t.Errorf("spark.app.submitTime is %q", got)
	}
}

func TestConfIsReadRaw(t *testing.T) {
	r := kit.With("spark.x", " a:b\n", "spark.y", "${spark.x}")

	p := kit.Props(t, kit.Build(t, r))
	if p["spark.x"] != " a:b\n" || p["spark.y"] != "${spark.x}" {
		t.Errorf("properties: %q, %q", p["spark.x"], p["spark.y"])
	}

	r.Conf = conf.New()
	kit.RefusedFor(t, r, "spark.kubernetes.container.image", "image")
	r.Conf = nil
	kit.RefusedFor(t, r, "spark.kubernetes.container.image", "image")
}
