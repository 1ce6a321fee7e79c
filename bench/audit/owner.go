package audit

import (
	"encoding/json"
	"net/url"

	"k8s.io/apimachinery/pkg/labels"
)

// about is what a body says of what it is about.
type about struct {
	Metadata struct {
		Labels          map[string]string
		OwnerReferences []reference
	}
	InvolvedObject reference // of an Event
}

type reference struct{ Kind, Name string }

// read returns what a body says; nothing of one that cannot be read, such as a JSON patch.
func read(body json.RawMessage) (a about) {
	if json.Unmarshal(body, &a) != nil {
		return about{}
	}
	return a
}

// key is an object of a kind that is known from where it is used.
type key struct{ namespace, name string }

// child is an object that belongs to an application.
type child struct {
	resource string
	key
}

// owned is whose an object is, and what Spark has it be where it is a pod: "driver" or "executor".
type owned struct {
	app  key
	role string
}

// Owners know which application an object belongs to, as its own references or its label of Spark's said when it was made. They are to see what was made before the
// writes that are asked about.
type Owners map[child]owned

// selector is the label by which Spark's driver deletes what it made (Constants.SPARK_APP_ID_LABEL). Owners know its values as objects of a resource of this name.
const selector = "spark-app-selector"

// Application returns the namespace and name of the application that a write is for, and notes what it made.
func (o Owners) Application(e *Event) (namespace, name string, ok bool) {
	of, ok := o.of(e)
	return of.app.namespace, of.app.name, ok
}

// of returns the application that a write is for, and notes what it made.
func (o Owners) of(e *Event) (of owned, ok bool) {
	at := child{e.Object.Resource, key{e.Object.Namespace, e.Object.Name}}
	if at.resource == "sparkapplications" {
		return owned{app: at.key}, true
	}
	if e.Verb == "deletecollection" {
		of, ok = o[child{selector, key{at.namespace, selected(e.URI)}}]
		return of, ok
	}
	if of, ok = o[at]; ok || len(e.Body) == 0 || e.Verb != "create" && e.Verb != "patch" {
		return of, ok
	}
	body := read(e.Body)
	for _, r := range append(body.Metadata.OwnerReferences, body.InvolvedObject) {
		if of, ok = o.referred(at.namespace, r); ok {
			break
		}
	}
	id := child{selector, key{at.namespace, body.Metadata.Labels[selector]}}
	if !ok && id.name != "" {
		of, ok = o[id]
	}
	of.role = body.Metadata.Labels["spark-role"]
	if ok && e.OK() {
		o[at] = of
		if id.name != "" {
			o[id] = owned{app: of.app}
		}
	}
	return of, ok
}

// referred is the application that an object is for which refers to another of its namespace.
func (o Owners) referred(namespace string, to reference) (of owned, ok bool) {
	switch to.Kind {
	case "SparkApplication":
		return owned{app: key{namespace, to.Name}}, true
	case "Pod": // executors and what they mount are their driver's; an event may be about either
		of, ok = o[child{"pods", key{namespace, to.Name}}]
	}
	return of, ok
}

// selected is the value of Spark's label that a request chooses objects by; empty for none.
func selected(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	chosen, err := labels.Parse(u.Query().Get("labelSelector"))
	if err != nil {
		return ""
	}
	id, _ := chosen.RequiresExactMatch(selector)
	return id
}
