// Package transport reads the objects that the caches receive. Reading them is the operator's largest cost, because
// each executor causes about eight events, each with a whole pod. The transport removes fields that the operator does
// not read before an object is decoded. It also reads pod events in batches, if they arrive shortly after each other.
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

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
)

// Client returns a client for caches. Requests for pods use their own connection. Events that arrive there within the
// given pause are read together. All other requests use the transport of the other client (second parameter).
//
// Objects in protobuf are reduced to the fields that kept specifies. Custom resources, which are JSON, stay whole.
//
// The function `decode`, which may be nil, returns a Work for each watch. This Work is notified when the decoding of
// received bytes begins and ends.
func Client(rc *rest.Config, others *http.Client, kept shed.Kinds, pause time.Duration, decode func(path string) Work) (*http.Client, error) {
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

	objects := kept.Objects()
	both := &router{pods: transportOf(client), others: transportOf(others), objects: objects, event: objects.Event(), decode: decode}
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

// router is a transport that sends requests for pods over one connection and all other requests over another.
type router struct {
	pods, others http.RoundTripper
	objects      shed.Objects
	event        *shed.Message
	decode       func(path string) Work
}

// podsPath is the suffix of the URL path of requests that list or watch pods, in one namespace or in all.
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

	r.shed(response)

	switch {
	case work != nil:
		response.Body = &received{response.Body, work}
	case r.decode != nil && request.URL.Query().Has("watch"):
		response.Body = &streamed{response.Body, r.decode("a watch of " + request.URL.Path)}
	}
	return response, nil
}

// shed removes unread fields from the body of a response. It leaves bodies of other content types unchanged.
func (r *router) shed(response *http.Response) {
	if response.Header.Get("Content-Encoding") != "" {
		return
	}

	kind, parameters, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))

	body := response.Body
	switch {
	case kind != runtime.ContentTypeProtobuf:
	case parameters["stream"] != "":
		response.Body = &frames{Closer: body, from: body, event: r.event}
	default:
		response.Body, response.ContentLength = &list{ReadCloser: body, objects: r.objects}, -1
		response.Header.Del("Content-Length")
	}
}
