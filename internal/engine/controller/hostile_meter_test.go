package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	restclientwatch "k8s.io/client-go/rest/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/engine/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/test/kit/hostile"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// cost is the highest cost of an object in any of its passes.
type cost struct {
	Step    string        // the name of that pass
	CPU     time.Duration // of the whole process, garbage collection included
	Bytes   uint64        // allocated bytes
	Objects int           // objects that the operator would create
	Renders bool          // whether the object was rendered at all
	Refusal string        // the beginning of the rejection, if there was one
	Written int           // bytes of the status patch and of the events
	Sent    int           // bytes of the objects that would be created
}

// meter measures the cost of one hostile object, which it gets as JSON.
type meter func(object []byte) (cost, error)

// meters returns a meter for each kind. The key is the kind's stored APIVersion and its name, such as
// "spark.apache.org/v1 SparkCluster".
func meters(t testing.TB) map[string]meter {
	t.Helper()

	scheme := apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme,
		v1alpha1.AddToScheme, sparkv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}

	kindsWithout, reviews := hostileKinds(hostileConfig()), reviewsOf(t, hostileConfig())
	kindsUnderRules, reviewsUnderRules := hostileKinds(ruledConfig(t)), reviewsOf(t, ruledConfig(t))

	out := map[string]meter{}
	for name, kind := range kindsWithout {
		out[name] = meterOf(scheme, ruled{kind, reviews[name]}, ruled{kindsUnderRules[name], reviewsUnderRules[name]})
	}
	return out
}

// hostileKinds returns the kinds with a configuration, by APIVersion and Kind.
func hostileKinds(cfg config.Configuration) map[string]contract.Kind {
	settings := func() config.Configuration { return cfg }
	return map[string]contract.Kind{
		"sparkoperator.k8s.io/v1beta2 SparkApplication":          configured.For(kinds.SparkApplication).Build(settings, nil),
		"sparkoperator.k8s.io/v1beta2 ScheduledSparkApplication": configured.For(kinds.Schedule).Build(settings, nil),
		"sparkoperator.k8s.io/v1alpha1 SparkConnect":             configured.For(kinds.SparkConnect).Build(settings, nil),
		"spark.apache.org/v1 SparkApplication":                   configured.For(kinds.ApacheApplication).Build(settings, nil),
		"spark.apache.org/v1 SparkCluster":                       configured.For(kinds.SparkCluster).Build(settings, nil),
	}
}

// hostileConfig returns a configuration that enables every feature that a custom resource can request.
func hostileConfig() config.Configuration {
	cfg := config.Default()
	cfg.UI.Ingress.Enabled, cfg.UI.Ingress.URLFormat = new(true), "spark.example.com/{{$appNamespace}}/{{$appName}}"
	cfg.UI.Route.Enabled = new(true)
	cfg.BatchScheduler.Enabled, cfg.BatchScheduler.KubeSchedulerNames = true, []string{"scheduler-plugins"}
	return cfg
}

