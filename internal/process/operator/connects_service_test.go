package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// servedBy returns a check that a status names the given Service, or no Service if the name is empty.
func servedBy(name string) func(*v1alpha1.SparkConnect) error {
	return func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.ServiceName, name) }
}

// untouchedService returns a check that a Service is still the same object with the same address.
func untouchedService(before *corev1.Service) func(*corev1.Service) error {
	uid, address := before.UID, before.Spec.ClusterIP
	return func(live *corev1.Service) error {
		return errors.Join(want(live.UID, uid), want(live.Spec.ClusterIP, address))
	}
}

// waitServerPass advances the clock by the given time, triggers a pass over a SparkConnect, and waits until that pass
// has read the clock.
func (w *world) waitServerPass(name string, clock *later, after time.Duration) {
	w.T.Helper()
	clock.advance(after)
	readCount := clock.readCount.Load()

	w.triggerServerPass(name)
	kit.Wait(w.T, "a pass", func(context.Context) error { return want(clock.readCount.Load() > readCount, true) })
}

// TestServerOnItsWayOutIsNotReady checks that a server whose pod is being deleted is not Ready, even while the pod is
// still ready. Clients that wait for Ready must not connect to a server that is about to stop.
func TestServerOnItsWayOutIsNotReady(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	goes := w.TakesItsTime(pod)
	w.Remove(pod)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady, holds("Ready", metav1.ConditionFalse, "DriverDeleting"),
		holds("ServerPodReady", metav1.ConditionFalse, "DriverDeleting"), holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.PodName, "x-server") }, servedBy("x-server"))
	w.waitEvent(sc, "SparkServerNotReady", "is being deleted")
	goes()
	w.waitServer("x", v1alpha1.SparkConnectStateFailed, holds("Progressing", metav1.ConditionTrue, "DriverDeleted"))
}

// TestServiceIsRenamed checks an edit that gives the server's Service a name that another object has. The old Service
// serves clients until the operator can create the Service with the new name, however long that takes.
func TestServiceIsRenamed(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "taken"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}
	w.Create(theirs)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	old := w.serverService("x-server")

	for _, step := range []struct{ service, reason string }{
		{`{"metadata":{"name":"taken"}}`, dependents.ReasonNameTaken},
		{`{"metadata":{"name":"sql"},"spec":{"sessionAffinity":"Sometimes"}}`, apianswer.ReasonInvalid},
		{`{"metadata":{"name":"taken"},"spec":{"sessionAffinity":null}}`, dependents.ReasonNameTaken},
	} {
		w.patchServer("x", fmt.Sprintf(`{"spec":{"server":{"service":%s}}}`, step.service))
		w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, step.reason),
			holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))

		for range 3 {
			w.waitServerPass("x", clock, auxiliary.MaxInterval)
		}

		w.serverService("x-server", untouchedService(old), selects(pod))
	}

	w.waitEvent(sc, dependents.ReasonNameTaken, "does not belong to this resource")
	w.untouchedObject(theirs)
	w.Remove(theirs)
	clock.advance(auxiliary.MaxInterval)
	w.triggerServerPass("x")
	w.serverService("taken", selects(pod))
	w.WaitGone(old)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), servedBy("taken"))
}

