package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
	"github.com/sparkoperator/spark-operator/test/e2e/stored"
)

// linePatience is the timeout of each step. Up to four JVMs start at the same time, which takes minutes on a busy
// machine.
const linePatience = 8 * time.Minute

// sparkLines lists the Spark versions to test. The default is one version, and `make e2e` sets all of them.
var sparkLines = flag.String("lines", cluster.SparkVersion, "Spark `versions` to run the proof on, separated by commas")

// program is one test program. It can run as a SparkApplication and with spark-submit.
type program struct {
	name string
	// manifest is the file of a SparkApplication template in testdata/lines.
	manifest string
	// submit and properties are the equivalent arguments and properties for spark-submit. They may contain the same
	// placeholders as the manifest.
	submit     []string
	properties string
	// facts are the results that the driver's log must contain.
	facts map[string]string
	// executors is the minimum number of executors. The test compares only the first executor.
	executors int
	// claims is true if the executors get PersistentVolumeClaims that the driver creates on demand.
	claims bool
}

// execution is one run of a program, submitted by the operator or by spark-submit.
type execution struct {
	set   stored.Set
	names *stored.Names
	took  time.Duration
}

// lines tests each Spark line. It submits the same programs twice: through the operator's native submission, and with
// the spark-submit of that Spark line. Both runs must give the same results. Their objects in the API server must be
// the same apart from the intended differences.
func (w *suite) lines(t *testing.T) {
	w.workbench(t)

	for version := range strings.SplitSeq(*sparkLines, ",") {
		t.Run(version, func(t *testing.T) {
			began := time.Now()

			image, err := w.LoadSpark(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}

			loaded := time.Since(began)
			proof := &lineProof{suite: w, version: version, image: image, seen: w.record(t)}
			t.Run("run", func(t *testing.T) {
				for _, p := range programs {
					t.Run(p.name, func(t *testing.T) {
						t.Parallel()
						proof.run(t, p)
					})
				}
			})

			if *wholeLife && !strings.HasPrefix(version, "3.") { // this line's distribution does not contain Connect
				t.Run("connect", func(t *testing.T) { w.connectLine(t, version, image) })
			}

			t.Logf("Spark %s: %.0f s, of which the image %.0f s%s", version, time.Since(began).Seconds(),
				loaded.Seconds(), proof.report())
		})
	}
}

// lineProof is the test of one Spark version.
type lineProof struct {
	*suite
	version, image string
	seen           *recorder

	mu    sync.Mutex
	lines []string
}

// line returns the Spark line, which is the first two numbers of the version.
func (p *lineProof) line() string { return strings.Join(strings.SplitN(p.version, ".", 3)[:2], ".") }

func (p *lineProof) report() string {
	p.mu.Lock()
	defer p.mu.Unlock()

	slices.Sort(p.lines)
	return strings.Join(append([]string{""}, p.lines...), "\n  ")
}

