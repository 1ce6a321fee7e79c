package e2e

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// logsOfLostNode checks the logs of drivers whose node is lost, and whose pods are then deleted by force. With
// streamInterval, what the driver wrote up to the last upload is kept, and the last upload was at most the interval
// before the loss. Otherwise the status has the reason.
//
// The kubelet is suspended, so that Kubernetes treats the node as lost. The operator and the store continue, as on
// another node.
func (w *suite) logsOfLostNode(t *testing.T, maps, stream *logPlace) {
	nodeName := w.nodeName(t)
	apps := map[*logPlace]*v1beta2.SparkApplication{}

	for _, p := range []*logPlace{maps, stream} {
		app := p.app(t, driverEnd{name: "node lost", steps: []string{"tick"}, spec: func(a *v1beta2.SparkApplication) {
			a.Spec.Driver.Tolerations = tolerateLostNode()
		}})
		p.create(t, app)
		p.untilLogged(t, app, "driver", "tick 5 ")

		apps[p] = app
	}

	before := stream.untilCurrent(t, apps[stream])

	goOn, err := w.SuspendComponent(t.Context(), "kubelet")
	if err != nil {
		t.Fatal(err)
	}
	defer goOn()

	lost := time.Now()

	for p, app := range apps {
		p.await(t, app, patience, "NodeLost", func(a *v1beta2.SparkApplication) bool { return condition(a, "Ready").Reason == "NodeLost" })

		if err := w.Client.Delete(t.Context(), p.podOf(t, app, "driver"), client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}

	for p, app := range apps {
		p.await(t, app, patience, "the reason why the log is not kept", func(a *v1beta2.SparkApplication) bool {
			return condition(a, "LogsNotKept").Status == "True"
		})
	}

	goOn()
	w.awaitNode(t, nodeName)
	maps.loses(t, apps[maps], "tick 5 ")

	again := stream.again(t)
	again.loses(t, apps[stream], before.line)

	kept := ticksOf(t, again.printed(t, apps[stream]))
	for n, tick := range kept {
		if tick.number != n {
			t.Fatalf("line %d of the kept log is %s: lines are missing or twice", n, tick.line)
		}
	}

	last := kept[len(kept)-1]
	t.Logf("with streamInterval %s, the last line is %.1f s older than the loss of the node", streamInterval, lost.Sub(last.at).Seconds())

	for p, app := range apps {
		p.remove(t, app)
	}
}

// again returns the place with a new connection to its store. The old one goes through the kubelet that was suspended.
func (p *logPlace) again(t *testing.T) *logPlace {
	t.Helper()

	address, stop, err := p.Forward(t.Context(), "default", logStore, storePort)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(stop)

	other := *p
	other.reach(t, address)
	return &other
}

// tick is a line of the step tick of testdata/life/main.py.
type tick struct {
	line   string
	number int
	at     time.Time
}

var tickLine = regexp.MustCompile(`(?m)^tick (\d+) (\d+)\.\d+$`)

// ticksOf returns the ticks in a log. There has to be one.
func ticksOf(t *testing.T, log string) (ticks []tick) {
	t.Helper()

	for _, found := range tickLine.FindAllStringSubmatch(log, -1) {
		number, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}

		seconds, err := strconv.ParseInt(found[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}

		ticks = append(ticks, tick{found[0], number, time.Unix(seconds, 0)})
	}

	if len(ticks) == 0 {
		t.Fatalf("no ticks in the log:\n%s", log)
	}
	return ticks
}

// untilCurrent waits until the uploads of a running driver's log are behind the driver by less than the interval, and
// returns the last tick that was uploaded.
func (p *logPlace) untilCurrent(t *testing.T, app *v1beta2.SparkApplication) (last tick) {
	t.Helper()

	interval, err := time.ParseDuration(streamInterval)
	if err != nil {
		t.Fatal(err)
	}

	p.untilUploaded(t, app, "tick 5 ")
	eventually(t, patience, "uploads in intervals", func() (string, bool) {
		uploaded := ticksOf(t, p.uploaded(t, app))
		last = uploaded[len(uploaded)-1]

		text, err := p.Core.CoreV1().Pods(app.Namespace).GetLogs(p.podOf(t, app, "driver").Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		written := ticksOf(t, string(text))
		return last.line, written[len(written)-1].at.Sub(last.at) < interval
	})
	return last
}
