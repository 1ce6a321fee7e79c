package auxiliary_test

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
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// servedBy returns a check that a status names the given Service, or no Service if the name is empty.
func servedBy(name string) func(*v1alpha1.SparkConnect) error {
	return func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.ServiceName, name) }
}

// untouchedService returns a check that a Service is still the same object with the same address.
func untouchedService(before *corev1.Service) func(*corev1.Service) error {
	uid, address := before.UID, before.Spec.ClusterIP
	return func(live *corev1.Service) error {
		return errors.Join(world.Want(live.UID, uid), world.Want(live.Spec.ClusterIP, address))
	}
}

// waitServerPass advances the clock by the given time, triggers a pass over a SparkConnect, and waits until that pass
// has read the clock.
func waitServerPass(w *world.World, name string, clock *world.Later, after time.Duration) {
	w.T.Helper()
	clock.Advance(after)
	readCount := clock.ReadCount.Load()

	resources.TriggerServerPass(w, name)
	kit.Wait(w.T, "a pass", func(context.Context) error { return world.Want(clock.ReadCount.Load() > readCount, true) })
}

// TestServerOnItsWayOutIsNotReady checks that a server whose pod is being deleted is not Ready, even while the pod is
// still ready. Clients that wait for Ready must not connect to a server that is about to stop.
func TestServerOnItsWayOutIsNotReady(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	goes := w.TakesItsTime(pod)
	w.Remove(pod)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateNotReady,
		resources.Holds("Ready", metav1.ConditionFalse, "DriverDeleting"),
		resources.Holds("ServerPodReady", metav1.ConditionFalse, "DriverDeleting"),
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.PodName, "x-server") },
		servedBy("x-server"))
	w.WaitEvent(sc, "SparkServerNotReady", "is being deleted")
	goes()
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateFailed,
		resources.Holds("Progressing", metav1.ConditionTrue, "DriverDeleted"))
}

// TestServiceIsRenamed checks an edit that gives the server's Service a name that another object has. The old Service
// serves clients until the operator can create the Service with the new name, however long that takes.
func TestServiceIsRenamed(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "taken"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}
	w.Create(theirs)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	old := resources.ServerService(w, "x-server")

	for _, step := range []struct{ service, reason string }{
		{`{"metadata":{"name":"taken"}}`, dependents.ReasonNameTaken},
		{`{"metadata":{"name":"sql"},"spec":{"sessionAffinity":"Sometimes"}}`, apianswer.ReasonInvalid},
		{`{"metadata":{"name":"taken"},"spec":{"sessionAffinity":null}}`, dependents.ReasonNameTaken},
	} {
		resources.PatchServer(w, "x", fmt.Sprintf(`{"spec":{"server":{"service":%s}}}`, step.service))
		resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
			resources.Holds("ServiceReady", metav1.ConditionFalse, step.reason),
			resources.Holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))

		for range 3 {
			waitServerPass(w, "x", clock, auxiliary.MaxInterval)
		}

		resources.ServerService(w, "x-server", untouchedService(old), resources.Selects(pod))
	}

	w.WaitEvent(sc, dependents.ReasonNameTaken, "does not belong to this resource")
	resources.UntouchedObject(w, theirs)
	w.Remove(theirs)
	clock.Advance(auxiliary.MaxInterval)
	resources.TriggerServerPass(w, "x")
	resources.ServerService(w, "taken", resources.Selects(pod))
	w.WaitGone(old)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), servedBy("taken"))
}

