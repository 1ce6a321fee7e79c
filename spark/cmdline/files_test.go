package cmdline

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

func TestLists(t *testing.T) {
	for _, key := range fileLists {
		for text, want := range map[string]string{
			"":                                 "",
			" , ,":                             "",
			"local:///a.jar":                   "local:///a.jar",
			" local:///a , ,https://h/b?c=d#e": "local:///a,https://h/b?c=d#e",
			"a.jar,/b.jar,./c/../d.jar":        "file:/case/a.jar,file:/b.jar,file:/case/d.jar",
			"../e.jar,/f/g.jar,/h/":            "file:/e.jar,file:/f/g.jar,file:/h",
			"a b.zip,c%d.zip,[e].zip":          "file:/case/a%20b.zip,file:/case/c%25d.zip,file:/case/%5Be%5D.zip",
			"env.tar.gz#env,a%20b.zip#c":       "file:/case/env.tar.gz#env,file:/case/a%20b.zip#c",
			"a b#c":                            "file:/case/a%20b%23c",
			"ä.jar,s3a://b/ä.jar":              "file:/case/ä.jar,s3a://b/ä.jar",
			"file:/a,file:///b,HDFS://h/c":     "file:/a,file:///b,HDFS://h/c",
			"s3a://b/*.jar,s3a://my_bucket/a":  "s3a://b/*.jar,s3a://my_bucket/a",
			"local:///%41%20b":                 "local:///%41%20b",
		} {
			r := quietly(t, here(nil), line("-c", key+"="+text))
			if got, ok := r.Conf.Get(key); got != want || !ok {
				t.Errorf("%s: %q is %q, want %q", key, text, got, want)
			}
			// Resolving is idempotent.
			if got, _ := quietly(t, here(nil), line("-c", key+"="+want)).Conf.Get(key); got != want {
				t.Errorf("%s: %q once more is %q", key, want, got)
			}
		}
	}
}

// TestBlanksInAnOptionsList checks that a blank beside a comma becomes part of a file name if the list is the value of
// an option, as in spark-submit. TestRefusedLines checks blanks before a URL.
func TestBlanksInAnOptionsList(t *testing.T) {
	got, _ := quietly(t, here(nil), line("--files", "a, b, ,,local:///c")).Conf.Get("spark.files")
	if want := "file:/case/a,file:/case/%20b,local:///c"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}

func TestWorkingDirectory(t *testing.T) {
	for dir, want := range map[string]string{"": "/x.py", "/": "/x.py", "/a b": "/a%20b/x.py", "/c/../d/": "/d/x.py",
		"relative": "/relative/x.py"} {
		s := here(nil)

		s.WorkingDirectory = dir
		if r := quietly(t, s, []string{"--master", "k8s://h", "--deploy-mode", "cluster",
			"x.py"}); r.Resource != "file:"+want {
			t.Errorf("%q: the resource is %s, want file:%s", dir, r.Resource, want)
		}
	}
}

