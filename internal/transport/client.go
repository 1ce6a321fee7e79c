// Package transport reads the objects that the caches receive. The caches' input costs the operator more than
// everything else: each executor causes about eight events, each with a whole pod. The transport removes unread fields
// before an object is decoded, and reads pod events that arrive close together in one batch.
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

// Client returns a client for caches. Requests for pods use their own connection, on which events that arrive within
// the given pause are read together. All other requests use the given other client. Objects in protobuf are reduced to
// the fields that the argument kept specifies. Events in JSON lose only their managed fields. The function decode,
// which may be nil, returns the Work of a watch. That Work is notified when the decoding of the bytes of one read
// begins and ends.
func Client(rc *rest.Config, others *http.Client, kept Kinds, pause time.Duration, decode func(path string) Work) (*http.Client, error) {
	own := rest.CopyConfig(rc)
	dial := dialer((&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext) // as in client-go
	if own.Dial != nil {
		dial = own.Dial
	}
	own.Dial = dial.gather(pause)
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("create a client for pods: %w", err)
	}
	objects := kept.objects()
	both := &router{pods: transportOf(client), others: transportOf(others), objects: objects, event: objects.event(), decode: decode}
	// The client that HTTPClientFor returns may be shared, so it is not changed.
	return &http.Client{Transport: both, Timeout: client.Timeout}, nil
}

// transportOf returns the transport of a client.
func transportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// router is a transport that sends requests for pods over their own connection.
type router struct {
	pods, others http.RoundTripper
	objects      objects
	event        *Message
	decode       func(path string) Work
}

// podsPath is the suffix of the paths of lists and watches of pods, in one namespace or in all.
const podsPath = "/pods"

// RoundTrip implements http.RoundTripper.
func (r *router) RoundTrip(request *http.Request) (*http.Response, error) {
	next := r.others
	if strings.HasSuffix(request.URL.Path, podsPath) {
		next = r.pods
	}
	work := workOf(request.Context())
	if work != nil {
		work.End() // the work of the previous try
	}
	response, err := next.RoundTrip(request)
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

// shed removes unread fields from the body of a response. It leaves bodies of other content types unchanged.
func (r *router) shed(request *http.Request, response *http.Response) {
	if response.Header.Get("Content-Encoding") != "" {
		return
	}
	kind, parameters, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
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
