package native_test

import (
	"errors"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// TestErrorsThatSparkSubmitWouldNotReturn checks which errors are marked NotNative. Errors about settings that need a
// JVM, a file system's client or a file are marked. Errors about settings that could never work, or that users must not
// set, are not marked.
func TestErrorsThatSparkSubmitWouldNotReturn(t *testing.T) {
	const upload = "spark.kubernetes.file.upload.path"
	type change func(*submit.Request)
	set := func(pairs ...string) change {
		return func(r *submit.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Conf.Set(pairs[i], pairs[i+1])
			}
		}
	}

	resource := func(uri, class string) change {
		return func(r *submit.Request) { r.Resource, r.MainClass = uri, class }
	}
	for _, c := range []struct {
		name   string
		change []change
		about  string
		want   bool
	}{
		{"a driver template in the image", []change{set("spark.kubernetes.driver.podTemplateFile", "/opt/t.yaml")},
			"spark.kubernetes.driver.podTemplateFile", true},
		{"an executor template in an object store",
			[]change{set("spark.kubernetes.executor.podTemplateFile", "s3a://b/t")},
			"spark.kubernetes.executor.podTemplateFile", true},
		{"a CA certificate in the image", []change{set("spark.kubernetes.authenticate.driver.caCertFile", "/ca")},
			"spark.kubernetes.authenticate.driver.caCertFile", true},
		{"a client's key", []change{set("spark.kubernetes.authenticate.driver.clientKeyFile", "/k")},
			"spark.kubernetes.authenticate.driver.clientKeyFile", true},
		{"a client's certificate", []change{set("spark.kubernetes.authenticate.driver.clientCertFile", "/c")},
			"spark.kubernetes.authenticate.driver.clientCertFile", true},
		{"krb5.conf in the image", []change{set("spark.kubernetes.kerberos.krb5.path", "/etc/krb5.conf")},
			"spark.kubernetes.kerberos.krb5.path", true},
		{"a keytab in the image", []change{set("spark.kerberos.keytab", "/k", "spark.kerberos.principal", "p")},
			"spark.kerberos.keytab", true},
		{"a step that the user adds", []change{set("spark.kubernetes.driver.pod.featureSteps", "org.example.Step")},
			"spark.kubernetes.driver.pod.featureSteps", true},
		{"a pattern in an object store", []change{set("spark.jars", "s3a://b/*.jar")}, "spark.jars", true},
		{"a pattern of one character", []change{set("spark.files", "hdfs://n/a?.txt")}, "spark.files", true},
		{"a file to upload", []change{set("spark.files", "/opt/f", upload, "s3a://b")}, "spark.files", true},
		{"a file URL to upload", []change{set("spark.archives", "file:///opt/f", upload, "s3a://b")},
			"spark.archives", true},
		{"a jar to upload", []change{resource("/opt/a.jar", "A"), set(upload, "s3a://b")}, "Resource", true},
		{"a Python file to upload", []change{resource("a.py", ""), set(upload, "s3a://b")}, "Resource", true},
		{"an R file is never uploaded", []change{resource("/opt/a.R", "")}, "Resource", true},
		{"no class, and a jar in an object store", []change{resource("s3a://b/a.jar", "")}, "MainClass", true},
		{"no class, and a jar to upload", []change{resource("/a.jar", ""), set(upload, "s3a://b")}, "MainClass", true},
		{"a future version", []change{func(r *submit.Request) { r.SparkVersion, r.StrictVersion = "9.9.9", true }},
			"SparkVersion", true},

		{"a file without an upload path", []change{set("spark.files", "/opt/f")}, "spark.files", false},
		{"a jar without an upload path", []change{resource("/opt/a.jar", "A")}, "Resource", false},
		{"no class, and a jar in the image", []change{resource("local:///a.jar", "")}, "MainClass", false},
		{"no class, and a jar without an upload path", []change{resource("/a.jar", "")}, "MainClass", false},
		{"neither jar nor class", []change{resource("spark-internal", "")}, "MainClass", false},
		{"the submitter's credentials", []change{set("spark.kubernetes.authenticate.submission.oauthToken", "x")},
			"spark.kubernetes.authenticate.submission.oauthToken", false},
		{"a bind address", []change{set("spark.driver.bindAddress", "0.0.0.0")}, "spark.driver.bindAddress", false},
		{"an invalid memory size", []change{set("spark.driver.memory", "1.5g")}, "spark.driver.memory", false},
		{"an invalid version", []change{func(r *submit.Request) { r.SparkVersion = string(make([]byte, 200)) }},
			"SparkVersion", false},

		// An error about a setting that could never work takes precedence, regardless of the order of the checks.
		{"credentials and a step", []change{set("spark.kubernetes.driver.pod.featureSteps", "x.Y",
			"spark.kubernetes.authenticate.submission.oauthToken", "x")},
			"spark.kubernetes.authenticate.submission.oauthToken", false},
		{"memory size and a template",
			[]change{set("spark.kubernetes.driver.podTemplateFile", "/t", "spark.driver.memory", "2048")},
			"spark.driver.memory", false},
		{"a volume and a pattern", []change{set("spark.jars", "s3a://*",
			"spark.kubernetes.executor.volumes.nfs.v.mount.path", "/v")},
			"spark.kubernetes.executor.volumes.nfs.v.options.path", false},
		{"a file and a missing class", []change{resource("s3a://b/a.jar", ""), set("spark.files", "/f")}, "spark.files",
			false},
		{"two errors of the same kind", []change{set("spark.jars", "s3a://*", "spark.files", "s3a://*")},
			"spark.jars", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := kit.Minimal()
			for _, change := range c.change {
				change(&r)
			}

			o, err := native.Build(r)

			wrong, ok := errors.AsType[*submit.Error](err)
			if !ok {
				t.Fatalf("Build gave the error %v", err)
			}

			if wrong.Key+wrong.Field != c.about || wrong.NotNative != c.want {
				t.Errorf("%v: NotNative is %t, want %t about %s", err, wrong.NotNative, c.want, c.about)
			}

			if o.Driver != nil || len(o.Before) > 0 {
				t.Error("a refused request gave objects")
			}
		})
	}
}

func TestSparkInternalIsNotAFile(t *testing.T) {
	r := kit.Minimal()
	r.Resource = ""
	want := kit.SparkContainer(t, kit.Build(t, r)).Args
	r.Resource = "spark-internal"

	o := kit.Build(t, r)
	if got := kit.SparkContainer(t, o).Args; got[len(got)-1] != "spark-internal" || len(got) != len(want) {
		t.Errorf("arguments are %q, want %q", got, want)
	}

	if jars := kit.Props(t, o)["spark.jars"]; jars != "" {
		t.Errorf("spark.jars is %q", jars)
	}
}
