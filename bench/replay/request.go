package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sparkoperator/spark-operator/bench/audit"
)

// request is a write as it is sent: everything but UIDs is there before the clock runs.
type request struct {
	method, uri, contentType string
	accept                   string
	body                     []byte
	actor                    audit.Actor
	teaches                  int
	uses                     []int
	pod                      string // namespace/name of the pod that it is the status of
}

// What answers are asked for: no more of an object than its metadata, in protobuf, which costs the least to send and to read. A deleted collection is a list,
// of which there is no such form.
const (
	asMetadata = runtime.ContentTypeProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asList     = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
)

// prepare makes the request of a write in another namespace. Kinds that are built in are sent in protobuf, which is the fastest, custom resources and patches in
// JSON, which they have only.
func (w *Write) prepare(namespace string) (r request, err error) {
	r = request{accept: asMetadata, actor: w.Actor, teaches: w.teaches, uses: w.uses}
	if r.uri, err = moved(w.URI, w.Object.Namespace, namespace); err != nil {
		return r, err
	}
	if w.Object.Resource == "pods" && w.Object.Subresource == "status" {
		r.pod = namespace + "/" + w.Object.Name
	}
	switch w.Verb {
	case "create":
		r.method = http.MethodPost
		r.contentType, r.body, err = object(w.Body, namespace)
	case "update":
		r.method = http.MethodPut
		r.contentType, r.body, err = object(w.Body, namespace)
	case "patch":
		r.method = http.MethodPatch
		r.contentType, r.body, err = w.patch(namespace)
	case "delete", "deletecollection":
		r.method, r.contentType = http.MethodDelete, runtime.ContentTypeJSON
		r.body, err = deletion(w.Body)
	default:
		err = errors.New("no such verb is sent again")
	}
	if w.Verb == "deletecollection" {
		r.accept = asList
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", w.Verb, w.URI, err)
	}
	return r, err
}

// moved is a request's address in another namespace, without what was so in that moment only.
func moved(uri, from, to string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	if from != "" {
		segment := "/namespaces/" + from
		if before, after, ok := strings.Cut(u.Path+"/", segment+"/"); ok {
			u.Path = strings.TrimSuffix(before+"/namespaces/"+to+"/"+after, "/")
		}
	}
	q := u.Query()
	q.Del("timeout")
	q.Del("resourceVersion")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// object is a whole object in another namespace, free of what the API server gave to the one that it is a copy of.
func object(body []byte, namespace string) (contentType string, out []byte, err error) {
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		out, err = edited(body, func(o map[string]any) {
			free(o)
			put(o, "metadata", "namespace", namespace)
		})
		return runtime.ContentTypeJSON, out, err
	}
	if err != nil {
		return "", nil, err
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return "", nil, err
	}
	m.SetNamespace(namespace)
	m.SetUID("")
	m.SetResourceVersion("")
	m.SetCreationTimestamp(metav1.Time{})
	m.SetManagedFields(nil)
	if event, ok := o.(*corev1.Event); ok {
		event.InvolvedObject.Namespace, event.InvolvedObject.ResourceVersion = namespace, ""
	}
	out, err = runtime.Encode(binary, o)
	return runtime.ContentTypeProtobuf, out, err
}

var binary = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// patch is a patch without conditions. The log does not tell which type it was: an array is a JSON patch, an object with a kind, sent by a field manager, is
// applied; of the others the operator's are merge patches, as are all of custom resources, and those of nodes are strategic.
func (w *Write) patch(namespace string) (contentType string, out []byte, err error) {
	if strings.HasPrefix(strings.TrimSpace(string(w.Body)), "[") {
		out, err = unconditional(w.Body)
		return string(types.JSONPatchType), out, err
	}
	applied := w.about.Kind != "" && strings.Contains(w.URI, "fieldManager=")
	out, err = edited(w.Body, func(o map[string]any) {
		free(o)
		if m, ok := o["metadata"].(map[string]any); ok && (applied || m["namespace"] != nil) {
			m["namespace"] = namespace
		}
	})
	switch {
	case applied:
		return string(types.ApplyYAMLPatchType), out, err
	case w.Actor == audit.Operator, !scheme.Scheme.IsGroupRegistered(w.Object.Group):
		return string(types.MergePatchType), out, err
	}
	return string(types.StrategicMergePatchType), out, err
}

// unconditional is a JSON patch without its tests, and without what it does to a resourceVersion.
func unconditional(body []byte) ([]byte, error) {
	var all, kept []map[string]any
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	for _, op := range all {
		if op["op"] != "test" && op["path"] != "/metadata/resourceVersion" {
			kept = append(kept, op)
		}
	}
	return json.Marshal(kept)
}

// deletion are the options of a deletion without their preconditions; no body has no options.
func deletion(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	return edited(body, func(o map[string]any) { delete(o, "preconditions") })
}

// edited is JSON after a change.
func edited(body []byte, change func(map[string]any)) ([]byte, error) {
	var o map[string]any
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	change(o)
	return json.Marshal(o)
}

// free takes out of an object, or a patch, what ties it to the one it was about.
func free(o map[string]any) {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(m, key)
	}
	if len(m) == 0 {
		delete(o, "metadata")
	}
}

func put(o map[string]any, outer, key string, value any) {
	m, ok := o[outer].(map[string]any)
	if !ok {
		m = map[string]any{}
		o[outer] = m
	}
	m[key] = value
}
