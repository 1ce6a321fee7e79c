// Package node simulates the nodes of a cluster and Spark on them. A pod runs as soon as the scheduler has bound it.
// Drivers create executors as Spark does, and end as the arguments of their application specify (load.Program). Deleted
// pods disappear at once.
//
// Simulated nodes do less than real nodes: they do not write the pod's network status, emit none of the kubelet's
// Events and pull no images.
package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	leases "k8s.io/client-go/applyconfigurations/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/client/clientset/versioned"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// nodes is the number of nodes, which have room for 80,000 pods in total.
	nodes = 4
	// workers is the number of tasks that run at the same time.
	workers = 32
	// retry is the delay before a failed task is retried, so that an overloaded API server can recover.
	retry = 2 * time.Second
	// renew is the interval at which the lease of a node is renewed, as a kubelet does it.
	renew = 10 * time.Second
)

// Cluster is a set of simulated nodes. Start creates it.
type Cluster struct {
	core  kubernetes.Interface
	spark versioned.Interface
	pods  cache.Store // the pods that are bound to a node
	tasks workqueue.TypedDelayingInterface[task]

	started, addresses, logs atomic.Int64
	cancel                   context.CancelFunc
	done                     sync.WaitGroup
}

// act identifies what a task does with a pod.
type act int

const (
	start            act = iota // the kubelet runs the pod's containers
	requestExecutors            // the driver creates its executors
	end                         // the driver's program ends
	remove                      // the kubelet removes a deleted pod
)

type task struct {
	act act
	key string
	uid types.UID
}

func taskFor(x any, next act) task {
	pod := x.(*corev1.Pod)
	return task{next, pod.Namespace + "/" + pod.Name, pod.UID}
}

// Start creates the nodes and simulates them until Stop or the end of the context. It returns once the existing pods
// are in the cache.
func Start(ctx context.Context, core kubernetes.Interface, spark versioned.Interface) (*Cluster, error) {
	c := &Cluster{core: core, spark: spark, tasks: workqueue.NewTypedDelayingQueue[task]()}

	kubelet, err := c.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("the kubelet: %w", err)
	}

	for i := range nodes {
		if err := errors.Join(c.register(ctx, nodeName(i), kubelet.Addr().(*net.TCPAddr).Port), c.renewLease(ctx, nodeName(i))); err != nil {
			return nil, fmt.Errorf("node %s: %w", nodeName(i), err)
		}
	}

	bound := cache.NewListWatchFromClient(core.CoreV1().RESTClient(), "pods", "", fields.OneTermNotEqualSelector("spec.nodeName", ""))
	informer := cache.NewSharedIndexInformer(bound, &corev1.Pod{}, 0, cache.Indexers{})
	c.pods = informer.GetStore()

	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: c.add, UpdateFunc: c.update})
	if err = errors.Join(err, informer.SetTransform(trim)); err != nil {
		return nil, err
	}

	ctx, c.cancel = context.WithCancel(ctx)
	for range workers {
		c.done.Go(func() { c.work(ctx) })
	}

	c.done.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			for i := range nodes {
				_ = c.renewLease(ctx, nodeName(i))
			}
		}, renew)
	})
	c.done.Go(func() { informer.RunWithContext(ctx) })
	c.done.Go(func() { c.serve(ctx, kubelet) })

	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return c, nil
}

// Stop ends the simulation. Pods and nodes stay as they are.
func (c *Cluster) Stop() {
	c.cancel()
	c.tasks.ShutDown()
	c.done.Wait()
}

// Started returns the number of pods that were started.
func (c *Cluster) Started() int { return int(c.started.Load()) }

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// register creates a ready node with more capacity than the load needs. Its kubelet listens on a port of 127.0.0.1.
func (c *Cluster) register(ctx context.Context, name string, port int) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100k"), corev1.ResourceMemory: resource.MustParse("1Pi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Pi"), corev1.ResourcePods: resource.MustParse("20k"),
	}
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
			Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now}},
		},
	}
	_, err := c.core.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return err
}

