package submit

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
)

// The configuration keys that control authentication and encryption between a driver and its executors.
const (
	authenticateKey   = "spark.authenticate"
	cryptoKey         = "spark.network.crypto.enabled"
	cipherKey         = "spark.network.crypto.cipher"
	authEngineKey     = "spark.network.crypto.authEngineVersion"
	saslFallbackKey   = "spark.network.crypto.saslFallback"
	saslEncryptionKey = "spark.authenticate.enableSaslEncryption"
	rpcTLSKey         = "spark.ssl.rpc.enabled"
)

// Protect sets the keys with which a driver and its executors authenticate each other and encrypt their connections,
// unless the configuration sets these keys itself. On Kubernetes, the driver generates the secret (in client mode too)
// and passes it to its executors in their environment (SecurityManager.initializeAuth, BasicExecutorFeatureStep). Do
// not use Protect for a driver of a standalone cluster, because such a driver needs the secret that the whole cluster
// shares.
//
// If the configuration sets spark.authenticate to false, Protect does not enable encryption either, since Spark fails
// if encryption is enabled without authentication. If the configuration sets the encryption itself (TLS, SASL) or a
// cipher, Protect keeps that setting.
func Protect(c *conf.Conf, version string) {
	c.SetIfMissing(authenticateKey, "true")

	if on, err := c.Bool(authenticateKey, true); err != nil || !on {
		return
	}

	if slices.ContainsFunc([]string{cryptoKey, saslEncryptionKey, rpcTLSKey}, c.Has) {
		return
	}

	c.Set(cryptoKey, "true")
	c.SetIfMissing(saslFallbackKey, "false") // all executors have the driver's version, so none needs the fallback

	if version := line.VersionPattern.FindStringSubmatch(version); version != nil && version[1] != "3" {
		c.SetIfMissing(authEngineKey, "2")
	}

	if authenticatedCipher(version) {
		c.SetIfMissing(cipherKey, "AES/GCM/NoPadding")
	}
}

// releasePattern matches a version that has all three numbers.
var releasePattern = regexp.MustCompile(`^v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:[.-].*)?$`)

// authenticatedCipher reports whether the cipher AES/GCM is known to work in a version of Spark. Versions with the bug
// SPARK-56227 close a connection with this cipher at the second message. They have to use AES/CTR, which keeps messages
// secret but does not protect them from changes.
func authenticatedCipher(version string) bool {
	match := releasePattern.FindStringSubmatch(version)
	if match == nil {
		return false
	}
	// The pattern matches only digits that Atoi accepts.
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	patch, _ := strconv.Atoi(match[3])
	return major > 4 || major == 4 && (minor > 2 || minor == 1 && patch >= 4)
}
