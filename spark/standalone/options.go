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

// The files that daemons read their options from: keys of the ConfigMap and of the Secret, mounted together.
const (
	// OptionsKey is the file of the options that are no secrets.
	OptionsKey = "conf.options"
	// SecretOptionsKey is the file of those that look secret.
	SecretOptionsKey = "secret.options"

	mountDir   = "/etc/spark-cluster"
	confVolume = "spark-cluster-conf"
)

// maxConfigMap is the most that a ConfigMap or a Secret may hold, in bytes (corev1.MaxSecretSize).
const maxConfigMap = 1 << 20

// configuration settles what the daemons are told, and makes the objects that they read it from.
func (d *draft) configuration(o *Objects) error {
	if err := d.settle(); err != nil {
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
		return fieldError("Conf", "%d bytes are more than an object of Kubernetes holds (%d); make it smaller", size, maxConfigMap)
	}
	o.Config = &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: d.meta(ConfigMapName(d.r.Name), "", Metadata{}),
		Data:       map[string]string{OptionsKey: plain.String()},
	}
	d.digest = digest(plain.String())
	if hidden.Len() > 0 {
		// The name tells what the Secret holds to nobody who does not know that already. Who may read the owner's UID can try guesses, of which many fit a
		// digest so short; a secret that can be guessed is none.
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

// settle makes the configuration of both daemons: what is true where the user says nothing, what he says, and what is not his to say.
func (d *draft) settle() error {
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
			return keyError(key, "has a NUL in it, which no option of a program can have")
		case key == imageKey:
			var err error
			if value, err = conf.Substitute(value, conf.VersionMarker, d.r.SparkVersion, conf.MaxImage); err != nil {
				return keyError(key, "%v", err)
			}
		}
		d.conf.Set(key, value)
	}
	if said, ok := d.conf.Get(namespaceKey); ok && said != d.r.Namespace {
		d.warns.OfKey(namespaceKey, "has no effect: the cluster is in its own namespace, %q", d.r.Namespace)
	}
	d.conf.Set(namespaceKey, d.r.Namespace)
	return nil
}

// secrets returns what tells whether a pair looks secret: by Spark's own pattern, or by the user's.
func (d *draft) secrets() func(key, value string) bool {
	looks, err := conf.Secrets(d.conf)
	if err != nil {
		d.warns.OfKey(redactionKey, "is a pattern that the operator cannot use (%s); the whole configuration is kept as a secret", conf.Shorten(err.Error()))
	}
	return looks
}

// optionText escapes what ends a quoted argument in a file of arguments, or is written otherwise there.
var optionText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`)

// writeOption writes a pair as a system property, on a line of its own, as the java command reads files of arguments.
func writeOption(b *strings.Builder, key, value string) {
	b.WriteString(`"-D`)
	b.WriteString(optionText.Replace(key))
	b.WriteByte('=')
	b.WriteString(optionText.Replace(value))
	b.WriteString("\"\n")
}

// optionFiles are the arguments by which the java command reads the options.
func (d *draft) optionFiles() string {
	files := "@" + mountDir + "/" + OptionsKey
	if d.secret != "" {
		files += " @" + mountDir + "/" + SecretOptionsKey
	}
	return files
}

// tellAuthentication warns where daemons would have to know a secret that nobody tells them.
func (d *draft) tellAuthentication() {
	if on, _ := d.conf.Get(authenticateKey); !strings.EqualFold(strings.TrimSpace(on), "true") || d.conf.Has(authSecretKey) || d.conf.Has(authFileKey) {
		return
	}
	d.warns.OfKey(authenticateKey, "is true and there is no %s: master, workers and applications of a standalone cluster must know the same one, and end without it, unless the image or the variable "+
		"_SPARK_AUTH_SECRET of both templates has it", authSecretKey)
}

// digest is short text that differs where the texts do.
func digest(texts ...string) string {
	sum := sha256.New()
	for _, text := range texts {
		sum.Write([]byte(text))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
