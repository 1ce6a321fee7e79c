// Package plain is the program that the operator is compared with. It measures the cost of an application for a program
// that only watches and writes the same objects through client-go. The result is an upper limit for the operator's
// rate, and a reference for the operator's CPU time.
//
// The program does exactly this:
//
//   - It watches SparkApplications (generated typed client, JSON), pods with Spark's role label (typed, protobuf), and
//     the metadata of managed Services and ConfigMaps (protobuf). Each watch is one shared informer for all
//     namespaces, without managed fields. The operator watches these kinds in the same way. It also watches other
//     kinds, which the program omits, because the applications of a load have no objects of those kinds.
//   - For a new application it creates the same objects as the operator: two ConfigMaps, the driver's headless Service,
//     the driver pod and the web UI's Service. Package application builds them for both, which takes 0.1 to 0.4 ms.
//     Then it patches the status to SUBMITTED.
//   - When the driver pod runs, it patches the status to RUNNING. When as many executors run as the application wants,
//     it patches their states. When the driver pod has ended, it patches COMPLETED or FAILED, with the executors'
//     states. Each patch is a JSON merge patch with the whole status.
//   - It emits three Events for each application through client-go's recorder, as the operator does.
//   - It has as many workers as the operator by default. They take keys from client-go's queue, which retries after
//     errors.
//
// The program leaves out everything else that an operator does: validation, adoption, retries, deadlines, deletion,
// priorities in the queue, fairness between namespaces, metrics, leader election, conditions and logs. It does not
// survive a restart. The status that it writes has fewer bytes than the operator's, which favours this program.
package plain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/client/clientset/versioned"
	"github.com/sparkoperator/spark-operator/client/clientset/versioned/scheme"
	"github.com/sparkoperator/spark-operator/client/informers/externalversions"
	listers "github.com/sparkoperator/spark-operator/client/listers/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/ground/goruntime"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Command is the first argument that makes the bench's own binary run this program. The second argument is the address
// for Main.
const Command = "plain"

// workers is the number of workers. It equals the operator's default.
const workers = 16

// byApplication is the index of pods by the namespace and name of their application.
const byApplication = "application"

// stage is the progress of an application.
type stage int

const (
	unseen stage = iota
	submitted
	driverRunning
	executorsRunning // all executors run
	ended
)

// progress holds the progress of an application and the last status that the program wrote.
type progress struct {
	stage  stage
	status v1beta2.SparkApplicationStatus
}

type program struct {
	core   kubernetes.Interface
	spark  versioned.Interface
	apps   listers.SparkApplicationLister
	pods   cache.Indexer
	queue  workqueue.TypedRateLimitingInterface[string]
	events record.EventRecorder

	mu       sync.Mutex
	progress map[string]progress
}

// Main runs the program until the context ends. The environment variable KUBECONFIG names the kubeconfig of the
// cluster. As soon as the program is ready, it answers HTTP requests at the given address.
func Main(ctx context.Context, address string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}

	if _, err := goruntime.Set(); err != nil {
		return err
	}

	config.QPS, config.UserAgent = -1, audit.PlainAgent

	p := &program{progress: map[string]progress{}, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
	if err := p.watch(ctx, config); err != nil {
		return err
	}

	events := record.NewBroadcaster(record.WithContext(ctx))
	defer events.Shutdown()

	events.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: p.core.CoreV1().Events("")})
	p.events = events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "plain"})
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}

	var running sync.WaitGroup
	for range workers {
		running.Go(func() { p.work(ctx) })
	}

	context.AfterFunc(ctx, func() {
		p.queue.ShutDown()

		_ = server.Close()
	})

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	running.Wait()
	return nil
}

