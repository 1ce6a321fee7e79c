package submit_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

func TestBoundedNames(t *testing.T) {
	long := strings.Repeat("a", 240)

	seen := map[string]bool{}
	for _, prefix := range []string{long + ".b", long + ".c", strings.Repeat("a.", 126) + "z"} {
		for _, suffix := range []string{"-driver", "-driver-podspec-conf-map", "-kubernetes-credentials"} {
			name := names.Bounded("", prefix, suffix)
			if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
				t.Errorf("Bounded(%q, %q) = %q: %v", prefix, suffix, name, errs)
			}

			if seen[name] {
				t.Errorf("two long names became one: %q", name)
			}

			seen[name] = true
		}
	}

	if got := submit.DriverPodName("pi-1"); got != "pi-1-driver" {
		t.Errorf("DriverPodName = %q", got)
	}
}

func TestLocalDirUUID(t *testing.T) {
	if got := names.LocalDirUUID("spark-6c48998273294de495e5c9d3a1722dba"); got != "6c489982-7329-4de4-95e5-c9d3a1722dba" {
		t.Errorf("a usual id gives %q", got)
	}

	other := names.LocalDirUUID("mine")
	if len(other) != 36 || strings.Count(other, "-") != 4 || other == names.LocalDirUUID("yours") {
		t.Errorf("another id gives %q", other)
	}
}