// TestServiceThatIsKeptGoes checks a server whose Service cannot be renamed, so that the operator keeps the old
// Service. If somebody deletes the old Service, the condition Ready becomes False at once.
func TestServiceThatIsKeptGoes(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	w.Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "taken"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	})
	resources.ReadyServer(w, resources.Server(w, "x"), 1)
	old := resources.ServerService(w, "x-server")
	resources.PatchServer(w, "x", `{"spec":{"server":{"service":{"metadata":{"name":"taken"}}}}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionFalse, dependents.ReasonNameTaken), servedBy("x-server"))
	w.Remove(old)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Ready", metav1.ConditionFalse, dependents.ReasonNameTaken), servedBy(""))
}

// TestUpdateOfAServiceIsRefused checks that the existing Service continues to serve clients if the API server rejects
// an edit of the Service's options. The status reports the rejection, and an event reports it once. The next valid edit
// succeeds.
func TestUpdateOfAServiceIsRefused(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)

	old := resources.ServerService(w, "x-server")
	for spec, says := range map[string]string{`{"clusterIP":"None"}`: "spec.clusterIP",
		`{"sessionAffinity":"Sometimes"}`: "spec.sessionAffinity"} {
		resources.PatchServer(w, "x", fmt.Sprintf(`{"spec":{"server":{"service":{"spec":%s}}}}`, spec))
		resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
			resources.Holds("ServiceReady", metav1.ConditionFalse, apianswer.ReasonInvalid, says),
			resources.Holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))
		w.WaitEvent(sc, apianswer.ReasonInvalid, says)
		waitServerPass(w, "x", clock, auxiliary.MaxInterval)
		resources.ServerService(w, "x-server", untouchedService(old), resources.Selects(pod))
		resources.PatchServer(w, "x", `{"spec":{"server":{"service":null}}}`)
		resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
			resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), servedBy("x-server"))
	}
	// Somebody deletes the Service that served, and no other one can be created.
	resources.PatchServer(w, "x", `{"spec":{"server":{"service":{"spec":{"sessionAffinity":"Sometimes"}}}}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionFalse, apianswer.ReasonInvalid), servedBy("x-server"))
	w.Remove(old)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Ready", metav1.ConditionFalse, apianswer.ReasonInvalid), servedBy(""))
}

// editService patches a Service under a field manager that is not the operator's.
func editService(w *world.World, name, patch string) {
	w.T.Helper()

	service := resources.ServerService(w, name)
	if err := w.API.Patch(w.T.Context(), service, client.RawPatch(types.MergePatchType, []byte(patch)),
		client.FieldOwner("somebody")); err != nil {
		w.T.Fatal(err)
	}
}

// led returns a check that a Service leads to a server pod: the Service has the type and the port that the operator
// sets, and selects the given pod.
func led(pod *corev1.Pod) func(*corev1.Service) error {
	return func(s *corev1.Service) error {
		err := errors.Join(world.Want(s.Spec.Type, corev1.ServiceTypeClusterIP),
			world.Want(s.Spec.Selector["astray"], ""), resources.Selects(pod)(s))
		for _, port := range s.Spec.Ports {
			if port.Name == "spark-connect-server" {
				return errors.Join(err, world.Want(port.Port, 15002),
					world.Want(port.TargetPort, intstr.FromInt32(15002)))
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
			w, clock := world.New(t), &world.Later{}
			resources.RunServers(w, world.Config(w.Namespace), clock.Now)
			pod := resources.ReadyServer(w, resources.Server(w, "x"), 1)
			before := resources.ServerService(w, "x-server").UID
			editService(w, "x-server", `{"metadata":{"annotations":{"added":"yes"}}}`)
			clock.Advance(auxiliary.LookInterval)
			editService(w, "x-server", patch)
			clock.Advance(auxiliary.LookInterval)
			resources.TriggerServerPass(w, "x")

			now := resources.ServerService(w, "x-server", led(pod))
			if now.UID != before || now.Annotations["added"] != "yes" {
				t.Errorf("the Service is %+v", now)
			}

			resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
				resources.Holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))
		})
	}
}

// TestServiceIsEditedAtOnce checks that an edit by another party queues the server and is reversed without a delay.
func TestServiceIsEditedAtOnce(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	pod := resources.ReadyServer(w, resources.Server(w, "x"), 1)
	resources.ServerService(w, "x-server")
	editService(w, "x-server", astray)
	resources.ServerService(w, "x-server", led(pod))
}

