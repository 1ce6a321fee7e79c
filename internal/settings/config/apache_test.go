package config

import "testing"

// TestSwitchedOffAPIDisablesItsKinds checks that a switched-off API switches off all its kinds, whatever the kinds' own
// switches are.
func TestSwitchedOffAPIDisablesItsKinds(t *testing.T) {
	type served struct{ applications, schedules, connect, apache, clusters bool }

	for _, test := range []struct {
		name, file string
		want       served
	}{
		{"both APIs", "", served{true, true, true, true, true}},
		{"only sparkoperator.k8s.io", "apache: {enabled: false}\n", served{true, true, true, false, false}},
		{"only spark.apache.org", "sparkOperator: {enabled: false}\n", served{false, false, false, true, true}},
		{"Connect and schedules without their API",
			"sparkOperator: {enabled: false}\nconnect: {enabled: true}\nscheduledApplications: {enabled: true}\n",
			served{false, false, false, true, true}},
		{"no clusters", "apache: {clusters: {enabled: false}}\n", served{true, true, true, true, false}},
		{"clusters without their API", "apache: {enabled: false, clusters: {enabled: true}}\n",
			served{true, true, true, false, false}},
	} {
		c, err := Parse([]byte(header + test.file))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}

		if got := (served{c.Applications(), c.Schedules(), c.ConnectServers(), c.ApacheApplications(),
			c.SparkClusters()}); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