// TestServiceThatIsKeptGoes checks a server whose Service cannot be renamed, so that the operator keeps the old
// Service. If somebody deletes the old Service, the condition Ready becomes False at once.
func TestServiceThatIsKeptGoes(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	w.Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "taken"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	})
	w.readyServer(w.server("x"), 1)
	old := w.serverService("x-server")
	w.patchServer("x", `{"spec":{"server":{"service":{"metadata":{"name":"taken"}}}}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, dependents.ReasonNameTaken), servedBy("x-server"))
	w.Remove(old)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Ready", metav1.ConditionFalse, dependents.ReasonNameTaken), servedBy(""))
}

// TestUpdateOfAServiceIsRefused checks that the existing Service continues to serve clients if the API server rejects
// an edit of the Service's options. The status reports the rejection, and an event reports it once. The next valid edit
// succeeds.
func TestUpdateOfAServiceIsRefused(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)

	old := w.serverService("x-server")
	for spec, says := range map[string]string{`{"clusterIP":"None"}`: "spec.clusterIP", `{"sessionAffinity":"Sometimes"}`: "spec.sessionAffinity"} {
		w.patchServer("x", fmt.Sprintf(`{"spec":{"server":{"service":{"spec":%s}}}}`, spec))
		w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, apianswer.ReasonInvalid, says),
			holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))
		w.waitEvent(sc, apianswer.ReasonInvalid, says)
		w.waitServerPass("x", clock, auxiliary.MaxInterval)
		w.serverService("x-server", untouchedService(old), selects(pod))
		w.patchServer("x", `{"spec":{"server":{"service":null}}}`)
		w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), servedBy("x-server"))
	}
	// Somebody deletes the Service that served, and no other one can be created.
	w.patchServer("x", `{"spec":{"server":{"service":{"spec":{"sessionAffinity":"Sometimes"}}}}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, apianswer.ReasonInvalid), servedBy("x-server"))
	w.Remove(old)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Ready", metav1.ConditionFalse, apianswer.ReasonInvalid), servedBy(""))
}

// editService patches a Service under a field manager that is not the operator's.
func (w *world) editService(name, patch string) {
	w.T.Helper()

	service := w.serverService(name)
	if err := w.API.Patch(w.T.Context(), service, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody")); err != nil {
		w.T.Fatal(err)
	}
}

// led returns a check that a Service leads to a server pod: the Service has the type and the port that the operator
// sets, and selects the given pod.
func led(pod *corev1.Pod) func(*corev1.Service) error {
	return func(s *corev1.Service) error {
		err := errors.Join(want(s.Spec.Type, corev1.ServiceTypeClusterIP), want(s.Spec.Selector["astray"], ""), selects(pod)(s))
		for _, port := range s.Spec.Ports {
			if port.Name == "spark-connect-server" {
				return errors.Join(err, want(port.Port, 15002), want(port.TargetPort, intstr.FromInt32(15002)))
			}
		}
		return errors.Join(err, fmt.Errorf("the ports are %+v", s.Spec.Ports))
	}
}

const astray = `{"spec":{"selector":{"astray":"yes"}}}`

