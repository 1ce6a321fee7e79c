package cmdline

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// here returns a Submitter whose working directory is /case and whose machine has the given files. The keys of files
// are absolute paths.
func here(files map[string]string) Submitter {
	return Submitter{
		SparkVersion:     "4.3.0",
		WorkingDirectory: "/case",
		ReadFile: func(name string) ([]byte, error) {
			if !path.IsAbs(name) {
				return nil, fmt.Errorf("%s is no absolute path", name)
			}

			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		},
		ReadDir: func(dir string) (map[string][]byte, error) {
			if !path.IsAbs(dir) {
				return nil, fmt.Errorf("%s is no absolute path", dir)
			}

			inside := map[string][]byte{}
			for name, text := range files {
				if path.Dir(name) == dir {
					inside[path.Base(name)] = []byte(text)
				}
			}
			return inside, nil
		},
	}
}

// line returns a complete command line. It contains the options that every submission needs, the given arguments, and a
// resource, in this order.
func line(words ...string) []string {
	return slices.Concat([]string{"--master", "k8s://https://host:6443", "--deploy-mode", "cluster", "--class", "a.B"},
		words, []string{"local:///x.jar"})
}

// plain returns the expected Request for line(). The pairs are additional keys and values of its configuration, and the
// function change changes other fields.
func plain(change func(r *submit.Request), pairs ...string) submit.Request {
	r := submit.Request{
		SparkVersion: "4.3.0", Master: "k8s://https://host:6443", Namespace: "default", AppName: "a.B",
		MainClass: "a.B", Resource: "local:///x.jar",
		Conf: conf.New(),
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Conf.Set(pairs[i], pairs[i+1])
	}

	if change != nil {
		change(&r)
	}
	return r
}

// compareRequests makes cmp compare configurations by their pairs, and treat empty maps and slices as equal to nil maps
// and slices.
var compareRequests = cmp.Options{
	cmp.Transformer("pairs", func(c *conf.Conf) map[string]string { return c.Map() }),
	cmp.FilterValues(func(a, b map[string]string) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
	cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Ignore()),
}

func parsed(t *testing.T, s Submitter, args []string) (submit.Request, []string) {
	t.Helper()

	r, warnings, err := Parse(args, s)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return r, warnings
}

func quietly(t *testing.T, s Submitter, args []string) submit.Request {
	t.Helper()

	r, warnings := parsed(t, s, args)
	if len(warnings) > 0 {
		t.Errorf("%q: unexpected warnings %q", args, warnings)
	}
	return r
}

