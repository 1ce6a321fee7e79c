package figure

import "testing"

func TestCases(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 10_000: "10,000", 1_234_567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
	for got, want := range map[string]string{
		LiveCase(10_000): "10,000 live", SubmitCase("4.1.4", 1): "Spark 4.1.4, one at a time", SubmitCase("3.5.8", 4): "Spark 3.5.8, 4 at once",
	} {
		if got != want {
			t.Errorf("the case is %q, want %q", got, want)
		}
	}
}
