package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestTimeouts checks the deadlines of an application. A deadline that the application sets or disables overrides the
// operator's default.
func TestTimeouts(t *testing.T) {
	operators := lifecycle.Deadlines{DriverStart: time.Minute, DriverReady: 2 * time.Minute,
		ExecutorsStart: 3 * time.Minute, Run: time.Hour}
	for _, c := range []struct {
		piece    string
		operator lifecycle.Deadlines
		want     lifecycle.Deadlines
	}{
		{`{}`, lifecycle.Deadlines{}, lifecycle.Deadlines{}},
		{`{}`, operators, operators},
		{`{timeouts: {}}`, operators, operators},
		{`{timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3, runSeconds: 4}}`,
			operators,
			lifecycle.Deadlines{DriverStart: time.Second, DriverReady: 2 * time.Second, ExecutorsStart: 3 * time.Second,
				Run: 4 * time.Second}},
		{`{timeouts: {runSeconds: 4}}`, operators,
			lifecycle.Deadlines{DriverStart: time.Minute, DriverReady: 2 * time.Minute, ExecutorsStart: 3 * time.Minute,
				Run: 4 * time.Second}},
		{`{timeouts: {driverStartSeconds: 0, runSeconds: 0}}`, operators,
			lifecycle.Deadlines{DriverReady: 2 * time.Minute, ExecutorsStart: 3 * time.Minute}},
	} {
		d := Dialect{Options{Limits: c.operator}}
		if diff := cmp.Diff(c.want, d.app(sparkapp.Of(t, "spec: "+c.piece)).Deadlines); diff != "" {
			t.Errorf("%s, the operator's %+v (-want +got):\n%s", c.piece, c.operator, diff)
		}
	}
}

// TestTimeToLive checks that a finished application without timeToLiveSeconds is kept for ever, and that 0 means
// immediate deletion.
func TestTimeToLive(t *testing.T) {
	for _, c := range []struct {
		piece    string
		operator time.Duration
		want     *time.Duration
	}{
		{`{}`, 0, nil},
		{`{}`, time.Minute, new(time.Minute)},
		{`{timeToLiveSeconds: 9}`, time.Minute, new(9 * time.Second)},
		{`{timeToLiveSeconds: 0}`, time.Minute, new(time.Duration(0))},
	} {
		d := Dialect{Options{DefaultTTL: c.operator}}
		if diff := cmp.Diff(c.want, d.app(sparkapp.Of(t, "spec: "+c.piece)).TTL); diff != "" {
			t.Errorf("%s, the operator's %s (-want +got):\n%s", c.piece, c.operator, diff)
		}
	}
}

// TestEdited checks that an application counts as edited if its generation is above 1. The API server creates objects
// with generation 1, and each edit of the spec increases the generation.
func TestEdited(t *testing.T) {
	app := sparkapp.Of(t, "spec: {}")
	for generation, want := range map[int64]bool{1: false, 2: true} {
		if app.Generation = generation; usual.app(app).Edited != want {
			t.Errorf("generation %d is read as edited: %t", generation, !want)
		}
	}
}