func TestParse(t *testing.T) {
	start := []string{"--master", "k8s://h", "--deploy-mode", "cluster"}
	for name, c := range map[string]struct {
		args []string
		want submit.Request
	}{
		"only the required options": {line(), plain(nil)},
		"every option": {
			line("--name", "n", "--driver-memory", "1g", "--driver-cores", "2", "--executor-memory", "3g",
				"--executor-cores", "4", "--num-executors", "5",
				"--driver-java-options", "-Da=b", "--driver-class-path", "/c", "--driver-library-path", "/l",
				"--driver-default-class-path", "/d",
				"--jars", "local:///a.jar", "--files", "local:///f", "--archives", "local:///z.zip#z", "--py-files",
				"local:///p.py",
				"--packages", "g:a:1", "--exclude-packages", "g:b", "--repositories", "https://r", "--proxy-user", "u",
				"--verbose", "-v"),
			plain(func(r *submit.Request) { r.AppName, r.ProxyUser = "n", "u" },
				"spark.driver.memory", "1g", "spark.driver.cores", "2", "spark.executor.memory", "3g",
				"spark.executor.cores", "4", "spark.executor.instances", "5",
				"spark.driver.extraJavaOptions", "-Da=b", "spark.driver.extraClassPath", "/c",
				"spark.driver.extraLibraryPath", "/l",
				"spark.driver.defaultExtraClassPath", "/d", "spark.jars", "local:///a.jar", "spark.files", "local:///f",
				"spark.archives", "local:///z.zip#z",
				"spark.submit.pyFiles", "local:///p.py", "spark.jars.packages", "g:a:1", "spark.jars.excludes", "g:b",
				"spark.jars.repositories", "https://r"),
		},
		"kerberos": {line("--principal", "p", "--keytab", "local:///k"),
			plain(nil, "spark.kerberos.principal", "p", "spark.kerberos.keytab", "local:///k")},
		"value after an equals sign": {line("--name=a=b", "--conf=spark.a=b=c", "--verbose=1"),
			plain(func(r *submit.Request) { r.AppName = "a=b" }, "spark.a", "b=c")},
		"the short form of --conf": {line("-c", "spark.a=1", "--conf", "spark.b="),
			plain(nil, "spark.a", "1", "spark.b", "")},
		"the later --conf counts": {line("--name", "a", "--name", "b", "-c", "spark.a=1", "-c", "spark.a=2"),
			plain(func(r *submit.Request) { r.AppName = "b" }, "spark.a", "2")},
		"blanks of a value stay": {line("-c", "spark.a= b\t"), plain(nil, "spark.a", " b\t")},
		"a value that looks like an option": {line("--name", "--conf", "-c", "spark.a=--b"),
			plain(func(r *submit.Request) { r.AppName = "--conf" }, "spark.a", "--b")},
		"arguments after the resource": {append(line(), "--name", "x", "", "-c", "a b", "--help"),
			plain(func(r *submit.Request) { r.Arguments = []string{"--name", "x", "", "-c", "a b", "--help"} })},
		"a --driver option, then conf": {line("--driver-memory", "1g", "-c", "spark.driver.memory=2g"),
			plain(nil, "spark.driver.memory", "2g")},
		"conf, then a --driver option": {line("-c", "spark.driver.memory=2g", "--driver-memory", "1g"),
			plain(nil, "spark.driver.memory", "1g")},
		"another option, then conf": {line("--driver-cores", "1", "-c", "spark.driver.cores=2"),
			plain(nil, "spark.driver.cores", "1")},
		"conf, then another option": {line("-c", "spark.driver.cores=2", "--driver-cores", "1"),
			plain(nil, "spark.driver.cores", "1")},
		"a list's option before its key": {line("--jars", "local:///a", "-c", "spark.jars=local:///b"),
			plain(nil, "spark.jars", "local:///a")},
		"no executors, dynamically": {line("--num-executors", "0", "-c", "spark.dynamicAllocation.enabled=TRUE"),
			plain(nil, "spark.executor.instances", "0", "spark.dynamicAllocation.enabled", "TRUE")},
		"a namespace": {line("-c", "spark.kubernetes.namespace=ns"),
			plain(func(r *submit.Request) { r.Namespace = "ns" })},
		"a pod name": {line("-c", "spark.kubernetes.driver.pod.name=d"),
			plain(func(r *submit.Request) { r.DriverPodName = "d" })},
		"a name by conf": {line("-c", "spark.app.name=n"),
			plain(func(r *submit.Request) { r.AppName = "n" })},
		"an empty name counts as missing": {line("--name", ""), plain(nil)},
		"spark-internal": {append(start, "--class", "a.B", "spark-internal", "x"),
			plain(func(r *submit.Request) {
				r.Master, r.Resource, r.Arguments = "k8s://https://h", "",
					[]string{"x"}
			})},
		"python": {append(start, "local:///d/app.py"),
			plain(func(r *submit.Request) {
				r.Master, r.Resource, r.AppName, r.MainClass = "k8s://https://h", "local:///d/app.py", "app.py", ""
			})},
		"python with a class": {append(start, "--class", "a.B", "local:///app.py"),
			plain(func(r *submit.Request) { r.Master, r.Resource = "k8s://https://h", "local:///app.py" })},
		"R": {append(start, "s3a://b/app.R"),
			plain(func(r *submit.Request) {
				r.Master, r.Resource, r.AppName, r.MainClass = "k8s://https://h", "s3a://b/app.R", "app.R", ""
			})},
		"a file": {append(start, "my app.py"),
			plain(func(r *submit.Request) {
				r.Master, r.Resource, r.AppName, r.MainClass = "k8s://https://h", "file:/case/my%20app.py",
					"my%20app.py", ""
			})},
		"master and mode by conf": {[]string{"-c", "spark.master=k8s://h", "-c", "spark.submit.deployMode=cluster",
			"--class", "a.B", "local:///x.jar"},
			plain(func(r *submit.Request) { r.Master = "k8s://https://h" })},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, quietly(t, here(nil), c.args), compareRequests); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.args, diff)
			}
		})
	}
}