// ruledConfig returns hostileConfig with defaults, and with five sets of rules that judge everything and refuse little,
// because the review of an object that is refused ends early. Each set has its own list of patterns.
func ruledConfig(t testing.TB) config.Configuration {
	t.Helper()

	cfg := hostileConfig()
	for i := range 5 {
		set := fmt.Sprintf(`
name: set-%d
level: baseline
images: {allowed: ["registry-%[1]d.example.com/*", "regexp:(?s).*"]}
serviceAccounts: {allowed: ["spark-%[1]d*", "regexp:(?s).*"]}
nodeSelectors: {allowed: ["pool=spark-%[1]d*", "regexp:(?s).*"]}
tolerations: {allowed: ["spark=%[1]d:NoSchedule", "regexp:(?s).*"]}
priorityClasses: {allowed: ["batch-%[1]d", "regexp:(?s).*"]}
sparkConf: {denied: ["spark.jars.ivy%[1]d*", "spark.hadoop.fs.s%[1]d*"], required: {spark.eventLog.enabled: "*"}}
limits: {cores: 1E, memory: 1E, executors: 1000000000}
ingress: {hosts: {allowed: ["regexp:(?s).*"]}, classes: {allowed: ["regexp:(?s).*"]}, annotations: {allowed: ["regexp:(?s).*"]}}
packages: {allowed: ["org.apache.spark-%[1]d:*", "regexp:(?s).*"]}
repositories: {allowed: ["https://maven-%[1]d.example.com/*", "regexp:(?s).*"]}
`, i)

		var rules policy.Rules
		if err := yaml.UnmarshalStrict([]byte(set), &rules); err != nil {
			t.Fatal(err)
		}

		cfg.Policy.Rules = append(cfg.Policy.Rules, rules)
	}

	if errs := cfg.Policy.Prepare(field.NewPath("policy")); len(errs) > 0 {
		t.Fatal(errs)
	}

	text := `
- name: everybody
  sparkConf: {spark.eventLog.enabled: "true", spark.ui.port: "4040"}
  eventLogDirectory: s3a://logs/events
  images: {"4.1": "registry.example.com/spark:4.1"}
  imagePullSecrets: [pull]
  driver: {labels: {team: a}, nodeSelector: {pool: spark}}
  executor: {labels: {team: a}, nodeSelector: {pool: spark}}
  timeToLiveSeconds: 3600
`
	if err := yaml.UnmarshalStrict([]byte(text), &cfg.Defaults); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ruled is a kind and its reviews with one configuration.
type ruled struct {
	kind   contract.Kind
	review reviewOf
}

// hostileLife plays the life cycle of one hostile object and measures each step.
type hostileLife struct {
	ruled
	suffix         string                              // of the names of steps
	rules          ruled                               // with rules of the platform, which refuse most objects
	watched, asked func([]byte) (client.Object, error) // decode an object of a watch event, and the answer to a read
	spent          cost
	worst          cost
}

func meterOf(scheme *apiruntime.Scheme, open, rules ruled) meter {
	watched, asked := decoders(scheme, open.kind)
	return func(object []byte) (cost, error) {
		life := &hostileLife{ruled: open, rules: rules, watched: watched, asked: asked}
		err := life.lead(object)
		return life.worst, err
	}
}

// decoders returns two functions that decode an object of a kind. The function watched decodes an object from a watch
// event, like controller-runtime's informer. The function asked decodes the response to a GET request, like the client.
func decoders(scheme *apiruntime.Scheme, kind contract.Kind) (watched, asked func([]byte) (client.Object, error)) {
	codecs := serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(scheme)}
	info, _ := apiruntime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), apiruntime.ContentTypeJSON)
	objects := codecs.DecoderToVersion(info.Serializer, nil)
	typed := func(decoded apiruntime.Object, err error) (client.Object, error) {
		if err != nil {
			return nil, err
		}

		if got, want := reflect.TypeOf(decoded), reflect.TypeOf(kind.New()); got != want {
			return nil, fmt.Errorf("decoded a %s, want a %s", got, want)
		}
		return decoded.(client.Object), nil
	}
	watched = func(object []byte) (client.Object, error) {
		event := append(append([]byte(`{"type":"ADDED","object":`), object...), "}\n"...)
		frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(bytes.NewReader(event)))
		decoder := restclientwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), objects)
		defer decoder.Close()

		_, decoded, err := decoder.Decode()
		return typed(decoded, err)
	}
	return watched, func(object []byte) (client.Object, error) { return typed(apiruntime.Decode(objects, object)) }
}

// reviews sends an object to the webhook twice, as a creation and as an update.
func (l *hostileLife) reviews(raw []byte) (failed error) {
	l.step("review of the creation"+l.suffix, func() { failed = l.review(raw, nil) })

	if failed != nil {
		return failed
	}

	before := edited(raw)
	l.step("review of an update"+l.suffix, func() { failed = l.review(raw, before) })
	return failed
}

// underRules reviews an object and makes the first pass over it, with rules and defaults of the platform.
func (l *hostileLife) underRules(raw []byte) (failed error) {
	open := l.ruled
	l.ruled, l.suffix = l.rules, " under rules"
	defer func() { l.ruled, l.suffix = open, "" }()

	if err := l.reviews(raw); err != nil {
		return err
	}

	l.step("first pass"+l.suffix, func() {
		o := &outcome{View: dependents.View{Now: scene.Noon}}
		if o.Owner, failed = l.read(raw); failed == nil {
			failed = l.pass(o)
		}
	})
	l.worst.Refusal, l.worst.Renders = "", false // of the passes without rules
	return failed
}

// lead reviews an object and makes the first pass over it, under rules of the platform. Without rules, it reviews the
// object again and makes four passes over it: a first pass, a pass with running pods, a pass with a failed driver, and
// a pass without pods.
func (l *hostileLife) lead(raw []byte) error {
	if err := l.underRules(raw); err != nil {
		return err
	}

	o := &outcome{View: dependents.View{Now: scene.Noon}}
	var failed error

	if err := l.reviews(raw); err != nil {
		return err
	}

	l.step("first pass", func() {
		if o.Owner, failed = l.read(raw); failed == nil {
			failed = l.pass(o)
		}
	})

	if failed != nil {
		return failed
	}

	created := scene.Noon.Add(time.Second)
	for _, next := range []struct {
		name string
		seen lifecycle.Observed
	}{
		{"pass with running pods", runningFacts(created)},
		{"pass with a failed driver", failedFacts(created)},
		{"pass after the end", lifecycle.Observed{Confirmed: true}},
	} {
		o.Owner = o.object.DeepCopyObject().(client.Object)
		o.Seen, o.Now = next.seen, o.Now.Add(time.Minute)
		l.step(next.name, func() { failed = l.pass(o) })

		if failed != nil {
			return failed
		}
	}
	return nil
}

