package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// sample is what the operator made for one application, to be made again by plain clients.
type sample struct {
	app      *unstructured.Unstructured
	configs  []corev1.ConfigMap
	services []corev1.Service
	pods     []corev1.Pod
	event    *corev1.Event
	status   []byte // merge patch of the application's whole status
	patches  int    // status writes an application
	events   int    // event writes an application
}

// direct sends, for as many applications, the writes that were counted for the operator and its users: same objects, same sizes, same
// number of status writes and events, by plain clients and no operator. It runs on the same API server, right after.
func (w *world) direct(ctx context.Context, op result) (result, error) {
	s, err := w.sample(ctx, op)
	if err != nil {
		return result{}, err
	}
	start := time.Now()
	err = forEach(ctx, w.o.clients, w.o.apps, func(ctx context.Context, i int) error {
		return w.replay(ctx, s, fmt.Sprintf("direct-%d", i))
	})
	r := result{took: time.Since(start)}
	if err != nil {
		return r, err
	}
	r.writes, err = w.audited(start, func(agent string) bool { return agent == "spark-bench" }, namespace)
	return r, err
}

// sample reads what stands in the cluster for the first application.
func (w *world) sample(ctx context.Context, op result) (*sample, error) {
	app, err := w.dyn.Resource(applications).Namespace(namespace).Get(ctx, "app-0", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	per := func(n int) int { return int(math.Round(float64(n) / float64(w.o.apps))) }
	s := &sample{
		app:     app,
		patches: per(op.writes.of("patch", "sparkapplications/status")),
		events:  per(op.writes.of("create", "events") + op.writes.of("patch", "events")),
	}
	status, _, err := unstructured.NestedMap(app.Object, "status")
	if err != nil {
		return nil, err
	}
	if s.status, err = json.Marshal(map[string]any{"status": status}); err != nil {
		return nil, err
	}
	mine := metav1.ListOptions{LabelSelector: "sparkoperator.dev/app-uid=" + string(app.GetUID())}
	core := w.core.CoreV1()
	configs, err := core.ConfigMaps(namespace).List(ctx, mine)
	if err != nil {
		return nil, err
	}
	services, err := core.Services(namespace).List(ctx, mine)
	if err != nil {
		return nil, err
	}
	pods, err := core.Pods(namespace).List(ctx, mine)
	if err != nil {
		return nil, err
	}
	events, err := core.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(app.GetUID()), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(events.Items) > 0 {
		s.event = &events.Items[0]
	}
	s.configs, s.services, s.pods = configs.Items, services.Items, pods.Items
	if len(s.configs) == 0 || len(s.services) == 0 || len(s.pods) == 0 {
		return nil, fmt.Errorf("found %d ConfigMaps, %d Services, %d pods of app-0; one of each is expected", len(s.configs), len(s.services), len(s.pods))
	}
	return s, nil
}

// fresh keeps of an object's metadata what a client would send.
func fresh(m metav1.ObjectMeta, name string, owner *metav1.OwnerReference) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: m.Labels, Annotations: m.Annotations}
	if owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return out
}

// replay makes all writes of one application, one after the other.
func (w *world) replay(ctx context.Context, s *sample, name string) error {
	core, create := w.core.CoreV1(), metav1.CreateOptions{}
	apps := w.dyn.Resource(applications).Namespace(namespace)
	app, err := apps.Create(ctx, application(name), create)
	if err != nil {
		return err
	}
	owner := &metav1.OwnerReference{APIVersion: app.GetAPIVersion(), Kind: app.GetKind(), Name: name, UID: app.GetUID()}
	for i, c := range s.configs {
		made := corev1.ConfigMap{ObjectMeta: fresh(c.ObjectMeta, fmt.Sprintf("%s-%d", name, i), owner), Data: c.Data, Immutable: c.Immutable}
		if _, err := core.ConfigMaps(namespace).Create(ctx, &made, create); err != nil {
			return err
		}
	}
	for i, v := range s.services {
		made := corev1.Service{ObjectMeta: fresh(v.ObjectMeta, fmt.Sprintf("%s-%d", name, i), owner), Spec: v.Spec}
		if _, err := core.Services(namespace).Create(ctx, &made, create); err != nil {
			return err
		}
	}
	for i, p := range s.pods {
		made := corev1.Pod{ObjectMeta: fresh(p.ObjectMeta, fmt.Sprintf("%s-%d", name, i), owner), Spec: p.Spec}
		if _, err := core.Pods(namespace).Create(ctx, &made, create); err != nil {
			return err
		}
		container := p.Spec.Containers[len(p.Spec.Containers)-1].Name
		for _, patch := range []string{running(container), succeeded(container)} {
			if err := w.patchPod(ctx, namespace, made.Name, patch); err != nil {
				return err
			}
		}
	}
	for range s.patches {
		if _, err := apps.Patch(ctx, name, types.MergePatchType, s.status, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	for i := range s.events {
		if s.event == nil {
			break
		}
		made := s.event.DeepCopy()
		made.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", name, i), Namespace: namespace}
		made.InvolvedObject.Name, made.InvolvedObject.UID = name, app.GetUID()
		if _, err := core.Events(namespace).Create(ctx, made, create); err != nil {
			return err
		}
	}
	return nil
}
