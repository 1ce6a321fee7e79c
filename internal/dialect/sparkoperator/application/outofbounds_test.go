package application

import (
	"strings"
	"testing"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// refusedQuantity is a quantity that resource.ParseQuantity would need hours to parse.
const refusedQuantity = "1234567890123456789012e2000000000"

// TestQuantitiesThatTakeHoursAreRefused checks that refusedQuantity is rejected with the name of its field, and that no
// code tries to parse it. The test covers every place where a user may write a quantity: typed fields, templates, and
// texts that the operator itself parses.
func TestQuantitiesThatTakeHoursAreRefused(t *testing.T) {
	resources := `resources: {limits: {cpu: "` + refusedQuantity + `"}}`
	for field, spec := range map[string]string{
		"spec.driver.sidecars[0].resources.limits[cpu]": `{driver: {sidecars: [{name: s, ` + resources +
			`}]}}`,
		"spec.executor.initContainers[0].resources.limits[cpu]": `{executor: {initContainers: [{name: s, ` +
			resources + `}]}}`,
		"spec.volumes[0].emptyDir.sizeLimit":                            `{volumes: [{name: v, emptyDir: {sizeLimit: "` + refusedQuantity + `"}}]}`,
		"spec.driver.env[0].valueFrom.resourceFieldRef.divisor":         `{driver: {env: [{name: e, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "` + refusedQuantity + `"}}}]}}`,
		"spec.batchSchedulerOptions.resources[cpu]":                     `{batchScheduler: volcano, batchSchedulerOptions: {resources: {cpu: "` + refusedQuantity + `"}}}`,
		"spec.driver.template.spec.containers[0].resources.limits[cpu]": `{driver: {template: {spec: {containers: [{name: c, ` + resources + `}]}}}}`,
		"spec.executor.template.spec.overhead[memory]":                  `{executor: {template: {spec: {overhead: {memory: "` + refusedQuantity + `"}}}}}`,
		"spec.driver.coreLimit": `{driver: {coreLimit: "` +
			refusedQuantity + `"}}`,
		"spec.driver.coreRequest": `{driver: {coreRequest: "` +
			refusedQuantity + `"}}`,
		"spec.executor.coreRequest": `{executor: {coreRequest: "` +
			refusedQuantity + `"}}`,
		"spec.executor.memoryLimit": `{executor: {memoryLimit: "` +
			refusedQuantity + `"}}`,
		"spec.sparkConf[spark.kubernetes.driver.limit.cores]":                          `{sparkConf: {spark.kubernetes.driver.limit.cores: "` + refusedQuantity + `"}}`,
		"spec.sparkConf[spark.kubernetes.driver.volumes.emptyDir.v.options.sizeLimit]": `{sparkConf: {spark.kubernetes.driver.volumes.emptyDir.v.mount.path: /v, spark.kubernetes.driver.volumes.emptyDir.v.options.sizeLimit: "` + refusedQuantity + `"}}`,
	} {
		app := sparkapp.Of(t, "spec: "+spec)
		plan := Dialect{}.Decide(app, lifecycle.Observed{Confirmed: true}, time.Unix(0, 0).UTC())

		message := app.Status.AppState.ErrorMessage
		if app.Status.AppState.State != v1beta2.ApplicationStateFailed || !strings.Contains(message, field+": ") ||
			!strings.Contains(message, "at most 2 digits") {
			t.Errorf("%s: %s, %q, %v", field, app.Status.AppState.State, message, plan.Actions)
		}
	}
}

// TestARunningApplicationBeyondTheLimits checks an application that exceeds the limits and was already running when
// they were introduced. It continues with the same driver name and auxiliary objects until somebody edits it. After an
// edit, it fails like any application that exceeds the limits.
func TestARunningApplicationBeyondTheLimits(t *testing.T) {
	now := time.Unix(1_000_000, 0).UTC()
	app := sparkapp.Of(t, `{spec: {driver: {podName: mine}}}`)
	app.UID, app.Generation = "u", 1
	Dialect{}.Decide(app, lifecycle.Observed{}, now)
	driver := lifecycle.Driver{Name: "mine", UID: "d", Attempt: 1, Phase: lifecycle.DriverRunning, StartedAt: now,
		Ready: true}
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}
	Dialect{}.Decide(app, seen, now)

	if app.Status.AppState.State != v1beta2.ApplicationStateRunning {
		t.Fatalf("it is %s", app.Status.AppState.State)
	}

	app.OutOfBounds, app.Spec = "spec.driver.env: has more than 1000 items; make the list shorter",
		v1beta2.SparkApplicationSpec{}
	hash := app.Status.Operator.SpecHash

	plan := Dialect{}.Decide(app, seen, now.Add(time.Hour))
	if app.Status.AppState.State != v1beta2.ApplicationStateRunning || len(plan.Actions) > 0 ||
		app.Status.DriverInfo.PodName != "mine" || app.Status.Operator.SpecHash != hash {
		t.Errorf("it is %+v with %v, %v", app.Status.AppState, app.Status.DriverInfo, plan.Actions)
	}

	if beside := (Dialect{Options{UI: sparkoperator.UI{Service: true}}}).AuxiliaryObjects(app,
		seen); !beside.Unsettled {
		t.Errorf("what stands beside it is %+v", beside)
	}

	app.Generation = 2
	Dialect{}.Decide(app, seen, now.Add(time.Hour))

	for range 5 {
		Dialect{}.Decide(app, lifecycle.Observed{Confirmed: true}, now.Add(time.Hour))
	}

	if app.Status.AppState.State != v1beta2.ApplicationStateFailed ||
		!strings.Contains(app.Status.AppState.ErrorMessage, app.OutOfBounds) {
		t.Errorf("edited, it is %+v", app.Status.AppState)
	}

	first := app.Status.AppState.ErrorMessage

	app.Generation, app.OutOfBounds = 3, "spec.driver.ports: has more than 1000 items; make the list shorter"
	for range 5 {
		Dialect{}.Decide(app, lifecycle.Observed{Confirmed: true}, now.Add(2*time.Hour))
	}

	if app.Status.AppState.State != v1beta2.ApplicationStateFailed || app.Status.AppState.ErrorMessage == first {
		t.Errorf("edited to exceed another limit, it is %+v", app.Status.AppState)
	}
}
