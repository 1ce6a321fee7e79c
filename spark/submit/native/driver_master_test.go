package native_test

import (
	"errors"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/spark/submit/runner"
)

// TestDriverMaster checks that DriverMaster sets the master of a driver that does not create executor pods, and changes
// nothing else.
func TestDriverMaster(t *testing.T) {
	for _, master := range []string{"spark://cluster-master-svc:7077", "spark://a:7077,b:7077", "local", "local[*]",
		"local[2,3]"} {
		r := kit.With("spark.master", master)
		r.DriverMaster = master
		o := kit.Build(t, r)
		want := kit.Props(t, kit.Build(t, kit.Minimal()))
		want["spark.master"] = master

		got := kit.Props(t, o)
		for key := range want {
			if got[key] != want[key] {
				t.Errorf("%s: %s is %q, want %q", master, key, got[key], want[key])
			}
		}

		if len(o.Warnings) > 0 {
			t.Errorf("%s: %q", master, o.Warnings)
		}

		if _, err := runner.Build(r); !isAbout(err, "DriverMaster") {
			t.Errorf("%s: a runner gives %v, want one about DriverMaster: spark-submit would submit there", master, err)
		}
	}

	for _, master := range []string{"k8s://https://h", "yarn", "spark://", "local[", "x-local", "mesos://h:5050",
		" local"} {
		r := kit.Minimal()
		r.DriverMaster = master
		kit.RefusedFor(t, r, "DriverMaster", "standalone")
	}
}

func isAbout(err error, field string) bool {
	wrong, ok := errors.AsType[*submit.Error](err)
	return ok && wrong.Field == field
}

// TestUnnamed checks that Build sets no application name if the program sets the name itself. The label then has the
// value that Spark uses for an application without a name.
func TestUnnamed(t *testing.T) {
	r := kit.With("spark.app.name", "other")
	r.Unnamed = true

	o := kit.Build(t, r)
	if name, ok := kit.Props(t, o)["spark.app.name"]; ok {
		t.Errorf("spark.app.name is %q, want none", name)
	}

	if got := o.Driver.Labels[submit.AppNameKey]; got != "spark" {
		t.Errorf("the label is %q, want spark", got)
	}

	submitted, err := runner.Build(r)
	if err != nil {
		t.Fatal(err)
	}

	if c, err := conf.UnmarshalProperties(string(submitted.Secret.Data["spark.properties"])); err != nil ||
		c.Has("spark.app.name") {
		t.Errorf("spark-submit is given a name, or its properties cannot be read (%v)", err)
	}

	if pod, err := native.Executor(r, 1, "uid"); err != nil || pod.Labels[submit.AppNameKey] != "spark" {
		t.Errorf("the executor is %v, %v", pod, err)
	}
}
