package submit

import (
	"errors"
	"testing"
)

// TestDriverMaster checks that DriverMaster sets the master of a driver that does not create executor pods, and changes
// nothing else.
func TestDriverMaster(t *testing.T) {
	for _, master := range []string{"spark://cluster-master-svc:7077", "spark://a:7077,b:7077", "local", "local[*]", "local[2,3]"} {
		r := with("spark.master", master)
		r.DriverMaster = master
		o := build(t, r)
		want := props(t, build(t, minimal()))
		want["spark.master"] = master
		got := props(t, o)
		for key := range want {
			if got[key] != want[key] {
				t.Errorf("%s: %s is %q, want %q", master, key, got[key], want[key])
			}
		}
		if len(o.Warnings) > 0 {
			t.Errorf("%s: %q", master, o.Warnings)
		}
		if _, err := BuildRunner(r); !isAbout(err, "DriverMaster") {
			t.Errorf("%s: a runner gives %v, want one about DriverMaster: spark-submit would submit there", master, err)
		}
	}
	for _, master := range []string{"k8s://https://h", "yarn", "spark://", "local[", "x-local", "mesos://h:5050", " local"} {
		r := minimal()
		r.DriverMaster = master
		refusedFor(t, r, "DriverMaster", "standalone")
	}
}

func isAbout(err error, field string) bool {
	wrong, ok := errors.AsType[*Error](err)
	return ok && wrong.Field == field
}

// TestUnnamed checks that Build sets no application name if the program sets the name itself. The label then has the
// value that Spark uses for an application without a name.
func TestUnnamed(t *testing.T) {
	r := with("spark.app.name", "other")
	r.Unnamed = true
	o := build(t, r)
	if name, ok := props(t, o)["spark.app.name"]; ok {
		t.Errorf("spark.app.name is %q, want none", name)
	}
	if got := o.Driver.Labels[AppNameKey]; got != "spark" {
		t.Errorf("the label is %q, want spark", got)
	}
	if name, ok := runnerProps(t, buildRunner(t, r))["spark.app.name"]; ok {
		t.Errorf("spark-submit is given the name %q, want none", name)
	}
	if pod, err := Executor(r, 1, "uid"); err != nil || pod.Labels[AppNameKey] != "spark" {
		t.Errorf("the executor is %v, %v", pod, err)
	}
}
