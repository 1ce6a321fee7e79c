package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/record/run"
)

// podFacts are the last states of the pods of an object, also of pods that do not exist any more.
type podFacts struct {
	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

// watchPods follows the pods of an object until the end of the test.
func (w *suite) watchPods(t *testing.T, o client.Object) *podFacts {
	t.Helper()

	f := &podFacts{pods: map[types.UID]*corev1.Pod{}}

	events, err := w.Core.CoreV1().Pods(o.GetNamespace()).Watch(t.Context(), metav1.ListOptions{LabelSelector: labelAppUID + "=" + string(o.GetUID())})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(events.Stop)

	go func() {
		for event := range events.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				f.mu.Lock()
				f.pods[pod.UID] = pod
				f.mu.Unlock()
			}
		}
	}()
	return f
}

// requested returns what a pod with one container has requested until a time, and for one second.
func requested(pod *corev1.Pod, until time.Time) (sum, second statusv1.UsageSums) {
	for _, c := range pod.Spec.Containers {
		second.CPUMillicoreSeconds += c.Resources.Requests.Cpu().MilliValue()
		second.MemoryMiBSeconds += c.Resources.Requests.Memory().Value() >> 20
	}

	var from time.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			from = c.LastTransitionTime.Time
		}
	}

	for _, c := range pod.Status.ContainerStatuses {
		if end := c.State.Terminated; end != nil && end.FinishedAt.Time.Before(until) {
			until = end.FinishedAt.Time
		}
	}

	if from.IsZero() || until.Before(from) {
		return statusv1.UsageSums{}, second
	}

	seconds := int64(until.Sub(from) / time.Second)
	return statusv1.UsageSums{CPUMillicoreSeconds: seconds * second.CPUMillicoreSeconds, MemoryMiBSeconds: seconds * second.MemoryMiBSeconds}, second
}

// checkUsage compares a usage with the times and the requests of the pods, to one second of each pod. A pod counts at
// most until the usage was stored. The driver ended before.
func (f *podFacts) checkUsage(t *testing.T, used statusv1.UsageSums, stored time.Time, executors int) (driver *corev1.Pod) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()

	var want, tolerance statusv1.UsageSums
	var facts []string

	for _, pod := range f.pods {
		if pod.Labels["spark-role"] == "driver" {
			driver = pod
		}

		sum, second := requested(pod, stored)
		want.CPUMillicoreSeconds, want.MemoryMiBSeconds = want.CPUMillicoreSeconds+sum.CPUMillicoreSeconds, want.MemoryMiBSeconds+sum.MemoryMiBSeconds
		tolerance.CPUMillicoreSeconds, tolerance.MemoryMiBSeconds = tolerance.CPUMillicoreSeconds+second.CPUMillicoreSeconds, tolerance.MemoryMiBSeconds+second.MemoryMiBSeconds

		facts = append(facts, fmt.Sprintf("%s %+v", pod.Name, sum))
	}

	if driver == nil || len(f.pods) != 1+executors {
		t.Fatalf("the pods were %v, want a driver and %d executors", facts, executors)
	}

	near := func(got, want, tolerance int64) bool { return got > 0 && max(got-want, want-got) <= tolerance }
	if !near(used.CPUMillicoreSeconds, want.CPUMillicoreSeconds, tolerance.CPUMillicoreSeconds) || !near(used.MemoryMiBSeconds, want.MemoryMiBSeconds, tolerance.MemoryMiBSeconds) {
		t.Errorf("the usage is %+v, and the pods have %+v (%s)", used, want, strings.Join(facts, ", "))
	}

	t.Logf("usage %+v; of the pods %+v", used, want)
	return driver
}

// account is a row of `sparkctl usage -o json`.
type account struct {
	Group        string
	Runs, Failed int
	statusv1.UsageSums
}

