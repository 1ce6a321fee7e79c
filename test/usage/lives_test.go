// Package usage checks the usage in statuses against the audit log of a real API server.
package usage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// debounce is the longest time for which the operator postpones a status write about executors of these lives.
const debounce = 30 * time.Second

// eventDelay is how long the event of a deletion may take on a busy machine.
const eventDelay = time.Second

func TestMain(m *testing.M) { kit.MainAudited(m) }

// simulation plays the kubelet and Spark for one application.
type simulation struct {
	*world.World
	random *rand.Rand
	app    *v1beta2.SparkApplication
	driver *corev1.Pod
	// downtime is held while no operator runs. No pod is deleted then, because its end would be unknown.
	downtime *sync.RWMutex
}

// pause lets time pass.
func (s *simulation) pause(most time.Duration) {
	time.Sleep(time.Duration(s.random.Int64N(int64(most))))
}

// set writes the status of a pod that has a node: a container that runs or, with an exit code, has ended.
func (s *simulation) set(pod *corev1.Pod, exit int32) {
	now, before := metav1.Now(), pod.DeepCopy()
	if len(pod.Status.Conditions) == 0 {
		for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.ContainersReady} {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	}

	status := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}

	pod.Status.Phase = corev1.PodRunning
	if exit >= 0 {
		status.Ready, status.State = false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: now, StartedAt: now}}
		pod.Status.Phase = map[bool]corev1.PodPhase{true: corev1.PodSucceeded, false: corev1.PodFailed}[exit == 0]
	}

	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	if err := s.API.Status().Patch(s.T.Context(), pod, client.MergeFrom(before)); err != nil {
		s.T.Error(err)
	}
}

func (s *simulation) delete(pod *corev1.Pod) {
	s.downtime.RLock()
	defer s.downtime.RUnlock()

	if err := s.API.Delete(s.T.Context(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		s.T.Error(err)
	}
}

// executor plays the life of an executor until the driver is about to end.
func (s *simulation) executor(id int, over <-chan struct{}) {
	pod := s.Executor(s.app, s.driver, id)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse([]string{"500m", "1", "4"}[s.random.IntN(3)]), corev1.ResourceMemory: resource.MustParse([]string{"1408Mi", "9Gi"}[s.random.IntN(2)]),
	}

	if err := s.API.Create(s.T.Context(), pod); err != nil {
		s.T.Error(err)
		return
	}

	s.pause(time.Second)
	s.set(pod, -1)

	timer := time.NewTimer(time.Duration(s.random.Int64N(int64(6 * time.Second))))
	defer timer.Stop()

	select {
	case <-over:
		s.set(pod, 0)
		return
	case <-timer.C:
	}

	switch s.random.IntN(4) {
	case 0: // Spark releases it
		s.set(pod, 0)
		s.delete(pod)
	case 1: // it fails, and its pod stays
		s.set(pod, 1)
	case 2: // somebody deletes it
		s.delete(pod)
	case 3: // it runs until the driver ends
		<-over
		s.set(pod, 0)
	}
}

// play plays a whole life.
func (s *simulation) play(name string) {
	s.app = s.Application(name, scene.WithDriver)
	s.driver = s.DriverOf(s.app, 1)
	s.pause(time.Second)
	s.set(s.driver, -1)

	over := make(chan struct{})

	var executors sync.WaitGroup
	for id := range s.random.IntN(6) {
		child := *s
		child.random = rand.New(rand.NewPCG(s.random.Uint64(), 1))

		executors.Go(func() { child.executor(id+1, over) })
	}

	s.pause(8 * time.Second)
	close(over)
	executors.Wait()

	driver := s.WaitPod(s.driver.Name)
	switch s.random.IntN(4) {
	case 0:
		s.set(driver, 1)
		s.WaitState(name, v1beta2.ApplicationStateFailed)
	case 1:
		s.delete(driver)
		s.WaitState(name, v1beta2.ApplicationStateFailed)
	default:
		s.set(driver, 0)
		s.WaitState(name, v1beta2.ApplicationStateCompleted)
	}
}

// pod is what the audit log shows about a pod.
type pod struct {
	app        string // UID
	cpu, mib   int64
	from, to   time.Time
	isDeletion bool // to is the time of the deletion
	gone       time.Time
}

