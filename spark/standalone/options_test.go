package standalone

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// readArguments parses an argument file as documented for the java command. Blanks or line ends separate arguments,
// quotation marks hold an argument together, and "#" begins a comment outside quotation marks. Inside quotation marks a
// backslash escapes n, r, t, f and any other character.
func readArguments(text string) (args []string, err error) {
	for i := 0; i < len(text); {
		switch ch := text[i]; {
		case strings.IndexByte(" \t\r\n\f", ch) >= 0:
			i++
		case ch == '#':
			for i < len(text) && text[i] != '\n' && text[i] != '\r' {
				i++
			}
		default:
			var arg string
			if arg, i, err = readArgument(text, i); err != nil {
				return nil, err
			}

			args = append(args, arg)
		}
	}
	return args, nil
}

func readArgument(text string, i int) (string, int, error) {
	var b strings.Builder

	quote := byte(0)
	for ; i < len(text); i++ {
		switch ch := text[i]; {
		case quote == 0 && strings.IndexByte(" \t\r\n\f", ch) >= 0:
			return b.String(), i, nil
		case quote == 0 && (ch == '"' || ch == '\''):
			quote = ch
		case quote != 0 && ch == quote:
			quote = 0
		case quote != 0 && (ch == '\n' || ch == '\r'):
			return "", i, fmt.Errorf("a line ends inside of quotes at %d", i)
		case quote != 0 && ch == '\\' && i+1 < len(text):
			i++
			if at := strings.IndexByte("nrtf", text[i]); at >= 0 {
				b.WriteByte("\n\r\t\f"[at])
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(ch)
		}
	}

	if quote != 0 {
		return "", i, fmt.Errorf("a quote is not closed")
	}
	return b.String(), i, nil
}

func TestReadArguments(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \n\t": nil, "a b\nc": {"a", "b", "c"}, `"a b" 'c "d"'`: {"a b", `c "d"`}, "# no\na # no\n": {"a"},
		`"a\n\t\\\"\q#"`: {"a\n\t\\\"q#"}, `-Da="b c"d`: {"-Da=b cd"},
	} {
		got, err := readArguments(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}

	for _, text := range []string{`"a`, "\"a\nb\""} {
		if _, err := readArguments(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// properties returns the system properties that a daemon's JVM gets. The result `plain` contains the properties from
// the ConfigMap, and the result `secret` contains the properties from the Secret.
func properties(t testing.TB, o Objects) (plain, secret map[string]string) {
	t.Helper()

	read := func(text string) map[string]string {
		args, err := readArguments(text)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}

		out := map[string]string{}
		for _, arg := range args {
			pair, ok := strings.CutPrefix(arg, "-D")
			if !ok {
				t.Fatalf("argument %q is no property", arg)
			}

			key, value, ok := strings.Cut(pair, "=")
			if _, twice := out[key]; twice || !ok {
				t.Fatalf("argument %q comes twice, or has no value", arg)
			}

			out[key] = value
		}
		return out
	}

	plain = read(o.Config.Data[OptionsKey])
	if o.Secret != nil {
		secret = read(string(o.Secret.Data[SecretOptionsKey]))
	}
	return plain, secret
}

// difficult maps keys to values that a component between the Request and the JVM could misread.
var difficult = map[string]string{
	"plain": "x", "empty": "", "quotes": `a 'b' "c" ` + "`d`", "spaces": "  lead and trail  ", "blank": " ",
	"tab":     "\ta\t",
	"dollars": "$ $$ $$$ $HOME ${HOME} $(HOME) $$(HOME) $((1+1)) $'x' $é", "reference": "${spark.app.name} ${env:HOME}",
	"backslashes": `\ \\ \n \u0041 C:\x\`, "newlines": "a\nb\n\nc\n", "newline": "\n", "returns": "a\rb\r\nc",
	"feed": "\f", "dashes": "-Dx=y", "dash": "-x",
	"globs": "* ? [a] {a,b} ~ !x", "operators": "; rm -rf / | & > < && || ( ) #", "equals": "a=b=c",
	"unicode": "żółć 🎉 \u00a0 \u2028", "mark": "\ufeffx",
	"controls": "a\x01\x1b[31m\x7fb", "comment": "#x!", "long": strings.Repeat("y", 100000),
	"json": `{"a": ["b", '$c']}`, "file": "@/etc/passwd",
	"options": `-Dx="a b" -XX:OnOutOfMemoryError='kill -9 %p'`, "percent": "%s %p",
}

func TestValuesArriveAsTheyAre(t *testing.T) {
	c := conf.New()

	want := map[string]string{
		"spark.shuffle.service.enabled": "true", "spark.worker.preferConfiguredMasterAddress": "true",
		"spark.kubernetes.namespace": "spark",
	}
	for _, name := range slices.Sorted(maps.Keys(difficult)) {
		for _, key := range []string{"spark.x." + name, "other." + name, "spark.x.password." + name} {
			c.Set(key, difficult[name])
			want[key] = difficult[name]
		}
	}

	o := build(t, simple(func(r *Request) { r.Conf = c }))

	plain, secret := properties(t, o)
	for key := range secret {
		if !strings.Contains(key, "password") {
			t.Errorf("%s is taken for a secret", key)
		}
	}

	got := maps.Clone(plain)
	maps.Copy(got, secret)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the options (-want +got):\n%s", diff)
	}
}

func TestDefaultsOfTheConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		message []string
		key     string
		want    string
	}{
		"shuffle service":            {nil, shuffleKey, "true"},
		"shuffle service disabled":   {[]string{shuffleKey, "false"}, shuffleKey, "false"},
		"preferred address":          {nil, preferMasterKey, "true"},
		"preferred address disabled": {[]string{preferMasterKey, "false"}, preferMasterKey, "false"},
		"namespace":                  {[]string{namespaceKey, "other"}, namespaceKey, "spark"},
		"image":                      {[]string{imageKey, "a:{{SPARK_VERSION}}"}, imageKey, "a:4.1.4"},
		"marker in another key":      {[]string{"spark.x", "{{SPARK_VERSION}}"}, "spark.x", "{{SPARK_VERSION}}"},
		"key without the prefix spark.": {[]string{"java.net.preferIPv6Addresses", "true"},
			"java.net.preferIPv6Addresses", "true"},
	} {
		plain, _ := properties(t, build(t, simple(with(c.message...))))
		if plain[c.key] != c.want {
			t.Errorf("%s: %s is %q, want %q", name, c.key, plain[c.key], c.want)
		}
	}

	plain, _ := properties(t, build(t, simple(func(r *Request) { r.Conf = nil })))
	if len(plain) != 3 {
		t.Errorf("without a configuration there are %v", plain)
	}
}

func TestSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		message []string
		secret  []string
		warns   string
	}{
		"no secret": {[]string{"spark.x", "y"}, nil, ""},
		"secret by its key": {[]string{authSecretKey, "y", "spark.ssl.keyPassword", "z",
			"spark.hadoop.fs.s3a.access.key", "k"},
			[]string{authSecretKey, "spark.hadoop.fs.s3a.access.key", "spark.ssl.keyPassword"}, ""},
		"secret parameter of a filter": {[]string{"spark.org.apache.spark.ui.JWSFilter.param.secretKey", "y"},
			[]string{"spark.org.apache.spark.ui.JWSFilter.param.secretKey"}, ""},
		"secret by its value": {[]string{"spark.x", "jdbc:a?password=b"}, []string{"spark.x"}, ""},
		"secret key without the prefix spark.": {[]string{"javax.net.ssl.keyStorePassword", "y"},
			[]string{"javax.net.ssl.keyStorePassword"}, ""},
		"the user's pattern": {[]string{redactionKey, "(?i)mine", "spark.x", "Mine", "spark.mine",
			"x", "spark.token", "t"}, []string{"spark.mine", "spark.token", "spark.x"}, ""},
		"pattern that Go does not support": {[]string{redactionKey, "(?<!x)mine", "spark.x", "y"},
			[]string{namespaceKey, redactionKey, shuffleKey, preferMasterKey, "spark.a", "spark.x"},
			"the whole configuration is kept as a secret"},
		"pattern that matches its own key": {[]string{redactionKey, "spark"},
			[]string{namespaceKey, shuffleKey, preferMasterKey, "spark.a"}, ""},
	} {
		o := build(t, simple(with(c.message...)))

		_, secret := properties(t, o)
		if diff := cmp.Diff(slices.Sorted(slices.Values(c.secret)), slices.Sorted(maps.Keys(secret))); diff != "" {
			t.Errorf("%s: secrets (-want +got):\n%s", name, diff)
		}

		if got := strings.Join(warningTexts(o), "\n"); !strings.Contains(got, c.warns) || c.warns == "" && got != "" &&
			!strings.Contains(got, "has no CPU request") {
			t.Errorf("%s: warnings are %q, want %q", name, got, c.warns)
		}

		for _, role := range []string{"SPARK_MASTER_OPTS", "SPARK_WORKER_OPTS"} {
			if text := strings.Join(texts(t, o), "\n"); strings.Contains(text,
				`"value":"@/etc/spark-cluster/conf.options @/etc/spark-cluster/secret.options"`) != (c.secret != nil) {
				t.Errorf("%s: %s does not name the files", name, role)
			}
		}
	}
}

// TestNoSecretIsElsewhere searches all objects except the Secret, all errors and all warnings for a secret.
func TestNoSecretIsElsewhere(t *testing.T) {
	const hidden = "hunter2hunter2"
	o := build(t, simple(with(authenticateKey, "true", authSecretKey, hidden, "spark.x", "token "+hidden,
		recoveryModeKey, "FILESYSTEM", recoveryPathKey, "/secret/"+hidden)))

	secret := o.Secret
	if o.Secret = nil; !strings.Contains(string(secret.Data[SecretOptionsKey]), hidden) || !*secret.Immutable {
		t.Error("the secret is not in the Secret, or the Secret is not immutable")
	}

	for _, text := range append(texts(t, o), warningTexts(o)...) {
		if strings.Contains(text, hidden) {
			t.Errorf("the secret is in %s", text)
		}
	}

	_, err := Build(simple(with(authSecretKey, hidden+"\x00")))
	if err == nil || strings.Contains(err.Error(), hidden) {
		t.Errorf("the error is %v", err)
	}
}

// TestSecretsName checks that Secrets with different contents have different names, because a Secret is never changed,
// and that Secrets with the same content have the same name.
func TestSecretsName(t *testing.T) {
	name := func(owner, value string) string {
		return build(t, simple(with(authSecretKey, value),
			func(r *Request) { r.Owner.UID = types.UID(owner) })).Secret.Name
	}
	if a, b := name("1", "x"), name("1", "x"); a != b {
		t.Errorf("the same is called %q and %q", a, b)
	}

	if a, b := name("1", "x"), name("1", "y"); a == b {
		t.Errorf("two contents are called %q", a)
	}

	if a, b := name("1", "x"), name("2", "x"); a == b {
		t.Errorf("the same content of two owners is called %q", a)
	}
}

func TestAuthenticationWithoutSecretWarns(t *testing.T) {
	const says = "spark.authenticate: is true and spark.authenticate.secret is not set"
	for name, c := range map[string]struct {
		message  []string
		reported bool
	}{
		"not set":                 {nil, false},
		"set to false":            {[]string{authenticateKey, "false"}, false},
		"set to true":             {[]string{authenticateKey, "true"}, true},
		"set to true in capitals": {[]string{authenticateKey, " TRUE"}, true},
		"true with a secret":      {[]string{authenticateKey, "true", authSecretKey, "x"}, false},
		"true with a secret file": {[]string{authenticateKey, "true", authFileKey, "/x"}, false},
	} {
		all := warningTexts(build(t, simple(with(c.message...))))
		if reported := slices.ContainsFunc(all,
			func(w string) bool { return strings.HasPrefix(w, says) }); reported != c.reported {
			t.Errorf("%s: it is told: %t; warnings are %q", name, reported, all)
		}
	}
}

// FuzzOptions checks that every value either reaches the JVM unchanged or is rejected with an error that names its key.
// It also checks that values that look like secrets are only in the Secret.
func FuzzOptions(f *testing.F) {
	for name, value := range difficult {
		f.Add("spark."+name, value, "")
	}

	f.Add("spark.password", "x", "(")
	f.Add("=", "", "x")
	f.Fuzz(func(t *testing.T, key, value, pattern string) {
		c := conf.New()
		if pattern != "" {
			c.Set(redactionKey, pattern)
		}

		c.Set(key, value)

		o, err := Build(simple(func(r *Request) { r.Conf = c }))
		if err != nil {
			if utf8.ValidString(key) && utf8.ValidString(value) && utf8.ValidString(pattern) && key != "" &&
				!strings.ContainsAny(key, "=\x00") && !strings.Contains(value+pattern, "\x00") &&
				len(key)+len(value) < 1<<18 {
				t.Fatalf("%q=%q is refused: %v", key, value, err)
			}
			return
		}

		plain, secret := properties(t, o)
		in := plain

		_, hidden := secret[key]
		if hidden {
			in = secret

			if _, both := plain[key]; both {
				t.Fatalf("%q is in both files", key)
			}
		}

		want := value
		switch key {
		case imageKey:
			want = strings.ReplaceAll(value, conf.VersionMarker, "4.1.4")
		case namespaceKey:
			want = "spark"
		}

		if got, ok := in[key]; !ok || got != want {
			t.Fatalf("%q arrives as %q, want %q", key, got, want)
		}

		if conf.Redact(key, want) != want && !hidden {
			t.Fatalf("%q=%q is no secret", key, want)
		}
	})
}
