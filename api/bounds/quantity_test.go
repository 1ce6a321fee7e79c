package bounds

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// refusedQuantities are texts with which resource.ParseQuantity would compute for a long time.
var refusedQuantities = []string{
	"1234567890123456789012e2000000000",
	"1e2000000000", "1E2000000000", "1e-2000000000", "1e+2000000000",
	"1e100", "1e-100", "1e+100",
	"1e0000000000000000099", "1e+0000000000000000099", "1.5e0000000000000000099",
	"0.00000000000000000000000000000000000000000000000000000000000000000001",
	strings.Repeat("1", 65), strings.Repeat("1", 1_000_000), strings.Repeat("1", 1_000_000) + "Ki",
	"." + strings.Repeat("1", 1_000_000) + "Mi",
	strings.Repeat("0", 1_000_000), " " + strings.Repeat("1", 70),
}

// acceptedQuantities are quantities in all forms that users write, and the longest and largest quantities that are
// within the limits.
var acceptedQuantities = []string{
	"0", "1", "500m", "1.5", ".5", "5.", "2Gi", "1Ki", "1.5Gi", "100u", "7n", "3k", "2M", "4G", "5T", "6P", "1E", "1Ei",
	"1e3", "1E3", "1e-3", "1e+3", "12e6",
	"-0", "+1", "1.5e-3", strings.Repeat("9", 64), strings.Repeat("9", 61) + "e99", strings.Repeat("9", 60) + "e-99",
	"0." + strings.Repeat("3", 62), strings.Repeat("9", 62) + "Ei",
}

func TestQuantityRejectsTextsBeyondTheLimits(t *testing.T) {
	for _, text := range refusedQuantities {
		if _, err := Quantity(text); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%.80q (%d characters): %v, want an error that names the limit", text, len(text), err)
		}
	}
}

// TestQuantityReadsTextsWithinTheLimitsAsBefore checks that Quantity returns the same result as resource.ParseQuantity
// if a quantity is within the limits. It also adds and compares these quantities and limits the time that this takes.
func TestQuantityReadsTextsWithinTheLimitsAsBefore(t *testing.T) {
	var sum resource.Quantity
	began := time.Now()

	for _, text := range acceptedQuantities {
		got, err := Quantity(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}

		if want := resource.MustParse(text); got.Cmp(want) != 0 || got.String() != want.String() {
			t.Errorf("%q reads as %s, want %s", text, got.String(), want.String())
		}

		sum.Add(got)

		for _, other := range acceptedQuantities {
			got.Cmp(resource.MustParse(other))
		}
	}

	_ = sum.String()

	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("reading, adding and comparing %d quantities took %s", len(acceptedQuantities), took)
	}

	for _, text := range []string{"", "abc", "1e", "1e1.5", "1KiB", "1e5e5", "E9", "e-3", "+e2", ".E1"} {
		if _, err := Quantity(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// TestNegativeQuantities checks that no negative quantity is accepted, whatever its notation, and that the sign of an
// exponent is no sign of the quantity.
func TestNegativeQuantities(t *testing.T) {
	for _, text := range []string{"0", "-0", "-0.0", "-0Gi", "1e-3", "5E-2"} {
		if _, err := Quantity(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}

	for _, text := range acceptedQuantities {
		text = "-" + strings.TrimLeft(text, "+-")

		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() >= 0 {
			continue
		}

		if _, err := Quantity(text); len(text) <= MaxQuantity &&
			(err == nil || !strings.Contains(err.Error(), "is negative; write 0 or more")) {
			t.Errorf("%q: %v", text, err)
		}

		template := `{"spec":{"containers":[{"resources":{"requests":{"memory":"` + text + `"}}}]}}`
		if fault := Check([]byte(template), RawShape[corev1.PodTemplateSpec](), "spec.driver.template"); fault == nil {
			t.Errorf("%q is accepted in an object", text)
		}
	}
}