// TestServiceEditWhileNoOperatorRuns checks that the next operator finds and reverses an edit of a Service that was
// made while no operator ran. To find such edits it reads each Service.
func TestServiceEditWhileNoOperatorRuns(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	pod := resources.ReadyServer(w, resources.Server(w, "x"), 1)
	resources.ReadyServer(w, resources.Server(w, "y"), 1)
	stop()
	editService(w, "x-server", astray)
	y := resources.ServerService(w, "y-server")
	made := &world.Requests{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now,
		func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	resources.ServerService(w, "x-server", led(pod))

	reads := 4
	if !kit.SinceKubernetes(t, 34) {
		reads++ // the API server refuses the cache's request to stream the list, so the cache lists as well
	}

	kit.Wait(t, "a read of the other Service",
		func(context.Context) error { return world.Want(made.Since(nil)["GET services"], reads) })

	for range 4 {
		waitServerPass(w, "x", clock, time.Hour)
		waitServerPass(w, "y", clock, time.Hour)
	}
	// One patch changes the ownership of the created fields, and one applies the wanted fields.
	if got := made.Since(nil); got["GET services"] != reads || got["PATCH services"] != 2 || got["POST services"] > 0 {
		t.Errorf("the requests are %v", got)
	}

	if now := resources.ServerService(w, "y-server", untouchedService(y)); now.ResourceVersion != y.ResourceVersion {
		t.Errorf("a Service that nobody changed was written: %+v", now)
	}
}

// TestRepeatedServiceEditIsReversedOnceAMinute checks a party that repeats an edit of the Service after the operator
// has reversed it. The operator reverses the edit at most once a minute. Meanwhile the status reports that the Service
// differs from the spec, and the operator does not read the Service at each of the party's writes.
func TestRepeatedServiceEditIsReversedOnceAMinute(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	made := &world.Requests{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now,
		func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	resources.ServerService(w, "x-server")
	editService(w, "x-server", astray)
	resources.ServerService(w, "x-server", led(pod))

	before := made.Since(nil)

	editService(w, "x-server", astray)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionFalse, auxiliary.ReasonEdited,
			"repeatedly changes this object"),
		resources.Holds("Ready", metav1.ConditionFalse, auxiliary.ReasonEdited), servedBy(""))
	w.WaitEvent(sc, auxiliary.ReasonEdited, "managedFields")

	for range 10 {
		editService(w, "x-server", `{"metadata":{"annotations":{"at":"`+time.Now().String()+`"}}}`)
		waitServerPass(w, "x", clock, 0)
	}

	if got := made.Since(before); got["PATCH services"] > 0 || got["GET services"] > 2 {
		t.Errorf("the repeated edits cause the requests %v", got)
	}

	clock.Advance(auxiliary.EditInterval)
	resources.TriggerServerPass(w, "x")
	resources.ServerService(w, "x-server", led(pod))
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"), servedBy("x-server"))
}

// TestServiceThatOthersWriteTo checks other parties' writes to a Service that do not contradict the spec. They cost the
// operator an occasional read, and no write.
func TestServiceThatOthersWriteTo(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	made := &world.Requests{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now,
		func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	resources.ReadyServer(w, resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	}), 1)
	service := resources.ServerService(w, "x-server")
	before := made.Since(nil)

	for i := range 10 {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("192.0.2.%d", i+1)}}
		if err := w.API.Status().Update(t.Context(), service); err != nil {
			t.Fatal(err)
		}
	}

	kit.Wait(t, "a read of the Service",
		func(context.Context) error { return world.Want(made.Since(before)["GET services"] > 0, true) })
	waitServerPass(w, "x", clock, auxiliary.LookInterval)
	kit.Wait(t, "the last read of the Service", func(context.Context) error {
		waitServerPass(w, "x", clock, time.Hour)

		reads := made.Since(before)["GET services"]

		waitServerPass(w, "x", clock, time.Hour)
		return world.Want(made.Since(before)["GET services"], reads)
	})

	if got := made.Since(before); got["GET services"] > 3 || got["PATCH services"] > 0 {
		t.Errorf("ten writes by another party cause the requests %v", got)
	}
}