// watch creates the clients and the informers. When it returns, the informers have all existing objects.
func (p *program) watch(ctx context.Context, config *rest.Config) (err error) {
	binary := rest.CopyConfig(config)

	binary.ContentType, binary.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	if p.core, err = kubernetes.NewForConfig(binary); err != nil {
		return err
	}

	if p.spark, err = versioned.NewForConfig(config); err != nil {
		return err
	}

	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}

	apps := externalversions.NewSharedInformerFactoryWithOptions(p.spark, 0, externalversions.WithTransform(strip))
	pods := informers.NewSharedInformerFactoryWithOptions(p.core, 0, informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = submit.RoleLabel + " in (driver,executor)" }))
	others := metadatainformer.NewFilteredSharedInformerFactory(meta, 0, "", func(o *metav1.ListOptions) { o.LabelSelector = sparkoperator.LabelAppUID })

	kept := []cache.SharedIndexInformer{others.ForResource(corev1.SchemeGroupVersion.WithResource("services")).Informer(), others.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer()}
	for _, other := range kept {
		if err := other.SetTransform(strip); err != nil {
			return err
		}
	}

	app, pod := apps.Sparkoperator().V1beta2().SparkApplications(), pods.Core().V1().Pods().Informer()

	p.apps, p.pods = app.Lister(), pod.GetIndexer()
	if err := pod.AddIndexers(cache.Indexers{byApplication: func(x any) ([]string, error) { return []string{keyOf(x)}, nil }}); err != nil {
		return err
	}

	enqueue := func(x any) { p.queue.Add(keyOf(x)) }

	changed := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, x any) { enqueue(x) }}
	for _, informer := range []cache.SharedIndexInformer{app.Informer(), pod} {
		if _, err := informer.AddEventHandler(changed); err != nil {
			return err
		}
	}

	apps.Start(ctx.Done())
	pods.Start(ctx.Done())
	others.Start(ctx.Done())

	if !cache.WaitForCacheSync(ctx.Done(), app.Informer().HasSynced, pod.HasSynced, kept[0].HasSynced, kept[1].HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

// strip drops the managed fields of a cached object, which the program does not read.
func strip(x any) (any, error) {
	if object, ok := x.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return x, nil
}

// keyOf returns the queue key for an application or a pod. The key is the namespace and name of the application. For a
// pod, this is the application to which the pod belongs.
func keyOf(x any) string {
	switch x := x.(type) {
	case *v1beta2.SparkApplication:
		return x.Namespace + "/" + x.Name
	case *corev1.Pod:
		return x.Namespace + "/" + x.Labels[sparkoperator.LabelAppName]
	}
	return ""
}

func (p *program) work(ctx context.Context) {
	for {
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}

		if err := p.pass(ctx, key); err == nil {
			p.queue.Forget(key)
		} else if ctx.Err() == nil {
			fmt.Println(key, err)
			p.queue.AddRateLimited(key)
		}

		p.queue.Done(key)
	}
}

// pass moves an application to the next stage if its pods allow it. The queue runs only one pass for a key at a time.
func (p *program) pass(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}

	app, err := p.apps.SparkApplications(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}

	if err != nil {
		return err
	}

	p.mu.Lock()
	current := p.progress[key]
	p.mu.Unlock()

	if current.stage == ended || current.stage == unseen && app.Status.AppState.State != "" {
		return nil
	}

	next := current
	var reason string

	next.status = *current.status.DeepCopy()
	if current.stage == unseen {
		if next.status, err = p.launch(ctx, app); err != nil {
			return err
		}

		next.stage, reason = submitted, "SparkApplicationSubmitted"
	} else if reason, err = p.follow(app, key, &next); err != nil {
		return err
	}

	if next.stage == current.stage {
		return nil
	}

	patch, err := json.Marshal(map[string]any{"status": next.status})
	if err != nil {
		return err
	}

	if _, err := p.spark.SparkoperatorV1beta2().SparkApplications(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}

	if reason != "" {
		p.events.Eventf(app, corev1.EventTypeNormal, reason, "SparkApplication %s is %s", name, next.status.AppState.State)
	}

	p.mu.Lock()
	p.progress[key] = next
	p.mu.Unlock()
	return nil
}

