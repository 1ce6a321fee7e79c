package connect

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// expand replaces variables in an argument as the kubelet does (documented at Container.args of the API): "$(NAME)"
// becomes the value of the variable, or stays if there is no such variable; "$$" becomes "$", so that "$$(NAME)"
// becomes "$(NAME)"; other dollar signs stay. Like the kubelet, expand works on bytes.
func expand(text string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}

		switch i++; text[i] {
		case '$':
			b.WriteByte('$')
		case '(':
			end := strings.IndexByte(text[i:], ')')
			if end < 0 {
				b.WriteString("$(")
				continue
			}

			name := text[i+1 : i+end]

			value, ok := env[name]
			if !ok {
				value = "$(" + name + ")"
			}

			b.WriteString(value)

			i += end
		default:
			// The kubelet writes the byte as if it were a character, which changes characters beyond ASCII.
			b.WriteByte('$')
			b.WriteRune(rune(text[i]))
		}
	}
	return b.String()
}

func TestExpandIsKubernetes(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": "", "NESTED": "$(A)"}
	for text, want := range map[string]string{
		"": "", "$": "$", "a$": "a$", "$A": "$A", "$(A)": "1", "$$(A)": "$(A)", "$$$(A)": "$1", "$$$$(A)": "$$(A)",
		"$(A": "$(A", "$(B)": "$(B)",
		"$(EMPTY)": "", "$(NESTED)": "$(A)", "$$": "$", "$$$": "$$", "x$(A)y$(A)": "x1y1", "$()": "$()", "$é": "$Ã\xa9",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// run executes the command of a server's Spark container on this machine. It first replaces variables in the command as
// the kubelet does. The parameter `home` is a directory with a spark-submit that prints its arguments; run returns
// these arguments.
func run(t *testing.T, home, ip string, c *corev1.Container) []string {
	t.Helper()
	// Variables that an argument may name, by accident or on purpose.
	env := map[string]string{"POD_IP": ip, "HOME": "/home", "SPARK_NO_DAEMONIZE": "true"}

	command := slices.Concat(c.Command, c.Args)
	for i := range command {
		command[i] = expand(command[i], env)
	}

	cmd := exec.Command(command[0], command[1:]...)

	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SPARK_HOME=" + home}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	var failed bytes.Buffer
	cmd.Stderr = &failed

	out, err := cmd.Output()
	if err != nil || failed.Len() > 0 {
		t.Fatalf("the command fails: %v %s", err, failed.String())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// sparkHome returns a directory whose spark-submit prints each of its arguments, followed by a NUL byte.
func sparkHome(t testing.TB) string {
	t.Helper()

	home := filepath.Join(t.TempDir(), "spark's $HOME")
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(home, "bin", "spark-submit"), []byte("#!/bin/bash\nprintf '%s\\0' \"$@\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// received returns the configuration that spark-submit would read, by Spark's rules, from its arguments and from the
// properties file that the arguments name.
func received(t *testing.T, o Objects, arguments []string) map[string]string {
	t.Helper()

	got := map[string]string{}
	for i := 0; i < len(arguments); i++ {
		switch arguments[i] {
		case "--load-spark-defaults":
		case "--properties-file":
			i++
			if want := mountDir + "/" + propertiesKey; arguments[i] != want {
				t.Errorf("the file of properties is %q, want %q", arguments[i], want)
			}

			file, err := conf.UnmarshalProperties(o.Config.Data[propertiesKey])
			if err != nil {
				t.Fatal(err)
			}

			for key, value := range file.All() {
				got[key] = strings.Trim(value, trimmed)
			}
		case "--conf":
			i++
			// bin/spark-class drops carriage returns (read -d).
			key, value, ok := strings.Cut(strings.ReplaceAll(arguments[i], "\r", ""), "=")
			if !ok {
				t.Errorf("%q is no setting", arguments[i])
			}

			got[key] = value
		case "--class", "--master", "--deploy-mode":
			got[arguments[i]] = arguments[i+1]
			i++
		default:
			t.Errorf("argument %q is none of ours", arguments[i])
		}
	}
	return got
}

// difficult maps keys to values that a component between the Request and the JVM could misread.
var difficult = map[string]string{
	"plain": "x", "empty": "", "quotes": `a 'b' "c" ` + "`d`", "spaces": "  lead and trail  ", "blank": " ",
	"tab":         "\ta\t",
	"dollars":     "$ $$ $$$ $HOME ${HOME} $(HOME) $$(HOME) $(POD_IP) $((1+1)) $'x' $é",
	"reference":   "${spark.app.name} ${env:HOME}",
	"backslashes": `\ \\ \n \u0041 C:\x\`, "newlines": "a\nb\n\nc\n", "newline": "\n", "returns": "a\rb\r\nc",
	"dashes": "--master local", "dash": "-x", "ends": "--",
	"globs": "* ? [a] {a,b} ~ !x", "operators": "; rm -rf / | & > < && || ( ) #", "equals": "a=b=c",
	"unicode": "żółć 🎉 \u00a0 \u2028", "mark": "\ufeffx",
	"controls": "a\x01\x1b[31m\x7fb", "nul": "a\x00b", "comment": "#x!", "long": strings.Repeat("y", argumentLimit),
	"json":    `{"a": ["b", '$c']}`,
	"options": `-Dx="a b" -XX:OnOutOfMemoryError='kill -9 %p'`, "at": "@file", "percent": "%s %p",
}

func TestValuesArriveAsTheyAre(t *testing.T) {
	home := sparkHome(t)

	r := minimal()
	for name, value := range difficult {
		r.Conf.Set("spark.t."+name, value)
	}

	r.Conf.Set("spark.t.key=sign", "1")
	r.Conf.Set("spark.t.żółw", "1")
	r.Conf.Set("spark.t.two words", "1")

	o := build(t, r)
	if len(o.Warnings) != 1 || o.Warnings[0].Key != "spark.t.dollars" {
		t.Errorf("warnings are %q, want one about the references of spark.t.dollars", o.Warnings)
	}

	got := received(t, o, run(t, home, "10.0.0.1", container(t, o, "spark-kubernetes-driver")))
	for key, value := range r.Conf.All() {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}

	for key, want := range map[string]string{
		"--class": mainClass, "--deploy-mode": "client", "--master": submit.DefaultMaster,
		"spark.driver.host": "10.0.0.1", "spark.driver.bindAddress": "0.0.0.0",
		"spark.kubernetes.driver.pod.name": "sc-server",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

func TestTheAddressOfThePod(t *testing.T) {
	home := sparkHome(t)

	o := build(t, minimal("spark.driver.host", "mine"))
	for ip, want := range map[string]string{"10.0.0.1": "10.0.0.1", "fd00::1": "[fd00::1]",
		"::ffff:10.0.0.1": "[::ffff:10.0.0.1]", "": ""} {
		got := received(t, o, run(t, home, ip, container(t, o, "spark-kubernetes-driver")))
		if got["spark.driver.host"] != want {
			t.Errorf("spark.driver.host is %q for %q, want %q", got["spark.driver.host"], ip, want)
		}
	}
}

// TestTheServerTakesThePlaceOfBash checks that the script's process is replaced by the server, so that the kubelet's
// signals reach the JVM and not a shell.
func TestTheServerTakesThePlaceOfBash(t *testing.T) {
	home := sparkHome(t)
	if err := os.WriteFile(filepath.Join(home, "bin", "spark-submit"), []byte("#!/bin/bash\necho $$\n"),
		0o755); err != nil {
		t.Fatal(err)
	}

	c := container(t, build(t, minimal()), "spark-kubernetes-driver")
	args := slices.Clone(c.Args)
	args[0] = "echo $$\n" + args[0]
	cmd := exec.Command(c.Command[0], slices.Concat(c.Command[1:], args)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SPARK_HOME=" + home, "POD_IP=10.0.0.1"}

	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	if pids := strings.Fields(string(out)); len(pids) != 2 || pids[0] != pids[1] {
		t.Errorf("bash and spark-submit are processes %q, want one", pids)
	}
}

func TestWhatGoesIntoTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		version, value string
		want           string // file, argument or warned
	}{
		"plain":                         {"4.0.0", "x y", "argument"},
		"with blanks at its ends":       {"4.0.0", " x ", "argument"},
		"a line end":                    {"4.0.0", "x\n", "argument"},
		"a carriage return":             {"4.0.0", "x\r", "file"},
		"beyond ASCII":                  {"4.0.0", "é", "file"},
		"beyond ASCII in Spark 3.5":     {"3.5.9", "é", "warned"},
		"beyond ASCII and blanks":       {"4.0.0", "é ", "warned"},
		"beyond ASCII with a line end":  {"4.0.0", "é\n", "file"},
		"a wide blank beyond ASCII":     {"4.0.0", "\u3000", "file"},
		"beyond ASCII, unknown version": {"", "é", "file"},
		"as long as the limit allows":   {"4.0.0", strings.Repeat("x", argumentLimit-len("spark.t")-1), "argument"},
		"one byte too long":             {"4.0.0", strings.Repeat("x", argumentLimit-len("spark.t")), "file"},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal("spark.t", c.value)
			r.SparkVersion = c.version
			o := build(t, r)
			args := container(t, o, "spark-kubernetes-driver").Args

			got := "nothing"
			if file, ok := o.Config.Data[propertiesKey]; ok && strings.Contains(file, "spark.t=") {
				got = "file"
			}

			if slices.Contains(args, "spark.t="+c.value) {
				got = "argument"
				if len(o.Warnings) > 0 {
					got = "warned"
				}
			}

			if got != c.want {
				t.Errorf("the value is in %s, want %s; warnings %q", got, c.want, o.Warnings)
			}

			if named := slices.Contains(args, "--properties-file"); named != (c.want == "file") {
				t.Errorf("a file is named: %t", named)
			}
		})
	}
}

func TestSpark3TakesNoReturns(t *testing.T) {
	r := minimal("spark.t", "a\rb")
	r.SparkVersion = "v3.5.9"

	_, err := Build(r)
	if wrong := refused(t, err); wrong.Key != "spark.t" {
		t.Errorf("the error is %v", err)
	}
}

func FuzzValuesArriveAsTheyAre(f *testing.F) {
	for _, value := range difficult {
		f.Add("spark.t", value)
	}

	f.Add("spark.t=", "a")
	f.Add("spark.a\nb", "c")
	home := sparkHome(f)
	f.Fuzz(func(t *testing.T, key, value string) {
		key = "spark.t." + key

		o, err := Build(minimal(key, value))
		if err != nil {
			if wrong := refused(t, err); wrong.Message == "" {
				t.Error("the error says nothing")
			}
			return
		}

		got := received(t, o, run(t, home, "10.0.0.1", container(t, o, "spark-kubernetes-driver")))
		if have, ok := got[key]; !ok || have != value {
			t.Errorf("%q arrives as %q (%t), want %q", key, have, ok, value)
		}

		for _, own := range []string{"--class", "--master", "spark.driver.host", "spark.kubernetes.namespace"} {
			if want := map[string]string{"--class": mainClass, "--master": submit.DefaultMaster,
				"spark.driver.host": "10.0.0.1", "spark.kubernetes.namespace": "ns"}[own]; got[own] != want {
				t.Errorf("%s is %q, want %q", own, got[own], want)
			}
		}
	})
}
