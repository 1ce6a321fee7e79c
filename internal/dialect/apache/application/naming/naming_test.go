package naming

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestAppID checks the form of spark.app.id, because scripts and dashboards of users depend on it.
func TestAppID(t *testing.T) {
	long := strings.Repeat("abcdefghi-", 6) + "xyz" // 63 characters
	for _, c := range []struct {
		name, pinned string
		attempt      int32
		want         string
	}{
		{"pi", "", 1, "pi-0"},
		{"pi", "", 12, "pi-11"},
		{"pi", "mine", 1, "mine"},
		{"pi", "mine", 2, "mine"},
		{strings.Repeat("a", 44), "", 1, strings.Repeat("a", 44) + "-0"},
		{strings.Repeat("a", 44), "", 10, strings.Repeat("a", 44) + "-9"},
		{long, "", 1, "abcdefghi-"},
		{strings.Repeat("a", 45), "", 1, "aaaaaaaaa-"},
		{strings.Repeat("a", 44), "", 11, "aaaaaaaaa-"},
	} {
		app := pi()

		app.Name = c.name
		if c.pinned != "" {
			app.Spec.SparkConf[fields.AppID] = c.pinned
		}

		got := ID(app, c.attempt)
		if cut := strings.HasSuffix(c.want, "-"); got != c.want && !cut || cut &&
			!regexp.MustCompile("^"+c.want+"[0-9a-z]{36}$").MatchString(got) {
			t.Errorf("%s, attempt %d: %q, want %q", c.name, c.attempt, got, c.want)
		}

		if service := submit.ServiceName(got, got); service != got+"-driver-svc" ||
			len(validation.IsDNS1035Label(service)) > 0 {
			t.Errorf("%s, attempt %d: the Service is %q", c.name, c.attempt, service)
		}
	}
}

// TestLongAppIDs checks that the id of a long name equals the id that the Apache Spark project's operator computes.
// Otherwise the operator would not find the pods of an application that it inherits.
func TestLongAppIDs(t *testing.T) {
	app := pi()
	app.Namespace, app.Name = "default", strings.Repeat("long-name-", 6)+"end"
	// 36 digits of base 36 of the SHA-256 sum of "default/long-name-...-end/0", computed with another tool.
	if got := NewID(app, 1); got != "long-name-b28b41voo3vlxvnnn5ezszjecsx2va9ch5xz" {
		t.Errorf("%q", got)
	}

	ids := map[string]bool{}
	for _, namespace := range []string{"a", "b"} {
		for attempt := int32(1); attempt < 20; attempt++ {
			app.Namespace = namespace
			ids[NewID(app, attempt)] = true
		}
	}

	if len(ids) != 38 {
		t.Errorf("%d ids of 38 attempts", len(ids))
	}
}

// TestAppIDOfAnother checks that an attempt that another operator launched keeps its id, and that our operator computes
// the id of the next attempt.
func TestAppIDOfAnother(t *testing.T) {
	app := pi()

	app.Status.Operator = &sparkv1.OperatorStatus{OperatorStatus: v1beta2.OperatorStatus{Phase: "Running", Attempt: 2},
		AttemptID: "theirs-1"}
	if got, next := ID(app, 2), ID(app, 3); got != "theirs-1" || next != "pi-2" {
		t.Errorf("%q and %q", got, next)
	}
}

func pi() *sparkv1.SparkApplication {
	app := &sparkv1.SparkApplication{Spec: sparkv1.ApplicationSpec{SparkConf: map[string]string{}}}
	app.Namespace, app.Name = "jobs", "pi"
	return app
}
