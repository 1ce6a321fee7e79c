package submit_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestProtect checks that Protect enables authentication and encryption together, and that the user's settings override
// those of Protect.
func TestProtect(t *testing.T) {
	basic := map[string]string{"spark.authenticate": "true", "spark.network.crypto.enabled": "true",
		"spark.network.crypto.saslFallback": "false"}
	with := func(more ...string) map[string]string {
		all := maps.Clone(basic)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}

	const engine, cipher, gcm = "spark.network.crypto.authEngineVersion", "spark.network.crypto.cipher",
		"AES/GCM/NoPadding"
	for name, c := range map[string]struct {
		version string
		given   map[string]string
		want    map[string]string
	}{
		"3.5":                          {"3.5.9", nil, basic},
		"4.0":                          {"4.0.5", nil, with(engine, "2")},
		"4.1 before the fix":           {"4.1.3", nil, with(engine, "2")},
		"4.1 with the fix":             {"v4.1.4", nil, with(engine, "2", cipher, gcm)},
		"4.1 without a patch number":   {"4.1", nil, with(engine, "2")},
		"4.2":                          {"4.2.1", nil, with(engine, "2")},
		"4.3":                          {"4.3.0", nil, with(engine, "2", cipher, gcm)},
		"5":                            {"5.0.0-preview1", nil, with(engine, "2", cipher, gcm)},
		"version that is not a number": {"latest", nil, basic},
		"authentication disabled": {"4.3.0", map[string]string{"spark.authenticate": "false"},
			map[string]string{"spark.authenticate": "false"}},
		"authentication is not a boolean": {"4.3.0", map[string]string{"spark.authenticate": "perhaps"},
			map[string]string{"spark.authenticate": "perhaps"}},
		"encryption disabled": {"4.3.0", map[string]string{"spark.network.crypto.enabled": "false"},
			map[string]string{"spark.network.crypto.enabled": "false", "spark.authenticate": "true"}},
		"encrypted by TLS": {"4.3.0", map[string]string{"spark.ssl.rpc.enabled": "true"},
			map[string]string{"spark.ssl.rpc.enabled": "true", "spark.authenticate": "true"}},
		"another cipher": {"4.3.0", map[string]string{cipher: "AES/CTR/NoPadding"},
			with(engine, "2", cipher, "AES/CTR/NoPadding")},
		"another engine": {"4.3.0", map[string]string{engine: "1"}, with(engine, "1", cipher, gcm)},
		"authentication enabled": {"4.3.0", map[string]string{"spark.authenticate": "true"},
			with(engine, "2", cipher, gcm)},
		"secret that the user sets": {"4.0.5", map[string]string{"spark.authenticate.secret.file": "/s"},
			with(engine, "2", "spark.authenticate.secret.file", "/s")},
	} {
		got := conf.FromMap(c.given)
		submit.Protect(got, c.version)

		if diff := cmp.Diff(c.want, got.Map()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		for key := range got.All() {
			if strings.Contains(key, "io.encryption") {
				t.Errorf("%s: %s is about local disks", name, key)
			}
		}
	}
}
