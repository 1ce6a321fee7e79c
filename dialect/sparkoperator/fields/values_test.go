package fields

import "testing"

// TestMemoryQuantity checks that a memory limit may be written in the notation of Spark or in the notation of
// Kubernetes.
func TestMemoryQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"2g": "2Gi", "2G": "2Gi", "2gb": "2Gi", "512m": "512Mi", "1t": "1Ti", "1k": "1Ki", "4096": "4Gi", " 2g ": "2Gi",
		"1.5g": "1536Mi", "0.5GB": "512Mi", "2Gi": "2Gi", "1.5Gi": "1536Mi", "500M": "500Mi", "1e9": "1e9",
	} {
		if got, err := MemoryQuantity(text); err != nil || got.String() != want {
			t.Errorf("%q is %s (%v), want %s", text, got.String(), err, want)
		}
	}
	for _, text := range []string{"", "g", "much", "-1g", "0g", "1.5.5g", "1 g b", "NaN"} {
		if got, err := MemoryQuantity(text); err == nil {
			t.Errorf("%q is %s", text, got.String())
		}
	}
}
