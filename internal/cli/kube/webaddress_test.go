package kube

import "testing"

// TestWebAddresses checks which addresses of a status a browser may open. Users with the right to write a status may
// have written them.
func TestWebAddresses(t *testing.T) {
	t.Parallel()

	for address, want := range map[string]bool{
		"https://history.example.com/history/spark-1/": true,
		"http://10.0.0.1:18080":                        true,
		"":                                             false,
		"javascript:alert(1)//history/spark-1/":        false,
		"file:///etc/passwd":                           false,
		"//history.example.com/history/spark-1/":       false,
		"https:///history/spark-1/":                    false,
		"https://history.example.com@evil.example/history/x/":    false,
		"https://user:password@history.example.com/history/x/":   false,
		"https://history.example.com/history/x/\x1b]8;;http://a": false,
	} {
		if got := IsWebAddress(address); got != want {
			t.Errorf("%q may be opened: %t, want %t", address, got, want)
		}
	}
}
