// Package transport is how the caches hear of objects. That costs the operator more than all else that it does: each executor is some eight events of a whole pod.
// What nobody reads of an object is left out before it is decoded, and events of pods that come close to one another are read together.
package transport

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Client returns a client for caches. It asks for pods by a connection of its own, on which events are read together that come within pause of one another; for all
// else by the client that is given. Of objects that come as protocol buffers it keeps what kept says, of events in JSON
// all but the managed fields. Of the body of each watch it tells decode, which may be nil, when what was read of it is
// decoded.
func Client(rc *rest.Config, others *http.Client, kept Kinds, pause time.Duration, decode func(path string) Work) (*http.Client, error) {
	own := rest.CopyConfig(rc)
	dial := dialer((&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext) // as client-go's own
	if own.Dial != nil {
		dial = own.Dial
	}
	own.Dial = dial.gather(pause)
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("a connection for pods: %w", err)
	}
	objects := kept.objects()
	both := &router{pods: transportOf(client), others: transportOf(others), objects: objects, event: objects.event(), decode: decode}
	return &http.Client{Transport: both, Timeout: client.Timeout}, nil // not the client itself, which may be everybody's
}

// transportOf is what a client sends by.
func transportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// router asks for pods by a connection of their own.
type router struct {
	pods, others http.RoundTripper
	objects      objects
	event        *Message
	decode       func(path string) Work
}

// podsPath ends the paths of lists and watches of pods, in a namespace or in all.
const podsPath = "/pods"

// RoundTrip implements http.RoundTripper.
func (r *router) RoundTrip(request *http.Request) (*http.Response, error) {
	by := r.others
	if strings.HasSuffix(request.URL.Path, podsPath) {
		by = r.pods
	}
	work := workOf(request.Context())
	if work != nil {
		work.End() // of the try before
	}
	response, err := by.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	r.shed(request, response)
	switch {
	case work != nil:
		response.Body = &received{response.Body, work}
	case r.decode != nil && request.URL.Query().Has("watch"):
		response.Body = &streamed{response.Body, r.decode("a watch of " + request.URL.Path)}
	}
	return response, nil
}

// shed leaves out of an answer's body what nobody reads.
func (r *router) shed(request *http.Request, response *http.Response) {
	if response.Header.Get("Content-Encoding") != "" {
		return
	}
	kind, parameters, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // of another kind nothing is left out
	body := response.Body
	switch {
	case kind == runtime.ContentTypeJSON && request.URL.Query().Has("watch"):
		response.Body = &unmanaged{Closer: body, from: body}
	case kind != runtime.ContentTypeProtobuf:
	case parameters["stream"] != "":
		response.Body = &frames{Closer: body, from: body, event: r.event}
	default:
		response.Body, response.ContentLength = &list{ReadCloser: body, objects: r.objects}, -1
		response.Header.Del("Content-Length")
	}
}