// launch creates an application's objects. It returns the status that the program then writes as the application's
// first status.
func (p *program) launch(ctx context.Context, app *v1beta2.SparkApplication) (v1beta2.SparkApplicationStatus, error) {
	now := metav1.Now()
	attempt := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}

	objects, err := application.Dialect{}.Render(app, attempt, now.Time)
	if err != nil {
		return v1beta2.SparkApplicationStatus{}, err
	}

	driver := objects.Driver

	ui := expose.DriverService(expose.Service{
		Meta: expose.Meta{
			Namespace: app.Namespace, Name: expose.Name(app.Name, sparkoperator.UIServiceSuffix), Labels: objects.Before[0].GetLabels(),
			Owner: *metav1.NewControllerRef(app, v1beta2.SchemeGroupVersion.WithKind("SparkApplication")),
		},
		Selector: map[string]string{sparkoperator.LabelAppName: app.Name, submit.RoleLabel: submit.RoleDriver},
		Port:     4040, TargetPort: 4040, PortName: "spark-driver-ui-port",
	})
	for _, object := range append(objects.Before, driver, ui) {
		if err := p.create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return v1beta2.SparkApplicationStatus{}, err
		}
	}
	return v1beta2.SparkApplicationStatus{
		SparkApplicationID: driver.Labels["spark-app-selector"], SubmissionID: driver.Labels[sparkoperator.LabelSubmissionID],
		LastSubmissionAttemptTime: now, SubmissionAttempts: 1, ExecutionAttempts: 1, ObservedGeneration: app.Generation,
		AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateSubmitted},
		DriverInfo: v1beta2.DriverInfo{
			PodName: driver.Name, WebUIServiceName: ui.Name, WebUIPort: 4040, WebUIAddress: ui.Spec.ClusterIP + ":4040",
		},
	}, nil
}

func (p *program) create(ctx context.Context, object submit.Object) (err error) {
	core, options := p.core.CoreV1(), metav1.CreateOptions{}
	switch object := object.(type) {
	case *corev1.Pod:
		_, err = core.Pods(object.Namespace).Create(ctx, object, options)
	case *corev1.ConfigMap:
		_, err = core.ConfigMaps(object.Namespace).Create(ctx, object, options)
	case *corev1.Service:
		var created *corev1.Service
		if created, err = core.Services(object.Namespace).Create(ctx, object, options); err == nil {
			object.Spec.ClusterIP = created.Spec.ClusterIP
		}
	default:
		err = fmt.Errorf("unsupported object %T", object)
	}
	return err
}

// follow updates an application's status from its pods. It returns the reason of the Event to emit, or an empty string
// if the change has no Event.
func (p *program) follow(app *v1beta2.SparkApplication, key string, next *progress) (reason string, err error) {
	pods, err := p.pods.ByIndex(byApplication, key)
	driver, running, executors := phases(pods)

	s, wanted := &next.status, app.Spec.Executor.Instances
	switch {
	case driver == corev1.PodSucceeded:
		next.stage, reason, s.AppState.State = ended, "SparkDriverCompleted", v1beta2.ApplicationStateCompleted
		for name := range s.ExecutorState { // also executors whose pods no longer exist
			executors[name] = v1beta2.ExecutorStateCompleted
		}

		s.ExecutorState, s.TerminationTime = executors, metav1.Now()
	case driver == corev1.PodFailed:
		next.stage, reason, s.TerminationTime = ended, "SparkDriverFailed", metav1.Now()
		s.AppState = v1beta2.ApplicationState{State: v1beta2.ApplicationStateFailed, ErrorMessage: "driver container failed with ExitCode: 1"}
	case driver == corev1.PodRunning && next.stage == submitted:
		next.stage, reason, s.AppState.State = driverRunning, "SparkDriverRunning", v1beta2.ApplicationStateRunning
	case next.stage == driverRunning && wanted != nil && running >= *wanted:
		next.stage, s.ExecutorState = executorsRunning, executors
	}
	return reason, err
}

// phases returns the phase of an application's driver, the number of running executors, and the executors' states.
func phases(pods []any) (driver corev1.PodPhase, running int32, executors map[string]v1beta2.ExecutorState) {
	executors = map[string]v1beta2.ExecutorState{}
	for _, x := range pods {
		switch pod := x.(*corev1.Pod); {
		case pod.Labels[submit.RoleLabel] == submit.RoleDriver:
			driver = pod.Status.Phase
		case pod.Status.Phase == corev1.PodRunning:
			executors[pod.Name] = v1beta2.ExecutorStateRunning
			running++
		case pod.Status.Phase == corev1.PodSucceeded:
			executors[pod.Name] = v1beta2.ExecutorStateCompleted
		}
	}
	return driver, running, executors
}
