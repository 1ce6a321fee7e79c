package launch

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// pi is an attempt of a small dialect, whose custom resource is a Spark configuration.
type pi struct {
	Builder
	settings  map[string]string
	executors int32
	submits   bool           // spark-submit creates the driver pod
	calls     map[string]int // of the methods
}

func (p *pi) call(method string) {
	if p.calls == nil {
		p.calls = map[string]int{}
	}
	p.calls[method]++
}

func (p *pi) Configuration() (*conf.Conf, error) {
	p.call("Configuration")

	if p.settings["spark.wrong"] != "" {
		return nil, &dialect.FieldError{Field: "spec.wrong", Message: "is wrong"}
	}
	return conf.FromMap(p.settings), nil
}

func (p *pi) Request(c *conf.Conf) error {
	p.call("Request")

	c = c.Clone()
	c.SetIfMissing("spark.kubernetes.container.image", "apache/spark:4.1.4")
	c.SetIfMissing("spark.kubernetes.executor.podNamePrefix", "pi-1")

	p.Name = func(refused *submit.Error) *dialect.FieldError {
		return &dialect.FieldError{Field: "spec." + refused.Key, Message: refused.Message}
	}
	p.Submit = submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppName: "pi", AppID: "spark-1", ResourceNamePrefix: "pi-1",
		MainClass: "org.example.Pi", Resource: "local:///opt/pi.jar", Conf: c,
		Owner: metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "App", Name: "pi", UID: "1"},
	}
	return nil
}

func (p *pi) Build() (submit.Objects, *lifecycle.Cause, error) {
	p.call("Build")

	m := Mode{}
	if p.submits {
		m.Required = "a test"
	}
	return Submitted(m, p.Native, p.Runner)
}

func (p *pi) Driver() (*corev1.Pod, error) {
	p.call("Driver")
	return p.Builder.Driver()
}

func (p *pi) Executor(id int, driver types.UID) (*corev1.Pod, error) {
	p.call("Executor")

	switch {
	case p.executors < 0:
		return nil, ErrNoExecutors
	case p.settings["spark.lost"] != "":
		return nil, &dialect.FieldError{Field: "spec.lost", Message: "cannot be rendered"}
	}
	return p.ExecutorOf("", id, driver)
}

func (p *pi) Bound(role string) (*corev1.Pod, []*dialect.FieldError) {
	p.call("Bound")

	switch {
	case role == RoleExecutor && p.executors < 0:
		return nil, nil
	case p.settings["spark.lost"] != "":
		return nil, []*dialect.FieldError{{Field: "spec.lost", Message: "cannot be rendered"}}
	}
	return p.Builder.Bound(role)
}

func (p *pi) Workers(*conf.Conf) (dialect.Workers, int32) {
	return dialect.Workers{Field: "spec.executors", Max: int64(p.executors)}, p.executors
}

func (p *pi) Field(key, _ string) string { return "spec." + key }

func (p *pi) Describe(role string, pod *corev1.Pod) dialect.Pod {
	return dialect.PodOf(role, "spec", &pod.ObjectMeta, &pod.Spec)
}

// Judge reports the facts that the rules see, as a fault.
func (p *pi) Judge(s *dialect.Subject) []*dialect.FieldError {
	var words []string

	pods, faults := s.Pods()
	for _, pod := range pods {
		words = append(words, fmt.Sprint(pod.Role, " ", pod.Meta.Name, " ", pod.Worker, " ", pod.Container != nil))
	}

	words = append(words, fmt.Sprint(s.Workers().Max), fmt.Sprint(len(s.Settings())))
	return append(faults, &dialect.FieldError{Field: "spec", Message: strings.Join(words, ", ")})
}

type anyRules struct{}

func (anyRules) Faults(*dialect.Subject) []*dialect.FieldError          { return nil }
func (anyRules) ExposureFaults(*dialect.Exposing) []*dialect.FieldError { return nil }

func launchOf(p *pi) *Launch[*pi] {
	return New(p, Identity{Number: 2, ID: "id"}, map[string]any{},
		dialect.Sources("spec.driver", "spec.executor", "template"), anyRules{})
}

func TestNextAttempt(t *testing.T) {
	for last, want := range map[int32]int32{0: 1, 1: 2, 41: 42, math.MaxInt32 - 1: math.MaxInt32, math.MaxInt32: 1} {
		if got := NextAttempt(lifecycle.Memory{Attempt: last}); got != want {
			t.Errorf("after attempt %d follows %d, want %d", last, got, want)
		}
	}
}