// renewLease creates or renews a node's lease. Kubernetes considers a node lost after four missed renewals.
func (c *Cluster) renewLease(ctx context.Context, name string) error {
	lease := leases.Lease(name, corev1.NamespaceNodeLease).WithSpec(leases.LeaseSpec().
		WithHolderIdentity(name).WithLeaseDurationSeconds(40).WithRenewTime(metav1.NowMicro()))
	_, err := c.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).Apply(ctx, lease, metav1.ApplyOptions{FieldManager: "kubelet", Force: true})
	return err
}

// trim drops the large fields of a cached pod, because the simulation does not read them.
func trim(x any) (any, error) {
	if p, ok := x.(*corev1.Pod); ok {
		p.ManagedFields, p.Spec.Volumes, p.Spec.Tolerations = nil, nil, nil
	}
	return x, nil
}

// add is called for each pod that enters the cache, which holds the pods that are bound to nodes. It queues a task to
// start a pending pod, or to remove a pod that is being deleted. Other pods get no task.
func (c *Cluster) add(x any) {
	switch pod := x.(*corev1.Pod); {
	case pod.DeletionTimestamp != nil:
		c.tasks.Add(taskFor(x, remove))
	case pod.Status.Phase == corev1.PodPending:
		c.tasks.Add(taskFor(x, start))
	}
}

func (c *Cluster) update(before, after any) {
	if before.(*corev1.Pod).DeletionTimestamp == nil && after.(*corev1.Pod).DeletionTimestamp != nil {
		c.tasks.Add(taskFor(after, remove))
	}
}

// work performs each task when it is due, or later if the nodes cannot keep up.
func (c *Cluster) work(ctx context.Context) {
	for {
		t, shutdown := c.tasks.Get()
		if shutdown {
			return
		}

		x, _, _ := c.pods.GetByKey(t.key)
		if pod, ok := x.(*corev1.Pod); ok && pod.UID == t.uid && (pod.DeletionTimestamp == nil || t.act == remove) {
			err := c.perform(ctx, t, pod)

			gone := apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
			if err != nil && !gone && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "bench: retrying pod %s after an error: %v\n", t.key, err)
				c.tasks.AddAfter(t, retry)
			}
		}

		c.tasks.Done(t)
	}
}

// perform performs a task and queues the tasks that follow from it.
func (c *Cluster) perform(ctx context.Context, t task, p *corev1.Pod) error {
	driver := p.Labels["spark-role"] == "driver"

	program, err := load.ReadProgram(p.Spec.Containers[0].Args)
	if err != nil {
		return err
	}

	switch t.act {
	case start:
		if err := c.start(ctx, p, program.Placed); err != nil {
			return err
		}

		if driver {
			c.tasks.Add(taskFor(p, requestExecutors))
		}
		return nil
	case requestExecutors:
		if err := c.requestExecutors(ctx, p, program); err != nil {
			return err
		}

		c.tasks.AddAfter(taskFor(p, end), program.Run)
		return nil
	case end:
		if err := c.clean(ctx, p); err != nil {
			return err
		}
		return c.end(ctx, p, program.Exit)
	}

	if p.Status.Phase == corev1.PodRunning {
		code := int32(0) // executors of a driver exit with 0 before the driver deletes their pods
		if driver {
			code = 143 // SIGTERM
		}

		if err := c.end(ctx, p, code); err != nil {
			return err
		}
	}

	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(p.UID))
	return c.core.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *options)
}

