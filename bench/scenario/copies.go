package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// patternNamespace is where the one application is that copies are made of.
const patternNamespace = "pattern"

// copyFinished makes n applications that are over, with all that such a one leaves, over the namespaces of ending: an operator carries one to its end, and while none
// runs, that would take them for new, the others are written as it is. That is a fifth of the writes that it takes to carry them there.
func copyFinished(ctx context.Context, w *world.World, n int) error {
	r, err := raise(ctx, w, "")
	if err != nil {
		return err
	}
	spec := ending(1)
	spec.Classes[0].Namespace, spec.Classes[0].Namespaces = patternNamespace, 0
	if err := errors.Join(r.through(ctx, spec), r.close()); err != nil {
		return err
	}
	p, err := readPattern(ctx, w, spec.Classes[0].Name+"-0")
	if err != nil {
		return err
	}
	stop, err := node.Keep(ctx, w, node.Nodes)
	if err != nil {
		return err
	}
	defer stop()
	namespaces := ending(n).Namespaces()
	for _, name := range namespaces {
		if err := w.Namespace(ctx, name); err != nil {
			return err
		}
	}
	return world.ForEach(ctx, senders, n, func(ctx context.Context, i int) error { return p.copy(ctx, w, namespaces[i%len(namespaces)], i) })
}

// piece is an object that a pattern consists of, as text.
type piece struct {
	of           schema.GroupVersionResource
	uid          types.UID
	text, status string
}

// pattern is an application that is over, first, and what is left of it, pods before the rest: those own what follows.
type pattern struct {
	pieces []piece
	name   string   // of the application
	others []string // names of the rest
	id     string   // Spark's of the application
}

// readPattern reads the application that is alone in the namespace of the pattern.
func readPattern(ctx context.Context, w *world.World, name string) (*pattern, error) {
	p := &pattern{name: name}
	for _, of := range []schema.GroupVersionResource{world.Applications, world.Pods, world.ConfigMaps, world.Services} {
		list, err := w.Dynamic.Resource(of).Namespace(patternNamespace).List(ctx, world.Made(of))
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if err := p.add(of, &list.Items[i]); err != nil {
				return nil, err
			}
		}
	}
	if p.id == "" {
		return nil, fmt.Errorf("application %s left no driver pod with its id: there is nothing to copy", name)
	}
	return p, nil
}

// add takes an object in, without what the API server says of it.
func (p *pattern) add(of schema.GroupVersionResource, object *unstructured.Unstructured) error {
	if name := object.GetName(); !strings.Contains(name, p.name) {
		p.others = append(p.others, name)
	}
	if of == world.Pods {
		p.id = object.GetLabels()["spark-app-selector"]
	}
	made := piece{of: of, uid: object.GetUID()}
	if status, ok := object.Object["status"]; ok {
		text, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		made.status = string(text)
	}
	delete(object.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	if ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); ip != corev1.ClusterIPNone { // an address is one Service's
		unstructured.RemoveNestedField(object.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(object.Object, "spec", "clusterIPs")
	}
	text, err := object.MarshalJSON()
	made.text = string(text)
	p.pieces = append(p.pieces, made)
	return err
}

// copy writes the pattern again as number i, in a namespace.
func (p *pattern) copy(ctx context.Context, w *world.World, namespace string, i int) error {
	told := []string{p.name, fmt.Sprintf("copy-%d", i), p.id, fmt.Sprintf("%s%08x", p.id[:max(0, len(p.id)-8)], i)}
	for _, name := range p.others {
		told = append(told, name, fmt.Sprintf("%s-%d", name, i))
	}
	var name string
	for _, of := range p.pieces {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(strings.NewReplacer(told...).Replace(of.text))); err != nil {
			return err
		}
		made, err := w.Dynamic.Resource(of.of).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		told = append(told, string(of.uid), string(made.GetUID()))
		if of.of == world.Applications {
			name = made.GetName()
		} else if err := of.tell(ctx, w, made.GetNamespace(), made.GetName(), told); err != nil {
			return err
		}
	}
	return p.pieces[0].tell(ctx, w, namespace, name, told) // which speaks of the others
}

// tell writes the status of a copy, if the piece has one.
func (of piece) tell(ctx context.Context, w *world.World, namespace, name string, told []string) error {
	if of.status == "" {
		return nil
	}
	status := strings.NewReplacer(told...).Replace(of.status)
	_, err := w.Dynamic.Resource(of.of).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	return err
}