// TestFiles checks that Parse reads each file of the submitter from the place where Spark reads it, puts the content
// into the file's field of the Request, and removes the file's key.
func TestFiles(t *testing.T) {
	const template = "spec:\n  containers: [{name: c, resizePolicyOfTheFuture: 9007199254740993}]\n"
	const asJSON = `{"spec":{"containers":[{"name":"c","resizePolicyOfTheFuture":9007199254740993}]}}`
	driver, executor := "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"
	ca, key, cert := credentialsPrefix+"caCertFile", credentialsPrefix+"clientKeyFile",
		credentialsPrefix+"clientCertFile"

	krb5, steps := kerberosPrefix+"krb5.path", "spark.kubernetes.driver.pod.featureSteps"
	for name, c := range map[string]struct {
		pairs []string
		path  string
		text  string
		want  func(r *submit.Request)
		left  []string
	}{
		"a driver's template": {[]string{driver, "t.yaml"}, "/case/t.yaml", template,
			func(r *submit.Request) { r.DriverTemplate = []byte(asJSON) }, nil},
		"an executors' template": {[]string{executor, "/d/t.yaml"}, "/d/t.yaml", template,
			func(r *submit.Request) { r.ExecutorTemplate = []byte(asJSON) }, nil},
		"a template as JSON": {[]string{driver, "../t"}, "/t", asJSON + "\n",
			func(r *submit.Request) { r.DriverTemplate = []byte(asJSON + "\n") }, nil},
		"a template in braces": {[]string{driver, "t"}, "/case/t", "{spec: {containers: [{name: c}]}}",
			func(r *submit.Request) { r.DriverTemplate = []byte(`{"spec":{"containers":[{"name":"c"}]}}`) }, nil},
		"a template by URI": {[]string{driver, "file:///d/a%20b"}, "/d/a b", template,
			func(r *submit.Request) { r.DriverTemplate = []byte(asJSON) }, nil},
		"a template with local:": {[]string{driver, "local:///t"}, "/t", template,
			func(r *submit.Request) { r.DriverTemplate = []byte(asJSON) }, nil},
		"a template with a blank": {[]string{driver, "a b#c"}, "/case/a b#c", template,
			func(r *submit.Request) { r.DriverTemplate = []byte(asJSON) }, nil},
		"a template by reference": {[]string{driver, "${env:DIR}/${spark.file}", "spark.file", "t"}, "/env/t", template,
			func(r *submit.Request) { r.DriverTemplate = []byte(asJSON) }, []string{"spark.file", "t"}},
		"a template by namespace": {[]string{driver, "${spark.kubernetes.namespace}", "spark.kubernetes.namespace",
			"ns"}, "/case/ns", template,
			func(r *submit.Request) { r.DriverTemplate, r.Namespace = []byte(asJSON), "ns" }, nil},
		"a certificate of the API": {[]string{ca, "ca.crt"}, "/case/ca.crt", "\x00\xff",
			func(r *submit.Request) { r.DriverCredentials.CACert = []byte("\x00\xff") }, nil},
		"a client's key": {[]string{key, "/k"}, "/k", "k",
			func(r *submit.Request) { r.DriverCredentials.ClientKey = []byte("k") }, nil},
		"a client's certificate": {[]string{cert, "c"}, "/case/c", "c",
			func(r *submit.Request) { r.DriverCredentials.ClientCert = []byte("c") }, nil},
		"a reference stays": {[]string{cert, "${env:DIR}"}, "/case/${env:DIR}", "c",
			func(r *submit.Request) { r.DriverCredentials.ClientCert = []byte("c") }, nil},
		"krb5.conf": {[]string{krb5, "${env:DIR}/my.conf"}, "/env/my.conf", "[libdefaults]",
			func(r *submit.Request) {
				r.Krb5Conf = &submit.File{Name: "my.conf",
					Content: []byte("[libdefaults]")}
			}, nil},
		"a keytab": {[]string{"spark.kerberos.keytab", "d/k.keytab"}, "/case/d/k.keytab",
			"\xff", func(r *submit.Request) {
				r.Keytab = &submit.File{Name: "k.keytab",
					Content: []byte("\xff")}
			}, nil},
		"a keytab by its old name": {[]string{"spark.yarn.keytab", "/k"}, "/k", "k",
			func(r *submit.Request) { r.Keytab = &submit.File{Name: "k", Content: []byte("k")} }, nil},
		"a keytab of the image": {[]string{"spark.kerberos.keytab", "local:///k"}, "", "", nil,
			[]string{"spark.kerberos.keytab", "local:///k"}},
		"an image's keytab by its old name": {[]string{"spark.yarn.keytab", "local:///k"}, "", "", nil,
			[]string{"spark.yarn.keytab", "local:///k", "spark.kerberos.keytab", "local:///k"}},
		"a PodGroup": {[]string{steps, "a.B, " + volcanoClass, volcanoFileKey, "g"}, "/case/g",
			"spec: {}", func(r *submit.Request) { r.PodGroupTemplate = []byte("spec: {}") },
			[]string{steps, "a.B, " + volcanoClass}},
		"a PodGroup without its step": {[]string{volcanoFileKey, "g"}, "/case/g", "spec: {}", nil,
			[]string{volcanoFileKey, "g"}},
		"Volcano's step without group": {[]string{steps, volcanoClass}, "", "", nil,
			[]string{steps, volcanoClass}},
	} {
		t.Run(name, func(t *testing.T) {
			s := here(map[string]string{c.path: c.text})
			s.Environment = map[string]string{"DIR": "/env"}

			var words []string
			for i := 0; i < len(c.pairs); i += 2 {
				words = append(words, "-c", c.pairs[i]+"="+c.pairs[i+1])
			}

			want := plain(c.want, c.left...)

			want.Environment = s.Environment
			if diff := cmp.Diff(want, quietly(t, s, line(words...)), compareRequests); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHadoopConfDir(t *testing.T) {
	s := here(map[string]string{"/case/hc/core-site.xml": "<a/>", "/case/hc/x.zip": "z", "/case/hc/sub/y": "y",
		"/other": "o"})

	s.Environment = map[string]string{"HADOOP_CONF_DIR": "hc"}
	if diff := cmp.Diff(map[string]string{"core-site.xml": "<a/>", "x.zip": "z"},
		quietly(t, s, line()).HadoopConfFiles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	s.Environment["HADOOP_CONF_DIR"] = "none"
	if r, warnings := parsed(t, s, line()); r.HadoopConfFiles != nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "/case/none contains no files") {
		t.Errorf("a directory that is not there: %v, %q", r.HadoopConfFiles, warnings)
	}

	s.Environment["HADOOP_CONF_DIR"] = ""
	if r := quietly(t, s, line("-c", "spark.kubernetes.hadoop.configMapName=cm")); r.HadoopConfFiles != nil {
		t.Errorf("no directory: %v", r.HadoopConfFiles)
	}
}

// TestTextOfLines checks files that are not UTF-8, for each Spark release line. If the content goes into a ConfigMap,
// Spark up to 4.0 replaces invalid bytes, and Spark 4.1 and later reject the file. Content for a Secret is not changed.
func TestTextOfLines(t *testing.T) {
	const latin, replaced = "\xe4\xf6 \xff", "\ufffd\ufffd \ufffd"
	s := here(map[string]string{"/h/a": latin, "/h/b": "b", "/k": latin})
	s.Environment = map[string]string{"HADOOP_CONF_DIR": "/h"}

	words := line("-c", kerberosPrefix+"krb5.path=/k", "--keytab", "/k")
	for _, version := range submit.SupportedVersions() {
		s.SparkVersion = version
		if version >= "4.1" {
			refusedArgs(t, s, words, kerberosPrefix+"krb5.path", "/k is not UTF-8")
			refusedArgs(t, s, line(), "HADOOP_CONF_DIR", "/h/a is not UTF-8")
			continue
		}

		r, warnings := parsed(t, s, words)
		if len(warnings) != 2 || r.HadoopConfFiles["a"] != replaced || r.HadoopConfFiles["b"] != "b" ||
			string(r.Krb5Conf.Content) != replaced {
			t.Errorf("%s: %q, %q, warnings %q", version, r.HadoopConfFiles, r.Krb5Conf.Content, warnings)
		}

		if string(r.Keytab.Content) != latin {
			t.Errorf("%s: the keytab is %q", version, r.Keytab.Content)
		}
	}
}

func TestSparkConfDir(t *testing.T) {
	files := map[string]string{"log4j2.properties": "a", "spark-env.sh": "b", "spark-defaults.conf": "spark.a=1",
		"spark-x.conf": "c", "spark.properties": "d",
		"metrics.properties": "e", "metrics.properties.template": "f", "a.zip": "g", "latin": "\xff", "empty": ""}

	inDir := map[string]string{}
	for name, text := range files {
		inDir[path.Join("/opt/spark/conf", name)] = text
	}

	want := map[string]string{"log4j2.properties": "a", "spark-env.sh": "b", "metrics.properties": "e", "empty": ""}
	for name, c := range map[string]struct {
		environment map[string]string
		words       []string
		want        map[string]string
		defaults    bool
	}{
		"SPARK_CONF_DIR": {map[string]string{"SPARK_CONF_DIR": "../opt/spark/conf"}, nil,
			want, true},
		"SPARK_HOME": {map[string]string{"SPARK_HOME": "/opt/spark"}, nil, want, true},
		"SPARK_CONF_DIR before SPARK_HOME": {map[string]string{"SPARK_HOME": "/opt/spark",
			"SPARK_CONF_DIR": "/none"}, nil, nil, false},
		"spark.home": {nil, []string{"-c", "spark.home=/opt/spark"}, want, false},
		"SPARK_HOME before spark.home": {map[string]string{"SPARK_HOME": "/none"},
			[]string{"-c", "spark.home=/opt/spark"}, nil, false},
		"a properties file, no defaults": {map[string]string{"SPARK_HOME": "/opt/spark"},
			[]string{"--properties-file", "/opt/spark/conf/empty"}, want, false},
		"no setting names a directory": {nil, nil, nil, false},
		"an empty variable names no directory": {map[string]string{"SPARK_CONF_DIR": "", "SPARK_HOME": ""}, nil, nil,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			s := here(inDir)
			s.Environment = c.environment

			r, warnings := parsed(t, s, line(c.words...))
			if diff := cmp.Diff(c.want, r.ConfFiles); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			if c.want != nil && (len(warnings) != 1 || !strings.Contains(warnings[0], "latin: is left out")) {
				t.Errorf("the warnings are %q", warnings)
			}

			if r.Conf.Has("spark.a") != c.defaults {
				t.Errorf("the defaults were read: %t, want %t", !c.defaults, c.defaults)
			}
		})
	}
}

// TestTemplatesKeepWhatIsUnknown checks that a pod template reaches Build with all its fields, including unknown ones.
func TestTemplatesKeepWhatIsUnknown(t *testing.T) {
	s := here(map[string]string{"/case/t": "spec:\n  ofTheFuture: {a: [1, 2.5, \"x\", null, true]}\n"})
	r := quietly(t, s, line("-c", "spark.kubernetes.driver.podTemplateFile=t"))

	var got, want any
	if err := json.Unmarshal(r.DriverTemplate, &got); err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal([]byte(`{"spec":{"ofTheFuture":{"a":[1,2.5,"x",null,true]}}}`), &want); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