// readPods returns the pods of a namespace from the audit log.
func readPods(t *testing.T, namespace string) map[string]*pod {
	t.Helper()

	file, err := os.Open(kit.AuditLog(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	pods, lines := map[string]*pod{}, bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)

	for lines.Scan() {
		var e struct {
			Stage, Verb string
			Done        time.Time                                               `json:"stageTimestamp"`
			Object      struct{ Resource, Subresource, Namespace, Name string } `json:"objectRef"`
			Status      struct{ Code int }                                      `json:"responseStatus"`
			Body        corev1.Pod                                              `json:"requestObject"`
		}

		text := lines.Bytes()
		if !strings.Contains(string(text), `"resource":"pods"`) || json.Unmarshal(text, &e) != nil || e.Stage != "ResponseComplete" || e.Object.Namespace != namespace || e.Status.Code >= 300 {
			continue
		}

		name := e.Object.Name
		if e.Verb == "create" && e.Object.Subresource == "" {
			p := &pod{app: e.Body.Labels[identity.AppUIDLabel]}
			for _, c := range e.Body.Spec.Containers {
				p.cpu += c.Resources.Requests.Cpu().MilliValue()
				p.mib += c.Resources.Requests.Memory().Value() >> 20
			}

			if name == "" {
				name = e.Body.Name
			}

			pods[name] = p
			continue
		}

		p := pods[name]
		switch {
		case p == nil:
		case e.Verb == "delete" && p.to.IsZero():
			p.to, p.gone, p.isDeletion = e.Done, e.Done, true
		case e.Verb == "delete":
			p.gone = e.Done
		case !p.to.IsZero():
		default:
			for _, c := range e.Body.Status.Conditions {
				if c.Type == corev1.PodScheduled && p.from.IsZero() {
					p.from = c.LastTransitionTime.Time
				}
			}

			for _, c := range e.Body.Status.ContainerStatuses {
				if c.State.Terminated != nil {
					p.to = c.State.Terminated.FinishedAt.Time
				}
			}
		}
	}

	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return pods
}

// TestUsageAgainstAuditLog plays lives of applications on a real API server, with a restart of the operator in the
// middle. It compares the usage in each status with the pods in the audit log. The sums must agree exactly for pods
// whose containers ended, and to a second for pods that were deleted while they ran, because Kubernetes stores no time
// of that. The exception are executors that were deleted just before the restart, so that no status has their end.
func TestUsageAgainstAuditLog(t *testing.T) {
	lives := effort.Count(t, 50)
	w := world.New(t)
	kit.AuditLog(t)

	stop := w.RunReal()

	var (
		downtime           sync.RWMutex
		all                sync.WaitGroup
		stopped, restarted time.Time
	)

	numbers := make(chan int)
	for range 16 {
		all.Go(func() {
			for number := range numbers {
				s := simulation{World: w, random: rand.New(rand.NewPCG(uint64(number), 0)), downtime: &downtime}
				s.play(fmt.Sprint("life-", number))
			}
		})
	}

	for number := range lives {
		numbers <- number

		if number == lives/2 {
			downtime.Lock()

			stopped = time.Now()

			stop()
			w.RunReal()
			w.DriverOf(w.Application("restarted", scene.WithDriver), 1) // now the operator observes all pods

			restarted = time.Now()

			downtime.Unlock()
		}
	}

	close(numbers)
	all.Wait()

	pods := readPods(t, w.Namespace)

	worst, unknown := 0.0, 0
	for number := range lives {
		app := w.Get(fmt.Sprint("life-", number))

		var cpu, mib, executors, tolerance float64

		count, known := 0, unknown
		for name, p := range pods {
			if p.app != string(app.UID) || p.from.IsZero() {
				continue
			}

			count++
			seconds := p.to.Sub(p.from).Seconds()
			cpu, mib = cpu+float64(p.cpu)*seconds, mib+float64(p.mib)*seconds

			if strings.Contains(name, "-exec-") {
				executors += seconds
			}

			switch {
			case p.gone.After(stopped.Add(-debounce)) && p.gone.Before(restarted):
				tolerance += restarted.Add(time.Minute).Sub(p.from).Seconds() // the end was not stored before the restart
				unknown++
			case p.isDeletion:
				tolerance += 1 + eventDelay.Seconds()
			}
		}

		if app.Status.Operator == nil || app.Status.Operator.Usage == nil || count == 0 {
			t.Errorf("life %d: no usage, or none of its pods is in the audit log", number)
			continue
		}

		got := usage.Total(app.Status.Operator.Usage)
		if off := abs(float64(got.CPUMillicoreSeconds)-cpu) / 4000; off > tolerance {
			t.Errorf("life %d: %d millicore-seconds, and %.0f in the audit log, with %d pods: %.1f s of a pod", number, got.CPUMillicoreSeconds, cpu, count, off)
			tell(t, app, pods)
		} else if unknown == known {
			worst = max(worst, off)
		}

		if off := abs(float64(got.MemoryMiBSeconds)-mib) / (9 << 10); off > tolerance {
			t.Errorf("life %d: %d MiB-seconds, and %.0f in the audit log", number, got.MemoryMiBSeconds, mib)
		}

		// A status that is written just before the operator observes the start or the end of an executor moves it.
		steps := app.Status.Operator.Usage.ExecutorSteps
		if area := area(steps); abs(area-executors) > tolerance+float64(2*count)*eventDelay.Seconds() {
			t.Errorf("life %d: the steps %q have %.0f s of executors, and the audit log %.0f s", number, steps, area, executors)
			tell(t, app, pods)
		}
	}

	t.Logf("%d lives with %d pods; the largest difference is %.2f s of a pod; %d pods were deleted just before the restart", lives, len(pods), worst, unknown)
}

// area returns the seconds of executors by the steps of an application that has ended.
func area(text string) (sum float64) {
	steps := usage.ParseSteps(text)
	for i := range steps[:max(len(steps)-1, 0)] {
		sum += float64(steps[i].N * (steps[i+1].At - steps[i].At))
	}
	return sum
}

// tell logs the usage of an application and its pods in the audit log.
func tell(t *testing.T, app *v1beta2.SparkApplication, pods map[string]*pod) {
	t.Helper()

	text, _ := json.Marshal(app.Status.Operator)
	t.Logf("%s", text)

	for name, p := range pods {
		if p.app == string(app.UID) {
			t.Logf("%s: %d millicores, %d MiB, from %s to %s, deleted: %v", name, p.cpu, p.mib, p.from.Format(time.TimeOnly), p.to.Format(time.StampMicro), p.isDeletion)
		}
	}
}

func abs(n float64) float64 { return max(n, -n) }
