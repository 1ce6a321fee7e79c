package kit

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Requests returns the inputs of the property tests: requests of every kind of application and for every Spark version,
// small and large requests, and long and unusual names.
func Requests() map[string]submit.Request {
	all := map[string]submit.Request{}
	for _, version := range append(submit.SupportedVersions(), "3.1.1", "9.9.9", "") {
		plain, heavy, python, long := Minimal(), HeavyRequest(), Minimal(), Minimal()
		python.Resource, python.MainClass = "local:///a.py", ""
		long.AppName = strings.Repeat("A long name. ", 40)
		long.ResourceNamePrefix = submit.ResourceNamePrefix(long.AppName, "c05dd8a1fbc0dc03")[:250]
		long.HadoopConfFiles, long.ExecutorTemplate = map[string]string{"a": "b"}, []byte(`{}`)

		if version == "3.5" || version == "3.1.1" {
			heavy.Conf.Delete("spark.kubernetes.driver.label.team") // its value has {{APP_ID}}, which needs Spark 4.0
		}

		for name, r := range map[string]submit.Request{"plain": plain, "heavy": heavy, "python": python, "long": long, "files": filesRequest()} {
			r.SparkVersion = version
			r.Labels = map[string]string{"example.org/app": "my-app", "b": "2", "a": "1", "c": "3"}
			all[name+"-"+version] = r
		}
	}
	return all
}

// filesRequest returns a request that has every file that a submitter could have, and templates with unknown fields.
func filesRequest() submit.Request {
	r := Gang("spark.kerberos.principal", "p", "spark.kubernetes.authenticate.driver.oauthToken", "t")
	r.DriverCredentials = submit.Credentials{CACert: []byte("ca"), ClientKey: []byte("key"), ClientCert: []byte("cert")}
	r.Keytab, r.Krb5Conf = &submit.File{Name: "k", Content: []byte("keytab")}, &submit.File{Name: "krb5.conf", Content: []byte("x")}
	r.PodGroupTemplate = []byte("metadata: {labels: {a: theirs}}\nspec: {minMember: 2}")
	r.DriverTemplate = []byte("spec: {future: 1, containers: [{name: c, future: 1}, {name: side, image: s}]}")
	r.ExecutorTemplate = []byte("spec: {future: 1, containers: [{name: c, future: {a: 1}}]}")
	return r
}

// ForAll runs a test for every request of Requests.
func ForAll(t *testing.T, hold func(t *testing.T, r submit.Request, o submit.Objects)) {
	for name, r := range Requests() {
		t.Run(name, func(t *testing.T) { hold(t, r, Build(t, r)) })
	}
}