// read decodes an object as the cache does. If the cache does not keep the object's spec, read decodes it once more, as
// a pass does (Reconciler.read).
func (l *hostileLife) read(raw []byte) (client.Object, error) {
	object, err := l.watched(raw)
	if err != nil {
		return object, fmt.Errorf("decode: %w", err)
	}

	if _, err := trim.Resource(object); err != nil {
		return object, err
	}

	if large, ok := any(object).(trim.SpecDropper); ok && large.DropLargeSpec(trim.MaxSpec) {
		if object, err = l.asked(raw); err != nil {
			return object, fmt.Errorf("decode: %w", err)
		}

		trim.DropClientNotes(object)
	}
	return object, nil
}

// step runs the function `do` as one step of the life cycle, and measures its cost. It raises each value of l.worst
// that this cost exceeds.
func (l *hostileLife) step(name string, do func()) {
	l.spent = cost{Step: name, Renders: l.worst.Renders, Refusal: l.worst.Refusal}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	began := processCPU()

	do()

	l.spent.CPU = processCPU() - began

	runtime.ReadMemStats(&after)
	l.spent.Bytes = after.TotalAlloc - before.TotalAlloc

	worst := l.worst
	if l.spent.CPU > worst.CPU {
		worst.Step, worst.CPU = name, l.spent.CPU
	}

	worst.Bytes, worst.Objects = max(worst.Bytes, l.spent.Bytes), max(worst.Objects, l.spent.Objects)
	worst.Written, worst.Sent = max(worst.Written, l.spent.Written), max(worst.Sent, l.spent.Sent)
	worst.Renders, worst.Refusal = l.spent.Renders, l.spent.Refusal
	l.worst = worst
}

// processCPU returns the CPU time of this process.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// pass makes a pass without an API server: it decides, renders the actions' objects and the auxiliary objects, and
// encodes everything that it would send.
func (l *hostileLife) pass(o *outcome) error {
	var sent []client.Object
	for range maxRounds {
		o.object = o.Owner.DeepCopyObject().(client.Object)
		o.plan = l.kind.Decide(o.object, o.Seen, o.Now)
		fact, objects := l.apply(o)
		sent = append(sent, objects...)

		if fact == nil {
			break
		}

		fact(&o.Seen)
	}

	if _, wants := l.kind.(auxiliary.Kind); wants {
		sent = append(sent, l.ensureAuxiliary(o)...)
	}

	if prober, probes := l.kind.(apply.Prober); probes && len(o.Seen.Executors) > 0 {
		if pod, err := prober.Executor(o.object, 1, 3, "7a7a2f2e-6c7e-4f0b-9d61-6a1d5b5f0c11", o.Now); err == nil {
			l.send(pod)
		}
	}

	for _, object := range sent {
		l.send(object)
	}

	l.spent.Objects = len(sent)

	patch, err := statuswrite.Patch(o.Owner, o.object, l.kind.Status)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}

	observed("status", patch)

	l.spent.Written += len(patch)
	for _, event := range append(l.kind.Events(o.object, o.plan), o.events...) {
		l.spent.Written += len(event.Message)
		if event.Type == corev1.EventTypeWarning && !l.spent.Renders && l.spent.Refusal == "" {
			l.spent.Refusal = event.Reason + ": " + event.Message[:min(len(event.Message), 160)]
		}
	}
	return nil
}

// apply renders the objects of the plan's actions and returns them. It stops early, and returns a fact for the next
// decision, in two cases:
//
//   - An object cannot be rendered. The fact is a rejection.
//   - An action requests a live read. No API server exists here, so the fact only claims that the read took place and
//     confirmed the cache.
func (l *hostileLife) apply(o *outcome) (apply.Fact, []client.Object) {
	var sent []client.Object
	for _, action := range o.plan.Actions {
		switch {
		case action.Verb == lifecycle.Confirm && action.Part != lifecycle.Executors && !o.Seen.Confirmed:
			return func(seen *lifecycle.Observed) {
				seen.Confirmed, seen.Inspected, seen.PodsConfirmed = true, true,
					true
			}, sent
		case action.Verb == lifecycle.Create && action.Part == lifecycle.ScheduledRun:
			run, err := l.kind.(runs.Kind).RenderRun(o.object, action)
			if err != nil {
				return apply.RejectionFact(lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}), sent
			}

			l.spent.Renders = true

			sent = append(sent, run)
		case action.Verb == lifecycle.Create && action.Part != lifecycle.DriverBudget:
			objects, err := l.kind.(apply.Launcher).Render(o.object, action, o.Now)
			if err != nil {
				return apply.RejectionFact(lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}), sent
			}

			l.spent.Renders = true

			for _, object := range objects.Before {
				sent = append(sent, object)
			}

			if driver, err := objects.DriverObject(); err == nil {
				sent = append(sent, driver)
			}
		}
	}
	return nil, sent
}