// TestAnOptionIsItsKey checks that an option and the configuration key with the same meaning give the same Request,
// whichever source sets the key.
func TestAnOptionIsItsKey(t *testing.T) {
	values := map[string]string{"spark.master": "k8s://other", "spark.submit.deployMode": "cluster",
		"spark.driver.memory": "3g", "spark.executor.memory": "2g",
		"spark.driver.cores": "3", "spark.executor.cores": "3", "spark.executor.instances": "3",
		"spark.kerberos.keytab": "local:///k"}

	tested := 0
	for _, o := range options {
		if o.key == "" || o.name == "--remote" {
			continue
		}
		tested++

		value := values[o.key]
		if value == "" {
			value = "local:///some.thing"
		}

		var start []string
		if o.key != "spark.master" {
			start = append(start, "--master", "k8s://h")
		}

		if o.key != "spark.submit.deployMode" {
			start = append(start, "--deploy-mode", "cluster")
		}

		end := []string{"--class", "a.B", "local:///x.jar"}
		want := quietly(t, here(nil), slices.Concat(start, []string{o.name, value}, end))
		file := here(map[string]string{"/case/p": o.key + "=" + value,
			"/case/conf/spark-defaults.conf": o.key + " " + value})
		byDefaults := file

		byDefaults.Environment = map[string]string{"SPARK_CONF_DIR": "conf"}
		for name, got := range map[string]submit.Request{
			"=": quietly(t, here(nil), slices.Concat(start, []string{o.name + "=" + value}, end)),
			"--conf": quietly(t, here(nil),
				slices.Concat(start, []string{"--conf", o.key + "=" + value}, end)),
			"--conf=": quietly(t, here(nil),
				slices.Concat(start, []string{"--conf=" + o.key + "=" + value}, end)),
			"a properties file": quietly(t, file, slices.Concat(start, []string{"--properties-file", "p"}, end)),
			"another file":      quietly(t, file, slices.Concat(start, []string{"--extra-properties-file", "p"}, end)),
			"the defaults":      quietly(t, byDefaults, slices.Concat(start, end)),
		} {
			got.Environment = nil
			if diff := cmp.Diff(want, got, compareRequests); diff != "" {
				t.Errorf("%s by %s (-option +got):\n%s", o.name, name, diff)
			}
		}
	}

	if tested < 20 {
		t.Errorf("only %d options have a key", tested)
	}
}

// TestTheOrderOfOptions checks that the order of options does not matter, except among --conf and the options that are
// converted to a --conf.
func TestTheOrderOfOptions(t *testing.T) {
	pieces := [][]string{{"--name", "n"}, {"-c", "spark.a=1"}, {"--driver-memory=1g"}, {"--properties-file", "/p"},
		{"--executor-cores", "2"}, {"--supervise"},
		{"--jars", "local:///a.jar"}, {"--load-spark-defaults"}, {"--proxy-user", "u"}}
	s := here(map[string]string{"/p": "spark.a=2\nspark.b=2", "/home/conf/spark-defaults.conf": "spark.b=3\nspark.c=3"})
	s.Environment = map[string]string{"SPARK_HOME": "/home"}

	want, wantWarnings := parsed(t, s, line(slices.Concat(pieces...)...))
	for range pieces {
		pieces = append(pieces[1:], pieces[0])
		for _, words := range [][]string{slices.Concat(pieces...), slices.Concat(slices.Collect(backward(pieces))...)} {
			got, warnings := parsed(t, s, line(words...))
			if diff := cmp.Diff(want, got, compareRequests); diff != "" {
				t.Errorf("%q (-want +got):\n%s", words, diff)
			}

			if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
				t.Errorf("%q: warnings (-want +got):\n%s", words, diff)
			}
		}
	}
}