// run submits a program natively and with spark-submit at the same time, and compares the results.
func (p *lineProof) run(t *testing.T, prog program) {
	var native, submitted execution
	t.Run("both submissions", func(t *testing.T) {
		t.Run("native", func(t *testing.T) {
			t.Parallel()
			native = p.runNative(t, prog)
		})
		t.Run("spark-submit", func(t *testing.T) {
			t.Parallel()
			submitted = p.runSubmitted(t, prog)
		})
	})

	if t.Failed() {
		return
	}

	differences := stored.Compare(native.set, submitted.set, native.names, submitted.names)

	var expected []stored.Intended
	for _, entry := range intendedDifferences {
		if entry.On(p.line(), prog.name) {
			expected = append(expected, entry)
		}
	}

	unexplained, explained := stored.Explain(differences, expected)
	for _, d := range unexplained {
		t.Errorf("stored differently: %s", d)
	}

	for i, entry := range expected {
		if t.Logf("%3d %s", explained[i], entry); explained[i] == 0 {
			t.Errorf("intended, but not found: %s", entry)
		}
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	p.lines = append(p.lines, fmt.Sprintf("%-6s native %3.0f s, spark-submit %3.0f s, %d objects and their %d facts compared, %d differences, %d of them not intended",
		prog.name, native.took.Seconds(), submitted.took.Seconds(), len(native.set), count(native), len(differences),
		len(unexplained)))
}

func count(e execution) (facts int) {
	for _, object := range e.set {
		facts += len(stored.Facts(object, e.names))
	}
	return facts
}

// runNative runs a program as a SparkApplication, which the operator submits.
func (p *lineProof) runNative(t *testing.T, prog program) execution {
	began := time.Now()
	app := p.manifest(t, prog)
	p.create(t, app)
	defer func() {
		if t.Failed() {
			p.logPod(t, app.Name+"-driver")
		}
	}()

	p.awaitEnd(t, app, linePatience, v1beta2.ApplicationStateCompleted)

	if got := app.Status.ExecutionAttempts; got != 1 {
		t.Errorf("executionAttempts is %d, want 1", got)
	}

	if got := len(app.Status.ExecutorState); got < prog.executors {
		t.Errorf("executorState is %v, want at least %d executors", app.Status.ExecutorState, prog.executors)
	}

	done := p.checkRun(t, prog, app.Name, app.Status.DriverInfo.PodName)
	done.took = time.Since(began)
	ended := time.Now()

	p.remove(t, app)
	t.Logf("removed in %.0f s", time.Since(ended).Seconds())
	return done
}

// manifest returns the SparkApplication of a program, with its placeholders filled in.
func (p *lineProof) manifest(t *testing.T, prog program) *v1beta2.SparkApplication {
	t.Helper()
	text := p.fill(t, "proof-"+p.id(prog), readTestdata(t, prog.manifest))

	var app v1beta2.SparkApplication
	if err := yaml.UnmarshalStrict([]byte(text), &app); err != nil {
		t.Fatalf("%s: %v", prog.manifest, err)
	}

	if app.Spec.SparkConf == nil {
		app.Spec.SparkConf = map[string]string{}
	}

	maps.Copy(app.Spec.SparkConf, timeouts)
	return &app
}

// id returns a name that is unique for a program and a Spark version.
func (p *lineProof) id(prog program) string {
	return prog.name + "-" + strings.ReplaceAll(p.version, ".", "-")
}

func (p *lineProof) fill(t *testing.T, name, text string) string {
	t.Helper()

	parsed, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	if err := parsed.Execute(&out,
		map[string]string{"Name": name, "Version": p.version, "Image": p.image}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// checkRun checks the result of a completed run and collects its objects. The parameter name is the application's name.
func (p *lineProof) checkRun(t *testing.T, prog program, name, driver string) execution {
	t.Helper()

	if diff := cmp.Diff(prog.facts, p.printedFacts(t, driver)); diff != "" {
		t.Errorf("what the driver printed (-want +got):\n%s", diff)
	}

	own := p.seen.application(t, driver)

	set, names := own.comparedObjects(t, name)
	if got := len(own.executors()); got < prog.executors {
		t.Errorf("%d executors were made, want at least %d", got, prog.executors)
	}

	if prog.claims {
		p.claimsGone(t, own)
	}
	return execution{set: set, names: names}
}

// printedFacts returns the facts that the program printed to the driver's log.
func (p *lineProof) printedFacts(t *testing.T, driver string) map[string]string {
	t.Helper()

	text, err := p.Core.CoreV1().Pods("default").GetLogs(driver,
		&corev1.PodLogOptions{Container: "spark-kubernetes-driver"}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	facts := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if fact, ok := strings.CutPrefix(line, "proof: "); ok {
			name, value, _ := strings.Cut(strings.TrimRight(fact, "\n"), " = ")
			facts[name] = value
		}
	}

	if len(facts) == 0 {
		t.Errorf("no result in the driver's log:\n%s", text)
	}
	return facts
}

// workbench starts a pod that compiles the Java programs into jars. The programs use only stable APIs, so the same jars
// work on all Spark lines. Afterwards, the pod serves words.py over HTTP for the option --py-files, because in Spark
// 3.5 a local:// file would reach only the driver. The function program then creates the ConfigMap that all
// applications mount. It contains the jars, the main Python file and the package repository for the option --packages.
func (w *suite) workbench(t *testing.T) {
	const name, port = "proof-workbench", 8000
	meta := metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}}
	source := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"words.py": readTestdata(t, "words.py")}}

	files, err := filepath.Glob("testdata/lines/java/dev/example/*/*.java")
	if err != nil || len(files) == 0 {
		t.Fatal("no Java sources", err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		source.Data[filepath.Base(file)] = string(text)
	}

	pod := &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{configMapVolume("source", source.Name)},
			Containers: []corev1.Container{{
				Name: "workbench", Image: cluster.SparkImage,
				Args:         []string{"bash", "-c", readTestdata(t, "workbench.sh")},
				VolumeMounts: []corev1.VolumeMount{{Name: "source", MountPath: "/source"}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/words.py", Port: intstr.FromInt32(port)},
				}},
			}},
		},
	}
	service := &corev1.Service{ObjectMeta: meta,
		Spec: corev1.ServiceSpec{Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: port}}}}
	w.createAll(t, source, pod, service)
	w.awaitPod(t, name, "to compile and serve", podReady)
	w.program(t, name)
}

