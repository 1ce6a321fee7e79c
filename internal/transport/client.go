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
// else by the client that is given. Of objects that come as protocol buffers it keeps what kept says, of events in JSON all but the managed fields.
func Client(rc *rest.Config, others *http.Client, kept Kinds, pause time.Duration) (*http.Client, error) {
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
	both := &router{pods: transportOf(client), others: transportOf(others), objects: objects, event: objects.event()}
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
}

// podsPath ends the paths of lists and watches of pods, in a namespace or in all.
const podsPath = "/pods"

// RoundTrip implements http.RoundTripper.
func (r *router) RoundTrip(request *http.Request) (*http.Response, error) {
	by := r.others
	if strings.HasSuffix(request.URL.Path, podsPath) {
		by = r.pods
	}
	response, err := by.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" {
		return response, err
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
	return response, nil
}