func backward[T any](s []T) func(func(T) bool) {
	return func(yield func(T) bool) {
		for _, v := range slices.Backward(s) {
			if !yield(v) {
				return
			}
		}
	}
}

// TestPrecedence adds the sources of a setting one by one, starting with the weakest, and checks that each source
// overrides all the sources before it.
func TestPrecedence(t *testing.T) {
	const key = "spark.executor.memory"
	s := here(map[string]string{
		"/case/first": key + "=5g", "/case/second": key + "=6g", "/case/file": key + "=4g",
		"/case/cf/spark-defaults.conf": key + "=3g",
	})

	var words []string
	for _, source := range []struct {
		name, want string
		add        func()
	}{
		{"nothing", "", func() {}},
		{"a system property", "1g", func() { s.SystemProperties = map[string]string{key: "1g"} }},
		{"the environment", "2g", func() { s.Environment = map[string]string{"SPARK_EXECUTOR_MEMORY": "2g"} }},
		{"spark-defaults.conf", "3g", func() { s.Environment["SPARK_CONF_DIR"] = "/case/cf" }},
		{"--properties-file", "4g", func() {
			words = append(words, "--load-spark-defaults", "--properties-file",
				"file")
		}},
		{"--extra-properties-file", "5g", func() { words = append(words, "--extra-properties-file", "first") }},
		{"a later one", "6g", func() { words = append(words, "--extra-properties-file", "second") }},
		{"--conf", "7g", func() { words = append(words, "-c", key+"=7g") }},
		{"the option", "8g", func() { words = append([]string{"--executor-memory", "8g"}, words...) }},
	} {
		source.add()

		if got, _ := quietly(t, s, line(words...)).Conf.Get(key); got != source.want {
			t.Errorf("with %s it is %q, want %q", source.name, got, source.want)
		}
	}
}

// TestDefaults checks that spark-defaults.conf is read only if there is no properties file or if an option requests it.
func TestDefaults(t *testing.T) {
	s := here(map[string]string{
		"/case/p": "spark.a=p", "/case/e": "spark.b=e", "/opt/spark/conf/spark-defaults.conf": "spark.a d\nspark.c: d",
		"/case/cf/spark-defaults.conf": "spark.d=cf",
	})
	home, both := map[string]string{"SPARK_HOME": "/opt/spark"},
		map[string]string{"SPARK_HOME": "/opt/spark", "SPARK_CONF_DIR": "cf"}

	empty := map[string]string{"SPARK_HOME": "/opt/spark", "SPARK_CONF_DIR": ""}
	for _, c := range []struct {
		environment map[string]string
		words       []string
		want        map[string]string
	}{
		{nil, nil, map[string]string{}},
		{home, nil, map[string]string{"spark.a": "d", "spark.c": "d"}},
		{empty, nil, map[string]string{"spark.a": "d", "spark.c": "d"}},
		{both, nil, map[string]string{"spark.d": "cf"}},
		{map[string]string{"SPARK_CONF_DIR": "/nowhere"}, nil, map[string]string{}},
		{home, []string{"--properties-file", "p"}, map[string]string{"spark.a": "p"}},
		{home, []string{"--properties-file", "p", "--load-spark-defaults"},
			map[string]string{"spark.a": "p", "spark.c": "d"}},
		{home, []string{"--extra-properties-file", "e"},
			map[string]string{"spark.a": "d", "spark.b": "e", "spark.c": "d"}},
		{home, []string{"--properties-file", "p", "--extra-properties-file", "e"},
			map[string]string{"spark.a": "p", "spark.b": "e"}},
	} {
		s.Environment = c.environment
		if diff := cmp.Diff(c.want, quietly(t, s, line(c.words...)).Conf.Map()); diff != "" {
			t.Errorf("%v %q (-want +got):\n%s", c.environment, c.words, diff)
		}
	}
}

