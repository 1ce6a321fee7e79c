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

// Client returns a client that reads what others do by the client given, and lists and watches of core kinds by a connection of its own: of these it keeps
// what kept says, and reads events together that come within pause.
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
	client.Transport = &core{own: client.Transport, others: others.Transport, objects: objects, event: objects.event()}
	return client, nil
}

// core sends what is asked of core kinds by a connection of its own.
type core struct {
	own, others http.RoundTripper
	objects     objects
	event       *Message
}

// corePath is in the path of all requests about core kinds and of no others, whatever stands before it where the API server is behind a proxy.
const corePath = "/api/v1/"

// RoundTrip implements http.RoundTripper.
func (c *core) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.Contains(request.URL.Path, corePath) {
		return c.others.RoundTrip(request)
	}
	response, err := c.own.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" {
		return response, err
	}
	kind, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != runtime.ContentTypeProtobuf {
		return response, nil // for the client to say what is wrong with it
	}
	if parameters["stream"] != "" {
		response.Body = &frames{Closer: response.Body, from: response.Body, event: c.event}
		return response, nil
	}
	response.Body, response.ContentLength = &list{ReadCloser: response.Body, objects: c.objects}, -1
	response.Header.Del("Content-Length")
	return response, nil
}
