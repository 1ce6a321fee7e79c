package cmdline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// rendered returns a command line that Parse parses to r. It leaves out the contents of the submitter's files, because
// a command line cannot express them.
func rendered(r submit.Request) []string {
	args := []string{"--master", r.Master, "--deploy-mode", "cluster", "--name", r.AppName, "--conf",
		namespaceKey + "=" + r.Namespace}
	if r.DriverPodName != "" {
		args = append(args, "--conf", podNameKey+"="+r.DriverPodName)
	}

	if r.MainClass != "" {
		args = append(args, "--class", r.MainClass)
	}

	if r.ProxyUser != "" {
		args = append(args, "--proxy-user", r.ProxyUser)
	}

	for key, value := range r.Conf.All() {
		args = append(args, "--conf", key+"="+value)
	}

	resource := r.Resource
	if resource == "" {
		resource = noResource
	}
	return append(append(args, resource), r.Arguments...)
}

// FuzzParse parses any command line, with files and an environment. It checks that Parse does not panic, does not
// change its arguments, and returns only errors of the type *submit.Error with a key or a field.
//
// If Parse accepts the command line, a second call must return the same Request. The command line that is made of this
// Request must parse to the same Request too.
func FuzzParse(f *testing.F) {
	for _, args := range [][]string{
		nil, line(), line("--name=a", "-c", "spark.a=${spark.b}", "--conf", "spark.b=${env:X}"),
		line("--jars", "a b,local:///c#d,%41"),
		line("--properties-file", "p", "--load-spark-defaults", "--extra-properties-file", "/p"),
		line("--driver-java-options", `-Da="b \" c"`),
		line("-c", "spark.kubernetes.driver.podTemplateFile=t", "--keytab", "t", "--principal", "p"),
		line("--proxy-user", "u", "--queue", "q"),
		line("-c", kerberosPrefix+"krb5.path=/p", "-c", "spark.driver.memory=1g"),
		append(line("--supervise"), "--", "-x", "", "\xff"),
		{"--master", "k8s://http://h", "--deploy-mode=cluster", "../app.py", "1"}, {"--kill", "x"}, {"--conf="}, {"-c"},
		{"a#b"}, line("--conf", "my.password"),
	} {
		f.Add(strings.Join(args, "\x00"), "spark.x = y\nz", "4.3")
	}

	f.Add(strings.Join(line("--properties-file", "p"), "\x00"),
		"spark.kubernetes.namespace=${env:DIR}\nspark.jars=a,b", "3.5")
	f.Fuzz(func(t *testing.T, text, file, version string) {
		args := strings.Split(text, "\x00")
		s := here(map[string]string{"/case/p": file, "/p": file, "/case/t": file,
			"/case/cf/spark-defaults.conf": "spark.d=1", "/case/cf/a": file, "/h/b": file})
		s.SparkVersion = version
		s.Environment = map[string]string{"SPARK_CONF_DIR": "cf", "HADOOP_CONF_DIR": "/h", "X": "${spark.b}",
			"DIR": "/case"}
		before := slices.Clone(args)

		r, warnings, err := Parse(args, s)
		if !slices.Equal(args, before) {
			t.Error("Parse changed its arguments")
		}

		if err != nil {
			wrong, ok := errors.AsType[*submit.Error](err)
			if !ok || (wrong.Key == "") == (wrong.Field == "") || wrong.Message == "" {
				t.Errorf("%q: %#v is no *Error with a key or a field", args, err)
			}
			return
		}

		if r.Master == "" || !strings.HasPrefix(r.Master, "k8s://") || r.Conf == nil {
			t.Errorf("%q: Master %q, Conf %v", args, r.Master, r.Conf)
		}

		for key := range r.Conf.All() {
			if !strings.HasPrefix(key, "spark.") {
				t.Errorf("%q: %q is no Spark configuration", args, key)
			}
		}

		if again, more, err := Parse(args, s); err != nil || !cmp.Equal(r, again, compareRequests) ||
			!slices.Equal(warnings, more) {
			t.Errorf("%q: a second call of Parse gives another result: %v\n%s", args, err,
				cmp.Diff(r, again, compareRequests))
		}

		stable(t, r)
	})
}

// stable checks that r, written out as a command line, parses to r again. It ignores the fields that a command line
// alone cannot express.
func stable(t *testing.T, r submit.Request) {
	t.Helper()

	again := here(nil)
	again.SparkVersion, again.Environment = r.SparkVersion, map[string]string{}
	args := rendered(r)

	got, _, err := Parse(args, again)
	if err != nil {
		t.Errorf("Parse rejects %q, which was made of an accepted Request: %v", args, err)
		return
	}

	r.Environment, r.ConfFiles, r.HadoopConfFiles, r.DriverTemplate, r.ExecutorTemplate, r.Keytab, r.Krb5Conf,
		r.PodGroupTemplate = nil, nil, nil, nil, nil, nil, nil, nil

	r.DriverCredentials = submit.Credentials{}
	if diff := cmp.Diff(r, got, compareRequests); diff != "" {
		t.Errorf("%q (-first +again):\n%s", args, diff)
	}
}

// FuzzResolve checks that resolve returns either a problem or a URI. The URI must have a scheme and must resolve to
// itself.
func FuzzResolve(f *testing.F) {
	for _, text := range []string{"", "a", "a b", "/a", "//a", "a#b", "a%20b#c", "%", "%zz", "local:///a",
		" local:///a", "s3a://b/*.jar", "file:", "/", "x:y", "1:2", "ä#ö", "a\x00b", "\xff", "a?b#c"} {
		f.Add(text, "/case")
	}

	f.Add("a\u0081", "/b\u0081\u2003c\xff")
	f.Fuzz(func(t *testing.T, text, dir string) {
		p := &parser{submitter: Submitter{WorkingDirectory: dir}}

		uri, problem := p.resolve("spark.jars", text)
		if (uri == "") == (problem == "") {
			t.Fatalf("%q is %q and %q", text, uri, problem)
		}

		if problem != "" {
			return
		}

		if again, problem := p.resolve("spark.jars", uri); again != uri || problem != "" {
			t.Errorf("%q resolves to %q, which resolves to %q, %q", text, uri, again, problem)
		}

		if scheme, _, ok := strings.Cut(uri, ":"); !ok || !schemePattern.MatchString(scheme) {
			t.Errorf("%q is %q, which has no scheme", text, uri)
		}
	})
}
