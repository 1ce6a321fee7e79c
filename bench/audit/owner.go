package audit

import "encoding/json"

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

// owners know which application an object belongs to, as its own references said when it was made. They are to see what was made before the writes that are
// asked about. A package that needs the UIDs too has replay.Plan.
type owners map[child]owned

// of returns the application that a write is for, and notes what it made.
func (o owners) of(e *Event) (of owned, ok bool) {
	at := child{e.Object.Resource, key{e.Object.Namespace, e.Object.Name}}
	if at.resource == "sparkapplications" {
		return owned{app: at.key}, true
	}
	if of, ok = o[at]; ok || len(e.Body) == 0 || e.Verb != "create" && e.Verb != "patch" {
		return of, ok
	}
	body := read(e.Body)
	for _, r := range append(body.Metadata.OwnerReferences, body.InvolvedObject) {
		switch r.Kind {
		case "SparkApplication":
			of, ok = owned{app: key{at.namespace, r.Name}}, true
		case "Pod": // executors and what they mount are their driver's; an event may be about either
			of, ok = o[child{"pods", key{at.namespace, r.Name}}]
		}
		if ok {
			break
		}
	}
	of.role = body.Metadata.Labels["spark-role"]
	if ok && e.OK() {
		o[at] = of
	}
	return of, ok
}