// TestServiceIsEditedByHand checks that a pass reverses another party's edits of fields that the operator sets,
// although no event of the Service has queued the server. The pass keeps fields that others added.
func TestServiceIsEditedByHand(t *testing.T) {
	t.Parallel()

	for name, patch := range map[string]string{
		"an additional selector": astray,
		"another selector":       `{"spec":{"selector":{"spark-role":"driver"}}}`,
		"an external name":       `{"spec":{"type":"ExternalName","externalName":"evil.example.com"}}`,
		"another type":           `{"spec":{"type":"NodePort"}}`,
		"other ports":            `{"spec":{"ports":[{"name":"spark-connect-server","port":1,"protocol":"TCP","targetPort":1}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clock := newWorld(t), &later{}
			w.runServers(testConfig(w.Namespace), clock.now)
			pod := w.readyServer(w.server("x"), 1)
			before := w.serverService("x-server").UID
			w.editService("x-server", `{"metadata":{"annotations":{"added":"yes"}}}`)
			clock.advance(auxiliary.LookInterval)
			w.editService("x-server", patch)
			clock.advance(auxiliary.LookInterval)
			w.triggerServerPass("x")

			now := w.serverService("x-server", led(pod))
			if now.UID != before || now.Annotations["added"] != "yes" {
				t.Errorf("the Service is %+v", now)
			}

			w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))
		})
	}
}

// TestServiceIsEditedAtOnce checks that an edit by another party queues the server and is reversed without a delay.
func TestServiceIsEditedAtOnce(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	pod := w.readyServer(w.server("x"), 1)
	w.serverService("x-server")
	w.editService("x-server", astray)
	w.serverService("x-server", led(pod))
}

// TestServiceEditWhileNoOperatorRuns checks that the next operator finds and reverses an edit of a Service that was
// made while no operator ran. To find such edits it reads each Service.
func TestServiceEditWhileNoOperatorRuns(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	stop := w.runServers(testConfig(w.Namespace), clock.now)
	pod := w.readyServer(w.server("x"), 1)
	w.readyServer(w.server("y"), 1)
	stop()
	w.editService("x-server", astray)
	y := w.serverService("y-server")
	made := &requests{}
	w.runServers(testConfig(w.Namespace), clock.now, func(env *Environment) { env.Rest.Wrap(made.over) })
	w.serverService("x-server", led(pod))
	kit.Wait(t, "a read of the other Service", func(context.Context) error { return want(made.since(nil)["GET services"], 4) })

	for range 4 {
		w.waitServerPass("x", clock, time.Hour)
		w.waitServerPass("y", clock, time.Hour)
	}
	// One patch changes the ownership of the created fields, and one applies the wanted fields.
	if got := made.since(nil); got["GET services"] != 4 || got["PATCH services"] != 2 || got["POST services"] > 0 {
		t.Errorf("the requests are %v", got)
	}

	if now := w.serverService("y-server", untouchedService(y)); now.ResourceVersion != y.ResourceVersion {
		t.Errorf("a Service that nobody changed was written: %+v", now)
	}
}

// TestRepeatedServiceEditIsReversedOnceAMinute checks a party that repeats an edit of the Service after the operator
// has reversed it. The operator reverses the edit at most once a minute. Meanwhile the status reports that the Service
// differs from the spec, and the operator does not read the Service at each of the party's writes.
func TestRepeatedServiceEditIsReversedOnceAMinute(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	made := &requests{}
	w.runServers(testConfig(w.Namespace), clock.now, func(env *Environment) { env.Rest.Wrap(made.over) })
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	w.serverService("x-server")
	w.editService("x-server", astray)
	w.serverService("x-server", led(pod))

	before := made.since(nil)

	w.editService("x-server", astray)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionFalse, auxiliary.ReasonEdited, "repeatedly changes this object"),
		holds("Ready", metav1.ConditionFalse, auxiliary.ReasonEdited), servedBy(""))
	w.waitEvent(sc, auxiliary.ReasonEdited, "managedFields")

	for range 10 {
		w.editService("x-server", `{"metadata":{"annotations":{"at":"`+time.Now().String()+`"}}}`)
		w.waitServerPass("x", clock, 0)
	}

	if got := made.since(before); got["PATCH services"] > 0 || got["GET services"] > 2 {
		t.Errorf("the repeated edits cause the requests %v", got)
	}

	clock.advance(auxiliary.EditInterval)
	w.triggerServerPass("x")
	w.serverService("x-server", led(pod))
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))
}

// TestServiceThatOthersWriteTo checks other parties' writes to a Service that do not contradict the spec. They cost the
// operator an occasional read, and no write.
func TestServiceThatOthersWriteTo(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	made := &requests{}
	w.runServers(testConfig(w.Namespace), clock.now, func(env *Environment) { env.Rest.Wrap(made.over) })
	w.readyServer(w.server("x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	}), 1)
	service := w.serverService("x-server")
	before := made.since(nil)

	for i := range 10 {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("192.0.2.%d", i+1)}}
		if err := w.API.Status().Update(t.Context(), service); err != nil {
			t.Fatal(err)
		}
	}

	kit.Wait(t, "a read of the Service", func(context.Context) error { return want(made.since(before)["GET services"] > 0, true) })
	w.waitServerPass("x", clock, auxiliary.LookInterval)
	kit.Wait(t, "the last read of the Service", func(context.Context) error {
		w.waitServerPass("x", clock, time.Hour)

		reads := made.since(before)["GET services"]

		w.waitServerPass("x", clock, time.Hour)
		return want(made.since(before)["GET services"], reads)
	})

	if got := made.since(before); got["GET services"] > 3 || got["PATCH services"] > 0 {
		t.Errorf("ten writes by another party cause the requests %v", got)
	}
}