// outlivesAsRecord checks, after the deletion of an application with one attempt, that `sparkctl runs` prints its
// record, and that the record and `sparkctl usage` agree with the status and with the pods. `sparkctl advise` has to
// name the requests of the driver. The arguments atEnd and app have the status at the end and the last one. The record
// is made from the first status with the end, so it has the usage of one of them.
func (p *logPlace) outlivesAsRecord(t *testing.T, atEnd, app *v1beta2.SparkApplication, facts *podFacts, executors int) {
	t.Helper()

	r, status := p.record(t, app.Name), app.Status.Operator
	stored := atEnd.Status.Operator.Usage.Time.Time
	want := run.Of(atEnd, stored)

	if r.Usage != want.Usage {
		stored = status.Usage.Time.Time
		want = run.Of(app, stored)
	}

	driver := facts.checkUsage(t, r.Usage, stored, executors)
	if r.UID != app.UID || r.Outcome == "" || r.Outcome != status.Outcome || r.Attempts != 1 || r.Attempt != 1 || !r.Ended.Equal(status.EndedAt.Time) ||
		!r.Started.Equal(want.Started) || r.Reason != want.Reason || r.SpecHash != status.SpecHash || r.Usage != want.Usage || int(r.PeakExecutors) != executors {
		t.Errorf("the record is %+v, and the status %+v", r, status)
	}

	if r.Image != driver.Spec.Containers[0].Image || r.ImageID == "" || r.ImageID != driver.Status.ContainerStatuses[0].ImageID || r.Links.Logs != status.Logs.Place || !strings.Contains(r.Links.Logs, string(app.UID)) {
		t.Errorf("the record has the image %s (%s) and the links %+v", r.Image, r.ImageID, r.Links)
	}

	var accounts []account
	if err := json.Unmarshal([]byte(p.sparkctlOut(t, "usage", "--by", "name", "-o", "json")), &accounts); err != nil {
		t.Fatal(err)
	}

	fails := 0
	if app.Status.AppState.State == failed {
		fails = 1
	}

	if !slices.ContainsFunc(accounts, func(a account) bool {
		return a.Group == p.namespace+"/"+app.Name && a.Runs == 1 && a.Failed == fails && a.UsageSums == r.Usage
	}) {
		t.Errorf("sparkctl usage prints %+v, and the record has %+v", accounts, r.Usage)
	}

	p.advises(t, app.Name, driver, r.Reason == "OOMKilled")
}

// advises checks what `sparkctl advise` prints about a name whose object is gone: the requests of the driver and, if
// the driver was killed for its memory, that it needs more. Then there is no object for a patch, which is an error.
func (p *logPlace) advises(t *testing.T, name string, driver *corev1.Pod, killed bool) {
	t.Helper()

	wanted := []string{fmt.Sprintf("driver: requested %d MiB of memory", driver.Spec.Containers[0].Resources.Requests.Memory().Value()>>20)}
	if killed {
		wanted = append(wanted, "killed for its memory in 1 run; request about", "there is no patch, because the object was not found")
	}

	text, err := p.run(t, "advise", name)
	for _, want := range wanted {
		if plain := strings.Join(strings.Fields(text), " "); (err != nil) != killed || !strings.Contains(plain, want) {
			t.Errorf("sparkctl advise: %v\n%s\nwant %q in it", err, text, want)
		}
	}
}

// record waits until `sparkctl runs` prints the only run of a name, and returns it. The object is gone.
func (p *logPlace) record(t *testing.T, name string) (r run.Record) {
	t.Helper()
	eventually(t, patience, "the record of "+name, func() (string, bool) {
		text, err := p.run(t, "runs", name, "-o", "json")

		var runs []run.Record
		if err == nil {
			err = json.Unmarshal([]byte(text), &runs)
		}

		if err != nil || len(runs) != 1 {
			return fmt.Sprintf("%v\n%s", err, text), false
		}

		r = runs[0]
		return "", true
	})
	return r
}

// sparkctlOut runs sparkctl, which has to succeed, and returns what it prints.
func (p *logPlace) sparkctlOut(t *testing.T, args ...string) string {
	t.Helper()

	text, err := p.run(t, args...)
	if err != nil {
		t.Fatalf("sparkctl %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return text
}

// run runs sparkctl as a user of the place, and returns what it prints: the output, or the errors and notes if there is
// no output.
func (p *logPlace) run(t *testing.T, args ...string) (string, error) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), p.sparkctl, append(args, "--kubeconfig", p.Kubeconfig(), "-n", p.namespace, "--store", p.url)...)
	var out, notes bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &notes

	err := cmd.Run()
	return cmp.Or(out.String(), notes.String()), err
}
