package submit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

func TestVersions(t *testing.T) {
	for _, c := range []struct{ version, line, warning string }{
		{"3.5.9", "3.5", ""},
		{"3.5", "3.5", ""},
		{"v4.0.2", "4.0", ""},
		{"4.1.4", "4.1", ""},
		{"4.1.0-SNAPSHOT", "4.1", ""},
		{"4.2.1", "4.2", ""},
		{"v4_2_0", "4.2", ""},
		{"4_1", "4.1", ""},
		{"4.3.0", "4.3", ""},
		{"4.3.0.1-vendor", "4.3", ""},
		{"4.4.0", "4.3", "newer"},
		{"5.0.0", "4.3", "newer"},
		{"4.10.0", "4.3", "newer"},
		{"3.1.1", "3.5", "older"},
		{"2.4.8", "3.5", "older"},
		{"3.6.0", "3.5", "not a supported version"},
		{"", "4.3", "is not a version"},
		{"latest", "4.3", "is not a version"},
		{"4", "4.3", "is not a version"},
		{"4.1x", "4.3", "is not a version"},
		{"99999999999999999999.1", "4.3", "is not a version"},
	} {
		q, warning := line.Of(c.version)
		if q.String() != c.line || !strings.Contains(warning, c.warning) || (warning == "") != (c.warning == "") {
			t.Errorf("line.Of(%q) = %s, %q, want %s and a warning with %q", c.version, q, warning, c.line, c.warning)
		}

		r := kit.Minimal()

		r.SparkVersion = c.version
		if o := kit.Build(t, r); slices.Contains(o.Warnings, warning) != (warning != "") {
			t.Errorf("%q: warnings of Build are %q", c.version, o.Warnings)
		}

		r.StrictVersion = true

		_, err := native.Build(r)
		if wrong, ok := errors.AsType[*submit.Error](err); (warning != "") != ok || ok &&
			wrong.Field != "SparkVersion" {
			t.Errorf("%q, strict: %v", c.version, err)
		}
	}

	if diff := cmp.Diff([]string{"3.5", "4.0", "4.1", "4.2", "4.3"}, submit.SupportedVersions()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