// start writes the status of a pod whose containers run. A real kubelet first writes that the containers are being
// created. start also does so, except in two cases: if the scheduler has not bound the pod, or if the parameter placed
// is true. Large loads set placed, because one more write for each pod would take minutes.
func (c *Cluster) start(ctx context.Context, p *corev1.Pod, placed bool) error {
	scheduled := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if scheduled && !placed {
		if err := c.patch(ctx, p, creating); err != nil {
			return err
		}
	}

	address := c.addresses.Add(1)

	err := c.patch(ctx, p, running, "ADDRESS", fmt.Sprintf("10.%d.%d.%d", address>>16&255, address>>8&255, address&255))
	if err == nil {
		c.started.Add(1)
	}
	return err
}

// end writes that a pod's containers ended.
func (c *Cluster) end(ctx context.Context, p *corev1.Pod, code int32) error {
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	return c.patch(ctx, p, ended, "PHASE", string(phase), "CODE", fmt.Sprint(code))
}

// requestExecutors creates the executors of a driver as Spark 4.3 does: first the ConfigMap that the executors mount,
// and then their pods.
func (c *Cluster) requestExecutors(ctx context.Context, p *corev1.Pod, program load.Program) error {
	if program.Executors == 0 {
		return nil
	}
	// A real driver reads its own pod and the mounted configuration instead of the application.
	app, err := c.spark.SparkoperatorV1beta2().SparkApplications(p.Namespace).Get(ctx, metav1.GetControllerOf(p).Name, metav1.GetOptions{})
	if err != nil {
		return err
	}

	pods, err := executors(app, p, program)
	if err != nil {
		return err
	}

	for _, made := range configMaps(pods[0]) {
		if _, err := c.core.CoreV1().ConfigMaps(p.Namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}

	for _, made := range pods {
		if _, err := c.core.CoreV1().Pods(p.Namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

const selector = "spark-app-selector" // label by which a driver selects the objects that it created

// executors returns the pods that Spark would create for an application.
func executors(app *v1beta2.SparkApplication, p *corev1.Pod, program load.Program) (pods []*corev1.Pod, err error) {
	attempt, err := strconv.ParseInt(p.Labels[lifecycle.AttemptLabel], 10, 32)
	if err != nil {
		return nil, err
	}

	app.Status.SparkApplicationID = p.Labels[selector] // the stored status may belong to another attempt
	for id := range program.Executors {
		made, err := application.Dialect{}.Executor(app, int32(attempt), id+1, p.UID, time.Time{})
		if err != nil {
			return nil, err
		}

		if program.Placed {
			made.Spec.NodeName = p.Spec.NodeName
		}

		pods = append(pods, made)
	}
	return pods, nil
}

// configMaps returns the ConfigMaps that Spark creates for the volumes of an executor.
func configMaps(executor *corev1.Pod) (made []*corev1.ConfigMap) {
	for _, volume := range executor.Spec.Volumes {
		if volume.ConfigMap == nil {
			continue
		}

		immutable := true
		made = append(made, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: volume.ConfigMap.Name, Labels: map[string]string{selector: executor.Labels[selector], "spark-role": "executor"},
				OwnerReferences: []metav1.OwnerReference{*metav1.GetControllerOf(executor)},
			},
			Data: map[string]string{"spark.properties": "spark.kubernetes.namespace=" + executor.Namespace + "\n"}, Immutable: &immutable,
		})
	}
	return made
}

// clean deletes the application's Services, executors and ConfigMaps, as Spark does when its context stops.
func (c *Cluster) clean(ctx context.Context, p *corev1.Pod) error {
	all := metav1.ListOptions{LabelSelector: selector + "=" + p.Labels[selector]}
	executors := metav1.ListOptions{LabelSelector: all.LabelSelector + ",spark-role=executor"}
	core := c.core.CoreV1()
	// The typed client cannot delete a collection of Services.
	services := core.RESTClient().Delete().Namespace(p.Namespace).Resource("services").VersionedParams(&all, scheme.ParameterCodec)
	if err := services.Do(ctx).Error(); err != nil {
		return err
	}

	if err := core.Pods(p.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, executors); err != nil {
		return err
	}
	return core.ConfigMaps(p.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, executors)
}

// Statuses that a kubelet writes about a pod: after the pod was bound, after its containers started, and after they
// ended. They are strategic merge patches, which keep every field that they do not name. Each patch therefore sets the
// fields of the previous status to null; otherwise a container would be waiting and running at the same time. The patch
// contains the pod's UID, so it fails with a conflict if another pod has the same name.
const (
	creating = `{"metadata":{"uid":"UID"},"status":{"phase":"Pending","hostIP":"192.0.2.1","startTime":"NOW","conditions":[
{"type":"PodReadyToStartContainers","status":"False","lastTransitionTime":"NOW"},{"type":"Initialized","status":"True","lastTransitionTime":"NOW"},
{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"containers with unready status: [MAIN]","lastTransitionTime":"NOW"},
{"type":"ContainersReady","status":"False","reason":"ContainersNotReady","message":"containers with unready status: [MAIN]","lastTransitionTime":"NOW"}],
"containerStatuses":[{"name":"MAIN","ready":false,"started":false,"restartCount":0,"image":"IMAGE","imageID":"","state":{"waiting":{"reason":"ContainerCreating"}}}]}}`
	running = `{"metadata":{"uid":"UID"},"status":{"phase":"Running","hostIP":"192.0.2.1","podIP":"ADDRESS","podIPs":[{"ip":"ADDRESS"}],"startTime":"NOW","conditions":[
{"type":"PodReadyToStartContainers","status":"True","lastTransitionTime":"NOW"},{"type":"Initialized","status":"True","lastTransitionTime":"NOW"},
{"type":"Ready","status":"True","reason":null,"message":null,"lastTransitionTime":"NOW"},
{"type":"ContainersReady","status":"True","reason":null,"message":null,"lastTransitionTime":"NOW"}],
"containerStatuses":[{"name":"MAIN","ready":true,"started":true,"restartCount":0,"image":"IMAGE","imageID":"IMAGE@sha256:DIGEST",
"containerID":"containerd://DIGEST","state":{"waiting":null,"running":{"startedAt":"NOW"}}}]}}`
	ended = `{"metadata":{"uid":"UID"},"status":{"phase":"PHASE","conditions":[
{"type":"Ready","status":"False","reason":"PodEnded","lastTransitionTime":"NOW"},{"type":"ContainersReady","status":"False","reason":"PodEnded","lastTransitionTime":"NOW"}],
"containerStatuses":[{"name":"MAIN","ready":false,"started":false,"restartCount":0,"image":"IMAGE","imageID":"IMAGE@sha256:DIGEST","containerID":"containerd://DIGEST",
"state":{"waiting":null,"running":null,"terminated":{"exitCode":CODE,"reason":"Ended","startedAt":"STARTED","finishedAt":"NOW"}}}]}}`
)

// fill replaces the placeholders in one of the statuses with the pod's values. For example, it replaces UID with the
// pod's UID. The parameter words contains other placeholders, each followed by its value, such as "ADDRESS" and the
// pod's IP address.
func fill(p *corev1.Pod, status string, now time.Time, words ...string) []byte {
	started := now
	if p.Status.StartTime != nil {
		started = p.Status.StartTime.Time
	}

	words = append(words, "UID", string(p.UID), "MAIN", p.Spec.Containers[0].Name, "NOW", now.UTC().Format(time.RFC3339),
		"STARTED", started.UTC().Format(time.RFC3339), "IMAGE", "docker.io/apache/spark:4.1.4", "DIGEST", strings.Repeat("0", 64))
	return []byte(strings.NewReplacer(words...).Replace(status))
}

// patch replaces the placeholders of a status with the function fill, and patches the pod's status in the API server
// with the result. The parameter words is passed to fill.
func (c *Cluster) patch(ctx context.Context, p *corev1.Pod, status string, words ...string) error {
	text := fill(p, status, time.Now(), words...)
	_, err := c.core.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	return err
}
