package submit

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Keys by which a driver and its executors prove to each other that they belong together, and encrypt what they send.
const (
	authenticateKey   = "spark.authenticate"
	cryptoKey         = "spark.network.crypto.enabled"
	cipherKey         = "spark.network.crypto.cipher"
	authEngineKey     = "spark.network.crypto.authEngineVersion"
	saslFallbackKey   = "spark.network.crypto.saslFallback"
	saslEncryptionKey = "spark.authenticate.enableSaslEncryption"
	rpcTLSKey         = "spark.ssl.rpc.enabled"
)

// Protect makes driver and executors authenticate each other and encrypt what they send, where the configuration does not say otherwise. On Kubernetes, the
// driver generates the secret, in client mode as well, and gives it to its executors in their environment (SecurityManager.initializeAuth,
// BasicExecutorFeatureStep). It must not be used for a driver of a standalone cluster, which needs a secret that the whole cluster knows.
//
// Whoever sets spark.authenticate to false gets no encryption either, since Spark ends where it finds one without the other. Whoever chooses another
// encryption (TLS, SASL, their own cipher) gets that one.
func Protect(c *conf.Conf, version string) {
	c.SetIfMissing(authenticateKey, "true")
	if on, err := c.Bool(authenticateKey, true); err != nil || !on {
		return
	}
	if slices.ContainsFunc([]string{cryptoKey, saslEncryptionKey, rpcTLSKey}, c.Has) {
		return
	}
	c.Set(cryptoKey, "true")
	c.SetIfMissing(saslFallbackKey, "false") // there is no executor of another version, which might need it
	if version := versionPattern.FindStringSubmatch(version); version != nil && version[1] != "3" {
		c.SetIfMissing(authEngineKey, "2")
	}
	if authenticatedCipher(version) {
		c.SetIfMissing(cipherKey, "AES/GCM/NoPadding")
	}
}

// releasePattern is a version with all of its three numbers.
var releasePattern = regexp.MustCompile(`^v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:[.-].*)?$`)

// authenticatedCipher reports whether a version of Spark is known to have a usable AES/GCM. Versions before it end connections at the second message
// (SPARK-56227), and use AES/CTR instead, which keeps what is sent secret but not from being changed.
func authenticatedCipher(version string) bool {
	match := releasePattern.FindStringSubmatch(version)
	if match == nil {
		return false
	}
	// The pattern leaves nothing that Atoi refuses.
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	patch, _ := strconv.Atoi(match[3])
	return major > 4 || major == 4 && (minor > 2 || minor == 1 && patch >= 4)
}
