package standalone

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

const (
	namespaceKey    = "spark.kubernetes.namespace"
	imageKey        = "spark.kubernetes.container.image"
	schedulerKey    = "spark.kubernetes.scheduler.name"
	shuffleKey      = "spark.shuffle.service.enabled"
	preferMasterKey = "spark.worker.preferConfiguredMasterAddress"
	redactionKey    = "spark.redaction.regex"
	authenticateKey = "spark.authenticate"
	authSecretKey   = "spark.authenticate.secret"
	authFileKey     = "spark.authenticate.secret.file"
	masterUIKey     = "spark.master.ui.port"
	workerUIKey     = "spark.worker.ui.port"
	restKey         = "spark.master.rest.port"
	restEnabledKey  = "spark.master.rest.enabled"
	recoveryModeKey = "spark.deploy.recoveryMode"
	recoveryPathKey = "spark.deploy.recoveryDirectory"
)

// The names of the files with the daemons' options. They are keys of the ConfigMap and of the Secret, which are mounted
// into the same directory.
const (
	// OptionsKey is the name of the file with the options that are not secret.
	OptionsKey = "conf.options"
	// SecretOptionsKey is the name of the file with the options that look like secrets.
	SecretOptionsKey = "secret.options"

	mountDir   = "/etc/spark-cluster"
	confVolume = "spark-cluster-conf"
)

// OptionFiles returns the paths of the files with the daemons' options.
func OptionFiles() []string {
	return []string{mountDir + "/" + OptionsKey, mountDir + "/" + SecretOptionsKey}
}

// maxConfigMap is the maximum size of a ConfigMap or a Secret in bytes (corev1.MaxSecretSize).
const maxConfigMap = 1 << 20

// configuration determines the daemons' options, and builds the ConfigMap and the Secret that contain the options.
func (d *draft) configuration(o *Objects) error {
	if err := d.setConf(); err != nil {
		return err
	}

	secret := d.secrets()

	var plain, hidden strings.Builder
	for key, value := range d.conf.All() {
		if secret(key, value) {
			writeOption(&hidden, key, value)
		} else {
			writeOption(&plain, key, value)
		}
	}

	if size := max(plain.Len(), hidden.Len()); size > maxConfigMap {
		return fieldError("Conf", "%d bytes are more than a ConfigMap or Secret holds (%d); make the configuration smaller", size, maxConfigMap)
	}

	o.Config = &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: d.meta(configMapName(d.r.Name), "", Metadata{}),
		Data:       map[string]string{OptionsKey: plain.String()},
	}

	d.digest = digest(plain.String())
	if hidden.Len() > 0 {
		// The name does not reveal the Secret's content. A reader who knows the owner's UID could guess contents and
		// compare digests, but many contents have the same short digest. A secret that can be guessed is no secret
		// anyway.
		d.secret = d.r.Name + "-cluster-secret-" + digest(string(d.r.Owner.UID), hidden.String())[:8]
		o.Secret = &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: d.meta(d.secret, "", Metadata{}),
			Data:       map[string][]byte{SecretOptionsKey: []byte(hidden.String())},
			Immutable:  new(true),
		}
	}
	return nil
}

// setConf sets the configuration of both daemons from defaults, the user's values, and the keys that the user cannot
// set.
func (d *draft) setConf() error {
	d.conf = conf.New()
	d.conf.Set(shuffleKey, "true")
	d.conf.Set(preferMasterKey, "true")

	for key, value := range d.r.Conf.All() {
		switch {
		case !utf8.ValidString(key) || !utf8.ValidString(value):
			return keyError(strings.ToValidUTF8(key, "?"), "is not UTF-8 text")
		case key == "" || strings.Contains(key, "="):
			return keyError(key, "%q is not a valid property name: it must not be empty or contain an equals sign", conf.Shorten(key))
		case strings.Contains(key, "\x00") || strings.Contains(value, "\x00"):
			return keyError(key, "contains a NUL character, which an option of a program cannot have")
		case key == imageKey:
			var err error
			if value, err = conf.Substitute(value, conf.VersionMarker, d.r.SparkVersion, conf.MaxImage); err != nil {
				return keyError(key, "%v", err)
			}
		}

		d.conf.Set(key, value)
	}

	if given, ok := d.conf.Get(namespaceKey); ok && given != d.r.Namespace {
		d.warns.OfKey(namespaceKey, "has no effect: the cluster is in its own namespace, %q", d.r.Namespace)
	}

	d.conf.Set(namespaceKey, d.r.Namespace)

	for key, warning := range d.conf.Unfilled() {
		d.warns.OfKey(key, "%s", warning)
	}
	return nil
}

// secrets returns a function that reports whether a pair looks like a secret. The function compares the pair with
// Spark's own pattern and, if the user sets spark.redaction.regex, also with the user's pattern.
func (d *draft) secrets() func(key, value string) bool {
	looks, err := conf.Secrets(d.conf)
	if err != nil {
		d.warns.OfKey(redactionKey, "is a pattern that the operator cannot use (%s), so the whole configuration is kept as a secret; write a simpler pattern", conf.Shorten(err.Error()))
	}
	return looks
}

// optionText escapes the characters that have a special meaning in a quoted argument of an argument file.
var optionText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`)

// writeOption writes a pair as a system property (-Dkey=value), on its own line of an argument file of the java
// command.
func writeOption(b *strings.Builder, key, value string) {
	b.WriteString(`"-D`)
	b.WriteString(optionText.Replace(key))
	b.WriteByte('=')
	b.WriteString(optionText.Replace(value))
	b.WriteString("\"\n")
}

// optionFiles returns the arguments with which the java command reads the option files.
func (d *draft) optionFiles() string {
	files := "@" + mountDir + "/" + OptionsKey
	if d.secret != "" {
		files += " @" + mountDir + "/" + SecretOptionsKey
	}
	return files
}

// warnAuthentication warns if authentication is on but the configuration contains no authentication secret.
func (d *draft) warnAuthentication() {
	if on, _ := d.conf.Get(authenticateKey); !strings.EqualFold(strings.TrimSpace(on), "true") || d.conf.Has(authSecretKey) || d.conf.Has(authFileKey) {
		return
	}

	d.warns.OfKey(authenticateKey, "is true and %s is not set: master, workers and applications of a standalone cluster need the same secret and fail without it; set the key, or provide the secret in the "+
		"image or in the variable _SPARK_AUTH_SECRET of both templates", authSecretKey)
}

// digest returns a short digest of the texts.
func digest(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		sum.Write([]byte(text))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
