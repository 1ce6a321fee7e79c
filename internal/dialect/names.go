package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// CheckName returns an error if the name of a custom resource is not a DNS label (RFC 1035) of at most the given
// length, because names of the given thing begin with this name: "a Service" or "a run".
func CheckName(name, thing string, longest int) []*FieldError {
	if len(name) <= longest && len(validation.IsDNS1035Label(name)) == 0 {
		return nil
	}

	if name == "" {
		return []*FieldError{{Field: "metadata.name", Message: "is required; write a name, or metadata.generateName"}}
	}
	return []*FieldError{{Field: "metadata.name", Message: fmt.Sprintf("%q is not valid as the beginning of %s's name: use at most %d lower case letters, digits and '-', "+
		"beginning with a letter and not ending with '-'", name, thing, longest)}}
}

// AppName returns the spark.app.name of a driver: the user's, or else the name of the custom resource. The names of
// executors would begin with the user's name, which may have any length and may be that of other applications. So if
// the user sets the name, AppName sets the beginning of their names, which id makes unique.
func AppName(c *conf.Conf, name, id string) string {
	own, _ := c.Get("spark.app.name")
	if own == "" || own == name {
		return name
	}

	sum := sha256.Sum256([]byte(id))
	// Spark allows 47 characters (Config.KUBERNETES_EXECUTOR_POD_NAME_PREFIX).
	prefix := strings.TrimRight(strings.ReplaceAll(name[:min(len(name), 38)], ".", "-"), "-") + "-" + hex.EncodeToString(sum[:4])
	c.SetIfMissing("spark.kubernetes.executor.podNamePrefix", prefix)
	return own
}
