// Package transport is the connection by which the caches hear of objects of core kinds. It costs the operator more than all else that it does: each executor is
// some eight events of a whole pod. What nobody reads of an object is left out before it is decoded, and events that come close to one another are read together.
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

// Client returns a client for caches. Core kinds it asks for by a connection of its own, on which events are read together that come within pause of one another; all
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
		return nil, fmt.Errorf("a connection of the caches' own: %w", err)
	}
	objects := kept.objects()
	both := &core{own: transportOf(client), others: transportOf(others), objects: objects, event: objects.event()}
	return &http.Client{Transport: both, Timeout: client.Timeout}, nil // not the client itself, which may be everybody's
}

// transportOf is what a client sends by.
func transportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// core asks for core kinds by a connection of its own.
type core struct {
	own, others http.RoundTripper
	objects     objects
	event       *Message
}

// corePath is in the path of all requests about core kinds, whatever stands before it where the API server is behind a proxy. Where it stands there too, events of
// custom resources are gathered as well, which is later and nothing worse.
const corePath = "/api/v1/"

// RoundTrip implements http.RoundTripper.
func (c *core) RoundTrip(request *http.Request) (*http.Response, error) {
	by := c.others
	if strings.Contains(request.URL.Path, corePath) {
		by = c.own
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
		response.Body = &frames{Closer: body, from: body, event: c.event}
	default:
		response.Body, response.ContentLength = &list{ReadCloser: body, objects: c.objects}, -1
		response.Header.Del("Content-Length")
	}
	return response, nil
}
