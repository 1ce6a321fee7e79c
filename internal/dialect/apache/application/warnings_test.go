package application

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLaunchWarnings checks the warnings about fields that have no effect, and that values that have one cause none.
func TestLaunchWarnings(t *testing.T) {
	for spec, want := range map[string][]string{
		`{}`: nil,
		`{jars: "local:///a.jar", sparkConf: {spark.jars: "local:///b.jar"}}`:                nil,
		`{jars: "local:///a.jar,local:///b.jar"}`:                                            nil,
		`{jars: "local:///a.jar,local:///b.jar", sparkConf: {spark.jars: "local:///c.jar"}}`: {`spec.jars: local:///b.jar has no effect: spec.sparkConf[spark.jars] is "local:///c.jar"`},
		`{runtimeVersions: {sparkVersion: 4.2.0, scalaVersion: "a b", jdkVersion: "-"}}`: {
			`spec.runtimeVersions.scalaVersion: "a b" is not a valid label value, and the field has no other use`,
			`spec.runtimeVersions.jdkVersion: "-" is not a valid label value, and the field has no other use`,
		},
		`{pyFiles: a.py, sparkRFiles: a.R}`: {
			"spec.pyFiles: has no effect: spec.jars names the program; use spark.submit.pyFiles or spark.files for further files",
			"spec.sparkRFiles: has no effect: spec.jars names the program; use spark.submit.pyFiles or spark.files for further files",
		},
		`{jars: "", pyFiles: a.py, sparkRFiles: a.R}`: {"spec.sparkRFiles: has no effect: spec.pyFiles names the program; use spark.submit.pyFiles or spark.files for further files"},
	} {
		if diff := cmp.Diff(want, launchWarnings((Applications{}).next(written(t, "spec: "+spec), 1,
			noon))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}