// TestPropertiesText checks how Parse reads the values in properties files. It must trim them as Spark does, and decode
// bytes that are not UTF-8 as a JVM does.
func TestPropertiesText(t *testing.T) {
	s := here(map[string]string{"/case/p": "# spark.no=1\n  spark.a =  x y \t\nspark.b=\\u0020 \\n\\t z\\u0001\nspark.c\nspark.d=\\\n  e\nspark.latin=\xe4\n"})

	want := map[string]string{"spark.a": "x y", "spark.b": "\n\t z", "spark.c": "", "spark.d": "e",
		"spark.latin": "\ufffd"}
	if diff := cmp.Diff(want, quietly(t, s, line("--properties-file", "p")).Conf.Map()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEnvironment checks that an environment variable sets only the keys that no other source sets.
func TestEnvironment(t *testing.T) {
	s := here(nil)
	s.Environment = map[string]string{"MASTER": "k8s://env", "DEPLOY_MODE": "cluster", "SPARK_DRIVER_MEMORY": "2g",
		"SPARK_EXECUTOR_MEMORY": "3g",
		"SPARK_EXECUTOR_CORES":  "4", "SPARK_USER": "alice", "PYSPARK_PYTHON": "p3", "NS": "prod"}
	want := plain(func(r *submit.Request) {
		r.Master, r.User, r.Environment, r.Namespace = "k8s://https://env", "alice", s.Environment, "prod-1"
	}, "spark.driver.memory", "2g", "spark.executor.memory", "3g", "spark.executor.cores", "4")

	got := quietly(t, s, []string{"--class", "a.B", "-c", "spark.kubernetes.namespace=${env:NS}-1", "local:///x.jar"})
	if diff := cmp.Diff(want, got, compareRequests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	got.Environment["NS"] = "changed"
	if s.Environment["NS"] != "prod" {
		t.Error("the Request shares its environment with the submitter")
	}

	got = quietly(t, s, line("-c", "spark.driver.memory=9g", "--executor-cores", "9"))
	if diff := cmp.Diff(map[string]string{"spark.driver.memory": "9g", "spark.executor.memory": "3g",
		"spark.executor.cores": "9"}, got.Conf.Map()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSubmittingUser(t *testing.T) {
	for _, c := range []struct {
		environment, properties map[string]string
		proxy, want             string
	}{
		{nil, nil, "", ""},
		{nil, map[string]string{"user.name": "u"}, "", "u"},
		{map[string]string{"HADOOP_USER_NAME": "h"}, map[string]string{"user.name": "u"}, "", "h"},
		{map[string]string{"HADOOP_USER_NAME": "h", "SPARK_USER": "s"}, map[string]string{"user.name": "u"}, "", "s"},
		{map[string]string{"HADOOP_USER_NAME": "h"}, map[string]string{"user.name": "u"}, "p", ""},
		{map[string]string{"SPARK_USER": "s"}, nil, "p", "s"},
	} {
		s := here(nil)
		s.Environment, s.SystemProperties = c.environment, c.properties

		args := line()
		if c.proxy != "" {
			args = line("--proxy-user", c.proxy)
		}

		if r := quietly(t, s, args); r.User != c.want || r.ProxyUser != c.proxy {
			t.Errorf("%+v: User %q, ProxyUser %q", c, r.User, r.ProxyUser)
		}
	}
}

// TestSystemProperties checks that a system property sets a key only if no other source sets the key. System properties
// must not set the master, the deploy mode or the name.
func TestSystemProperties(t *testing.T) {
	s := here(nil)
	s.SystemProperties = map[string]string{"spark.a": "1", "spark.b": "2", "user.home": "/",
		"spark.master": "k8s://sys", "spark.submit.deployMode": "client",
		"spark.app.name": "sys", "spark.jars": "local:///a.jar, lib.jar",
		"spark.kubernetes.namespace": "${system:my.ns}", "my.ns": "prod"}

	want := plain(func(r *submit.Request) { r.Namespace, r.SystemProperties = "prod", s.SystemProperties },
		"spark.a", "1", "spark.b", "3", "spark.jars", "local:///a.jar,file:/case/lib.jar")
	if diff := cmp.Diff(want, quietly(t, s, line("-c", "spark.b=3")), compareRequests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if _, _, err := Parse([]string{"--deploy-mode", "cluster", "x.py"}, s); err == nil ||
		!strings.Contains(err.Error(), "spark.master: is missing") {
		t.Errorf("a master by a system property: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	s := here(map[string]string{"/case/p": "key=value\nspark.a=1\n"})
	r, warnings := parsed(t, s, line("--queue", "q", "--supervise", "--total-executor-cores", "3", "--conf",
		"my.password=hidden", "--properties-file", "p"))

	want := []string{
		"my.password, key: are left out: only keys that begin with spark. are Spark configuration",
		"--queue: has no effect: " + noQueue, "--supervise: has no effect: " + noSupervise,
		"--total-executor-cores: has no effect: " + noTotal,
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"spark.a": "1"}, r.Conf.Map()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if _, warnings := parsed(t, s,
		[]string{"--master", "k8s://http://h", "--deploy-mode", "cluster", "x.py"}); len(warnings) != 1 ||
		!strings.Contains(warnings[0], "use https") {
		t.Errorf("http: %q", warnings)
	}

	many := line()
	for i := range 100 {
		many = slices.Insert(many, 0, "--conf", fmt.Sprintf("other.%d=x", i))
	}

	if _, warnings := parsed(t, s, many); len(warnings) != 1 || len(warnings[0]) > 200 {
		t.Errorf("a hundred foreign keys: %q", warnings)
	}
}

// TestBuildTakesWhatParseGives checks that Build accepts the result of Parse and returns no warnings, and that the
// objects contain the configuration.
func TestBuildTakesWhatParseGives(t *testing.T) {
	s := here(nil)
	s.Environment = map[string]string{"NS": "prod"}

	r := quietly(t, s, line("--name", "My App", "--jars", "local:///a.jar", "-c",
		"spark.kubernetes.container.image=img:1", "-c", "spark.kubernetes.namespace=${env:NS}",
		"-c", "spark.kubernetes.driver.pod.name=${spark.kubernetes.namespace}-driver", "-c",
		"spark.kubernetes.driver.label.a=b"))
	if r.Conf.Has("spark.kubernetes.namespace") || r.DriverPodName != "prod-driver" {
		t.Errorf("DriverPodName is %q", r.DriverPodName)
	}

	r.AppID, r.ResourceNamePrefix = "spark-1", "my-app-1-c05dd8a1fbc0dc03"

	o, err := native.Build(r)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}

	if len(o.Warnings) > 0 {
		t.Errorf("unexpected warnings: %q", o.Warnings)
	}

	got := propertiesOf(t, o)
	for key, want := range map[string]string{
		"spark.master": "k8s://https://host:6443", "spark.submit.deployMode": "cluster", "spark.app.name": "My App",
		"spark.jars":           "local:///a.jar,local:///x.jar",
		"spark.submit.pyFiles": "", "spark.kubernetes.namespace": "prod",
		"spark.kubernetes.driver.pod.name": "prod-driver",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}

	if o.Driver.Name != "prod-driver" || o.Driver.Namespace != "prod" || o.Driver.Labels["a"] != "b" {
		t.Errorf("the driver is %s/%s with labels %v", o.Driver.Namespace, o.Driver.Name, o.Driver.Labels)
	}
}

// propertiesOf parses the driver's spark.properties.
func propertiesOf(t *testing.T, o submit.Objects) map[string]string {
	t.Helper()

	for _, object := range o.Before {
		config, ok := object.(*corev1.ConfigMap)
		if !ok || config.Data["spark.properties"] == "" {
			continue
		}

		c, err := conf.UnmarshalProperties(config.Data["spark.properties"])
		if err != nil {
			t.Fatalf("spark.properties: %v", err)
		}
		return c.Map()
	}

	t.Fatal("there is no ConfigMap with spark.properties")
	return nil
}
