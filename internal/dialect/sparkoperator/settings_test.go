package sparkoperator

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// TestSeconds checks the conversion of seconds to a duration. A number beyond the limits of a duration must keep its
// sign, because a deadline that becomes negative expires at once.
func TestSeconds(t *testing.T) {
	const years292 = 9_223_372_036 * time.Second
	for name, test := range map[string]struct {
		n    *int64
		want time.Duration
	}{
		"no number":                      {nil, 7 * time.Minute},
		"zero, which is not the default": {new(int64(0)), 0},
		"one second":                     {new(int64(1)), time.Second},
		"a negative number":              {new(int64(-3)), -3 * time.Second},
		"the largest duration":           {new(int64(9_223_372_036)), years292},
		"one second more":                {new(int64(9_223_372_037)), years292},
		"the largest number":             {new(int64(math.MaxInt64)), years292},
		"the smallest number":            {new(int64(math.MinInt64)), -years292},
	} {
		if got := Seconds(test.n, 7*time.Minute); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestDynamicAllocationLimits checks the numbers of executors with which Spark stops a driver at its start. The errors
// are in the order of the checks.
func TestDynamicAllocationLimits(t *testing.T) {
	const (
		minAbove  = "spec.dynamicAllocation.minExecutors: is above maxExecutors, so Spark would not start; lower it, or raise maxExecutors"
		initAbove = "spec.dynamicAllocation.initialExecutors: is above maxExecutors, so Spark would not start; lower it, or raise maxExecutors"
		negative  = "spec.dynamicAllocation.minExecutors: is negative, so Spark would not start; write 0 or more"
		none      = "spec.dynamicAllocation.maxExecutors: is below 1, so Spark would not start; write 1 or more, or leave it out"
	)

	n := func(n int32) *int32 { return &n }
	for name, test := range map[string]struct {
		first, least, most *int32
		want               []string
	}{
		"no number":             {},
		"all numbers are equal": {n(2), n(2), n(2), nil},
		"the initial number is below the minimum": {n(1), n(3), n(4), nil},
		"a negative initial number":               {n(-1), nil, n(1), nil},
		"the least maximum":                       {nil, nil, n(1), nil},
		"zero executors as the minimum":           {nil, n(0), nil, nil},
		"no maximum":                              {n(math.MaxInt32), n(math.MaxInt32), nil, nil},
		"the minimum is above the maximum by one": {nil, n(3), n(2), []string{minAbove}},
		"the initial number is above the maximum": {n(3), nil, n(2), []string{initAbove}},
		"a negative minimum":                      {nil, n(-1), nil, []string{negative}},
		"a maximum of zero":                       {nil, nil, n(0), []string{none}},
		"a maximum of zero and a minimum of zero": {nil, n(0), n(0), []string{none}},
		"several errors":                          {n(0), n(-1), n(-2), []string{negative, none, minAbove, initAbove}},
	} {
		field := &v1beta2.DynamicAllocation{InitialExecutors: test.first, MinExecutors: test.least,
			MaxExecutors: test.most}
		if wrong := CheckDynamicAllocation(field); len(wrong) > 0 {
			t.Errorf("%s, disabled: %v", name, wrong)
		}

		field.Enabled = true

		var got []string
		for _, fault := range CheckDynamicAllocation(field) {
			got = append(got, fault.Error())
		}

		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	if wrong := CheckDynamicAllocation(nil); len(wrong) > 0 {
		t.Errorf("no field: %v", wrong)
	}
}

// TestTemplatesAreChecked checks which pod templates are accepted. The API server stores any JSON, so a template may be
// anything.
func TestTemplatesAreChecked(t *testing.T) {
	for raw, says := range map[string]string{
		``:                                   "",
		`{}`:                                 "",
		`null`:                               "",
		`{"spec":{"containers":[{}]}}`:       "",
		`{"spec":{"fromTomorrow":{"a":[]}}}`: "",
		`{"spec":{"containers":{}}}`:         "spec.driver.template.spec.containers: is an object, not a list; begin each item with a hyphen",
		`[]`:                                 "spec.driver.template: is a list, not an object; ",
		`"text"`:                             `spec.driver.template: is the text "text", not an object; `,
		`{"spec":{"containers":[` + strings.Repeat("{},",
			10_000) + `{}]}}`: "spec.driver.template.spec.containers: has more than 1000 items; ",
	} {
		shown := raw[:min(len(raw), 40)]

		wrong := CheckTemplate("spec.driver.template", &runtime.RawExtension{Raw: []byte(raw)})
		switch {
		case (len(wrong) > 0) != (says != ""):
			t.Errorf("%s: %v, want %q", shown, wrong, says)
		case says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0].Error(), says)):
			t.Errorf("%s: %v, want %q", shown, wrong[0], says)
		}
	}

	if wrong := CheckTemplate("spec.driver.template", nil); len(wrong) > 0 {
		t.Errorf("no template: %v", wrong)
	}
}

// TestMemorySizes checks which texts Spark reads as sizes of memory (JavaUtils.byteStringAs). The unit is MiB if the
// text has none. Spark accepts neither fractions nor the units of Kubernetes.
func TestMemorySizes(t *testing.T) {
	for _, size := range []string{"1", "512m", "512M", "512mb", "2g", "2gb", "1t", "1p", "1024k", "1048576b", " 2g ",
		"8388607t"} {
		if err := CheckMemorySize(size); err != nil {
			t.Errorf("%q: %v", size, err)
		}
	}

	for _, size := range []string{"", " ", "0", "0g", "-1", "-1g", "+", "1.5g", "1Gi", "2gi", "g", "1 gb x", "1e3",
		"0x10", "١g", "1g\x00x", "9223372036854775808b", "9000p"} {
		err := CheckMemorySize(size)
		if err == nil {
			t.Errorf("%q is accepted", size)
			continue
		}

		if !strings.Contains(err.Error(),
			"is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g") {
			t.Errorf("%q: %v", size, err)
		}
	}
}

// FuzzMemorySize checks that an accepted size has a digit, and that the error quotes a rejected size, so that no size
// can break the line of a log or of an event.
func FuzzMemorySize(f *testing.F) {
	for _, size := range []string{"", "1g", "-1g", "1.5g", "1Gi", "9223372036854775807p", "1g\n", "\x00"} {
		f.Add(size)
	}

	f.Fuzz(func(t *testing.T, size string) {
		err := CheckMemorySize(size)
		switch {
		case err == nil && !strings.ContainsAny(size, "123456789"):
			t.Errorf("%q is accepted", size)
		case err != nil && (!strings.HasPrefix(err.Error(), `"`) || strings.ContainsAny(err.Error(), "\n\r\x00")):
			t.Errorf("the error is %q", err)
		}
	})
}

func TestReleaseLine(t *testing.T) {
	for version, want := range map[string]string{
		"4.1.4": "4.1", "v4.1.4": "4.1", "3.5": "3.5", "4.2.0-SNAPSHOT": "4.2", "4.0-vendor.7": "4.0", "": "",
		"latest": "", "4": "", "4.1x": "",
	} {
		if got := ReleaseLine(version); got != want {
			t.Errorf("the line of %q is %q, want %q", version, got, want)
		}
	}
}
