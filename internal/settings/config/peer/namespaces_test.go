package peer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

func TestServedNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      config.Namespaces
	}{
		"no flag":                {[]string{"controller", "start"}, config.Namespaces{}},
		"names":                  {[]string{"--namespaces=a,b"}, config.Namespaces{Names: []string{"a", "b"}}},
		"one dash and 1.x":       {[]string{"-namespace=a"}, config.Namespaces{Names: []string{"a"}}},
		"quoted":                 {[]string{`--namespaces="a"`}, config.Namespaces{Names: []string{"a"}}},
		"empty":                  {[]string{"--namespaces="}, config.Namespaces{}},
		"selector":               {[]string{"--namespace-selector=spark=on"}, config.Namespaces{Selector: "spark=on"}},
		"selector and names":     {[]string{"--namespace-selector=spark=on", "--namespaces=a"}, config.Namespaces{Names: []string{"a"}, Selector: "spark=on"}},
		"selector without names": {[]string{"--namespace-selector=spark=on", "--namespaces="}, config.Namespaces{Selector: "spark=on"}},
		"empty name beside one":  {[]string{"--namespace-selector=spark=on", "--namespaces=a,"}, config.Namespaces{}},
	} {
		if diff := cmp.Diff(test.want, ServedNamespaces(test.arguments)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
