package apache

import (
	"slices"
	"testing"
)

// TestKeysOfAreInTheOrderOfTheNumbers checks that keys are sorted as numbers and that keys without a number are left
// out.
func TestKeysOfAreInTheOrderOfTheNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ keys, want []string }{
		"no history":           {nil, nil},
		"not as texts":         {[]string{"10", "9", "100", "0", "2"}, []string{"0", "2", "9", "10", "100"}},
		"what is no number":    {[]string{"1", "x", "", "-1", "9223372036854775808", "0"}, []string{"0", "1"}},
		"only what is none":    {[]string{"x", "-5"}, nil},
		"the largest number":   {[]string{"9223372036854775807", "0", "9223372036854775806"}, []string{"0", "9223372036854775806", "9223372036854775807"}},
		"one number, two keys": {[]string{"7", "007", "8", "07", "6"}, []string{"6", "007", "07", "7", "8"}},
	} {
		history := map[string]bool{}
		for _, key := range c.keys {
			history[key] = true
		}
		for range 20 { // each call iterates over the map in another order
			if got := KeysOf(history); !slices.Equal(got, c.want) {
				t.Fatalf("%s: %q, want %q", name, got, c.want)
			}
		}
		if len(history) != len(c.keys) {
			t.Errorf("%s: the history has %d states left of %d", name, len(history), len(c.keys))
		}
	}
}