// TestEachPartIsComputedOnce checks that the readers of a launch, in any number, compute each of its parts once.
func TestEachPartIsComputedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		pi   *pi
		want map[string]int
	}{
		"the operator": {&pi{executors: 2},
			map[string]int{"Configuration": 1, "Request": 1, "Build": 1, "Executor": 1, "Bound": 1}},
		"spark-submit": {&pi{executors: 2, submits: true},
			map[string]int{"Configuration": 1, "Request": 1, "Build": 1, "Driver": 1, "Executor": 1, "Bound": 2}},
		"a fault": {&pi{settings: map[string]string{"spark.wrong": "x"}}, map[string]int{"Configuration": 1}},
	} {
		l := launchOf(c.pi)
		for range 3 {
			if len(l.BuildFaults()) == 0 {
				l.PodFaults()
				l.RuleFaults()
			}

			l.Settings()
			l.Pods()

			if _, err := l.Executor(); (err != nil) != (name == "a fault") {
				t.Errorf("%s: %v", name, err)
			}
		}

		if diff := cmp.Diff(c.want, c.pi.calls); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFactsOfALaunchForRules checks what the rules see of a launch. The pod that runs spark-submit has no Spark
// container.
func TestFactsOfALaunchForRules(t *testing.T) {
	for want, p := range map[string]*pi{
		"spec: driver pi-1-driver false true, executor pi-1-exec-1 true true, 3, 1":                                       {executors: 3, settings: map[string]string{"spark.a": "b"}},
		"spec: spark-submit pi-1-submit false false, driver pi-1-driver false true, executor pi-1-exec-1 true true, 3, 0": {executors: 3, submits: true},
		"spec: driver pi-1-driver false true, -1, 0":                                                                      {executors: -1},
	} {
		l := launchOf(p)
		if faults := First(l.BuildFaults, l.RuleFaults); len(faults) != 1 || faults[0].Error() != want {
			t.Errorf("%v, want %s", faults, want)
		}
	}

	free := New(&pi{}, Identity{}, nil, dialect.PodSources{}, nil)
	if faults := First(free.BuildFaults, free.RuleFaults); faults != nil {
		t.Errorf("without rules: %v", faults)
	}
}

// TestPodsOfALaunch checks the numbers that are compared with quotas.
func TestPodsOfALaunch(t *testing.T) {
	for name, c := range map[string]struct {
		pi   *pi
		want string
	}{
		"a driver and executors": {&pi{executors: 3}, "driver pi-1-driver 1, executor pi-1-exec-1 3"},
		"a driver that spark-submit creates": {&pi{executors: 1, submits: true},
			"driver pi-1-driver 1, executor pi-1-exec-1 1"},
		"no executors":                   {&pi{}, "driver pi-1-driver 1"},
		"a negative number of executors": {&pi{executors: -5}, "driver pi-1-driver 1"},
		"a driver that cannot be rendered": {&pi{executors: 3,
			settings: map[string]string{"spark.driver.memory": "much"}}, ""},
		"executors that cannot be rendered": {&pi{executors: 3, settings: map[string]string{"spark.lost": "x"}},
			"driver pi-1-driver 1"},
		"a wrong configuration": {&pi{executors: 3, settings: map[string]string{"spark.wrong": "x"}}, ""},
	} {
		var words []string
		for _, p := range launchOf(c.pi).Pods() {
			words = append(words, fmt.Sprintf("%s %s %d", p.Role, p.Pod.Name, p.Count))
		}

		if got := strings.Join(words, ", "); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestLaunchGoesToTheActionOfItsAttempt checks that no other action gets the launch. A deletion, or the launch of
// another attempt, would otherwise use the objects of the wrong attempt.
func TestLaunchGoesToTheActionOfItsAttempt(t *testing.T) {
	actions := []lifecycle.Action{
		{Verb: lifecycle.Delete, Part: lifecycle.Submission, Attempt: 2},
		{Verb: lifecycle.Create, Part: lifecycle.DriverBudget, Attempt: 2},
		{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1},
		{Verb: lifecycle.Confirm, Part: lifecycle.Submission, Attempt: 2},
		{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2},
	}
	l := launchOf(&pi{})
	l.Attach(lifecycle.Plan{Actions: actions})

	for i, action := range actions {
		if got, want := action.Built != nil, i == 4; got != want {
			t.Errorf("action %d (%s %s %d): has a launch is %v, want %v", i, action.Verb, action.Part, action.Attempt,
				got, want)
		}
	}

	if actions[4].Built != l {
		t.Errorf("the action has %v", actions[4].Built)
	}
	var none *Launch[*pi]

	fresh := []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission}}
	if none.Attach(lifecycle.Plan{Actions: fresh}); fresh[0].Built != nil {
		t.Errorf("without a launch the action has %v", fresh[0].Built)
	}
}

// TestAttachedReusesOnlyTheSameLaunch checks that objects of another attempt, id or time are rendered again: the time
// of the submission and the id are part of the objects.
func TestAttachedReusesOnlyTheSameLaunch(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

	l := New(&pi{}, Identity{Number: 2, ID: "id", At: at}, nil, dialect.PodSources{}, nil)
	for name, c := range map[string]struct {
		built  any
		id     Identity
		reused bool
	}{
		"the same launch":                   {l, Identity{2, "id", at}, true},
		"the same time in another zone":     {l, Identity{2, "id", at.In(time.FixedZone("east", 3600))}, true},
		"another attempt":                   {l, Identity{3, "id", at}, false},
		"another id":                        {l, Identity{2, "id2", at}, false},
		"another time":                      {l, Identity{2, "id", at.Add(time.Nanosecond)}, false},
		"no launch":                         {nil, Identity{2, "id", at}, false},
		"a launch of another kind's render": {submit.Objects{}, Identity{2, "id", at}, false},
	} {
		got, objects, err := Attached(lifecycle.Action{Attempt: c.id.Number, Built: c.built}, c.id,
			func() *Launch[*pi] { return launchOf(&pi{}) })
		if err != nil || (got == l) != c.reused {
			t.Errorf("%s: reused %t, %v", name, got == l, err)
			continue
		}

		objects.Driver.Name = "changed by the caller"
		if own, _, _ := l.Objects(); own.Driver.Name != "pi-1-driver" {
			t.Fatalf("%s: the caller shares memory with the decision", name)
		}
	}

	_, _, err := Attached(lifecycle.Action{}, Identity{},
		func() *Launch[*pi] { return launchOf(&pi{settings: map[string]string{"spark.wrong": "x"}}) })
	if fault, ok := errors.AsType[*dialect.FieldError](err); !ok || fault.Field != "spec.wrong" {
		t.Errorf("the error is %v", err)
	}
}

// TestSubmittedByTheModes checks who creates a driver pod that the operator could not build, in each mode.
func TestSubmittedByTheModes(t *testing.T) {
	needs := map[string]string{"spark.kubernetes.driver.podTemplateFile": "/opt/t.yaml"}
	for name, c := range map[string]struct {
		mode     Mode
		settings map[string]string
		why, err string
	}{
		"nothing prevents the operator": {Mode{}, nil, "", ""},
		"spark-submit is required": {Mode{Required: "the test requires it"}, nil,
			"spark-submit creates the driver pod: the test requires it", ""},
		"only spark-submit can": {Mode{}, needs,
			"spark-submit creates the driver pod: spec.spark.kubernetes.driver.podTemplateFile: ", ""},
		"it is switched off": {Mode{Off: true}, needs, "",
			"; spark-submit could do it, but that is switched off by the operator's configuration ("},
		"another setting excludes it": {Mode{Excluded: "; do this"}, needs, "", "; do this"},
		"nobody can": {Mode{}, map[string]string{"spark.driver.memory": "much"}, "",
			"spec.spark.driver.memory: "},
	} {
		p := &pi{settings: maps.Clone(c.settings)}

		l := launchOf(p)
		if err := l.prepare(); err != nil {
			t.Fatal(err)
		}

		objects, why, err := Submitted(c.mode, p.Native, p.Runner)

		message, text := "", ""
		if why != nil {
			message = why.Message
		}

		if err != nil {
			text = err.Error()
		}

		if !strings.HasPrefix(message, c.why) || (message == "") != (c.why == "") || !strings.Contains(text, c.err) ||
			(text == "") != (c.err == "") || (objects.Driver == nil) != (err != nil) {
			t.Errorf("%s: %q, %v", name, message, err)
		}
	}
}

// TestErrorsNameTheFieldAndKeepTheirCause checks that an error for which only spark-submit can submit the application
// is both a fault of the custom resource and the error of package submit.
func TestErrorsNameTheFieldAndKeepTheirCause(t *testing.T) {
	b := Builder{Name: func(*submit.Error) *dialect.FieldError {
		return &dialect.FieldError{Field: "spec.a", Message: "is wrong"}
	}}

	other := errors.New("something else")
	for _, c := range []struct {
		err           error
		fault, native bool
	}{{nil, false, false}, {other, false, false}, {&submit.Error{Key: "a"}, true, false},
		{&submit.Error{Key: "a", NotNative: true}, true, true}} {
		named := b.Named(c.err)
		_, fault := errors.AsType[*dialect.FieldError](named)

		refused, native := errors.AsType[*submit.Error](named)
		if fault != c.fault || native != c.native || native && !refused.NotNative || !fault &&
			!errors.Is(named, c.err) {
			t.Errorf("%v becomes %v", c.err, named)
		}
	}
}

// TestExecutorsInAQueue checks for how many executors an attempt needs quota. Spark replaces references in the number,
// which once counted as the default number.
func TestExecutorsInAQueue(t *testing.T) {
	const number = "spark.executor.instances"

	for name, c := range map[string]struct {
		executors int32
		settings  map[string]string
		want      string
	}{
		"the number of the attempt":        {2, nil, "driver 1, executor 2"},
		"the same number":                  {2, map[string]string{number: "2"}, "driver 1, executor 2"},
		"a reference to a key":             {2, map[string]string{number: "${spark.n}", "spark.n": "50"}, "driver 1, executor 50"},
		"executors that cannot be counted": {2, map[string]string{"spark.lost": "x"}, "spec.lost: cannot be rendered"},
	} {
		pods, err := launchOf(&pi{executors: c.executors, settings: c.settings}).QueuedPods()

		var words []string
		for _, group := range pods {
			words = append(words, fmt.Sprint(group.Role, " ", group.Count))
		}

		got := strings.Join(words, ", ")
		if err != nil {
			got = err.Error()
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