// ensureAuxiliary returns the wanted auxiliary objects, and records in the custom resource's status that all of them
// exist.
func (l *hostileLife) ensureAuxiliary(o *outcome) []client.Object {
	wanted := l.kind.(auxiliary.Kind).AuxiliaryObjects(o.object, o.Seen)
	if wanted.Unsettled {
		return nil
	}

	auxiliary.DigestOf(wanted.Objects, nil)
	var objects []client.Object

	var stand []lifecycle.AuxiliaryObject
	for _, object := range wanted.Objects {
		objects = append(objects, object)
		l.spent.Renders = true

		stand = append(stand, lifecycle.AuxiliaryObject{Kind: dependents.KindOf(object), Name: object.GetName(),
			Current: true})
		if _, err := auxiliary.AppliedTree(object); err != nil {
			stand[len(stand)-1].Cause = lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
		}
	}

	*o = o.withAuxiliary(auxiliary.RecordResults(wanted, stand, o.Now))
	return objects
}

func (l *hostileLife) send(object client.Object) {
	text, err := json.Marshal(object)
	if err == nil {
		l.spent.Sent += len(text)
	}
}

// runningFacts returns the facts of a pass with a running driver, some executors, and the pods of a cluster.
func runningFacts(at time.Time) lifecycle.Observed {
	seen := lifecycle.Observed{
		Confirmed: true, RemainingAttempts: []int32{1}, AuxiliaryCount: 3,
		Drivers: []lifecycle.Driver{{
			Name: "hostile-driver", UID: "7a7a2f2e-6c7e-4f0b-9d61-6a1d5b5f0c11", Attempt: 1,
			Phase: lifecycle.DriverRunning, Ready: true, Address: "10.0.0.1",
			AppID: "spark-1", CreatedAt: at, StartedAt: at, ReadyAt: at,
			Status: &corev1.PodStatus{Phase: corev1.PodRunning},
		}},
		Runs: []lifecycle.Run{{Name: "hostile-1", UID: "6a7a2f2e-6c7e-4f0b-9d61-6a1d5b5f0c11", CreatedAt: at}},
	}
	for i := range 3 {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("hostile-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1",
			Phase: lifecycle.DriverRunning, CreatedAt: at,
		})
	}

	for _, role := range []lifecycle.Role{lifecycle.Master, lifecycle.Worker} {
		seen.Members = append(seen.Members,
			lifecycle.Member{Name: "hostile-" + string(role) + "-0", Role: role, Phase: lifecycle.DriverRunning,
				Ready: true, CreatedAt: at})
	}
	return seen
}

// failure is the message of the failed driver.
var failure = "exit code 1"

// failedFacts returns the facts of runningFacts after the driver failed.
func failedFacts(at time.Time) lifecycle.Observed {
	seen := runningFacts(at)
	driver := &seen.Drivers[0]
	driver.Phase, driver.Ready, driver.EndedAt, driver.ExitCode, driver.HasExit = lifecycle.DriverFailed, false,
		at.Add(time.Minute), 1, true
	driver.Why = lifecycle.Cause{Reason: "Error", Message: failure}
	seen.Executors[0].Phase = lifecycle.DriverFailed
	seen.Runs[0].Outcome, seen.Runs[0].EndedAt = lifecycle.Failed, at.Add(time.Minute)
	return seen
}

// TestMeterRendersAnOrdinaryApplication checks that an ordinary application is rendered and costs little. If the
// operator rejected it, the meter would measure only rejections.
func TestMeterRendersAnOrdinaryApplication(t *testing.T) {
	definitions, err := hostile.Definitions("../../../config/crd")
	if err != nil {
		t.Fatal(err)
	}

	known := meters(t)
	for _, d := range definitions {
		for _, c := range hostile.Ordinary(d) {
			object, err := c.JSON()
			if err != nil {
				t.Fatal(err)
			}

			spent, err := known[d.Stored+" "+d.Kind](object)
			if err != nil || !spent.Renders {
				t.Errorf("%s: %+v, %v", c.Name(), spent, err)
			}

			t.Logf("%s: %+v", c.Name(), spent)
		}
	}
}