// program creates the ConfigMap and the Secret that all applications mount. The jars come from the workbench's log, and
// the other files from testdata.
func (w *suite) program(t *testing.T, workbench string) {
	built := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "proof-program", Namespace: "default"},
		Data: map[string]string{}, BinaryData: map[string][]byte{}}
	eventually(t, time.Minute, "two jars in the workbench's log", func() (string, bool) {
		text, err := w.Core.CoreV1().Pods("default").GetLogs(workbench, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			return err.Error(), false
		}

		for line := range strings.Lines(string(text)) {
			if name, content, ok := strings.Cut(strings.TrimSpace(line), ".jar "); ok {
				if built.BinaryData[name+".jar"], err = base64.StdEncoding.DecodeString(content); err != nil {
					t.Fatal(err)
				}
			}
		}
		return string(text), len(built.BinaryData) == 2
	})

	for _, file := range []string{"greeting.pom", "main.py"} {
		built.Data[file] = readTestdata(t, file)
	}

	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "proof-token", Namespace: "default"},
		StringData: map[string]string{"token": "open sesame"}}
	w.createAll(t, built, token)
}

// createAll creates objects that the test does not delete. They exist until the cluster stops.
func (w *suite) createAll(t *testing.T, objects ...client.Object) {
	t.Helper()

	for _, o := range objects {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitPod waits for a pod of the default namespace. If a container fails or the timeout expires, the test fails with
// the pod's status.
func (w *suite) awaitPod(t *testing.T, name, goal string, done func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{}
	ended := false
	defer func() {
		if !ended {
			w.logPod(t, name)
		}
	}()

	eventually(t, linePatience, name+" "+goal, func() (string, bool) {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, pod); err != nil {
			return err.Error(), false
		}

		status, err := yaml.Marshal(pod.Status)
		if err != nil {
			t.Fatal(err)
		}

		if failed := failedContainer(pod); failed != "" {
			t.Fatalf("%s of %s failed:\n%s", failed, name, status)
		}
		return string(status), done(pod)
	})

	ended = true
	return pod
}

// logPod logs the last lines of a pod's containers, for diagnosis.
func (w *suite) logPod(t *testing.T, pod string) {
	ctx := context.WithoutCancel(t.Context())

	found, err := w.Core.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		t.Log(err)
		return
	}

	for _, c := range found.Spec.Containers {
		log, err := w.Core.CoreV1().Pods("default").GetLogs(pod,
			&corev1.PodLogOptions{Container: c.Name, TailLines: new(int64(100))}).DoRaw(ctx)
		t.Logf("container %s of %s printed (%v):\n%s", c.Name, pod, err, log)
	}
}

// failedContainer returns the first container that has failed, or an empty string. The pod may still be running because
// of another container.
func failedContainer(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
			return c.Name
		}
	}
	return ""
}

func succeeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }

func configMapVolume(name, configMap string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
	}}}
}

func readTestdata(t *testing.T, file string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("testdata/lines", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
