package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/bench/audit"
)

// Agent is the user agent of all that is sent again.
const Agent = "spark-bench-replay"

// client is a client of its own connection. It does not decode what it does not need.
func client(config *rest.Config) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.UserAgent, c.QPS = Agent, -1
	c.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext // a function of its own is not shared with other clients' connections
	c.AcceptContentTypes, c.ContentType = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	c.NegotiatedSerializer = metascheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(c)
}

// outcome counts what became of writes.
type outcome struct {
	writes, gone, failed atomic.Int64

	mu       sync.Mutex
	answered []time.Time
	first    error // that failed
}

// answer notes when a write was answered, in whatever way.
func (o *outcome) answer(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = append(o.answered, at)
}

func (o *outcome) fail(err error) {
	o.failed.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
}

// script is an application's requests, ready to be sent once.
type script struct {
	requests []request
	uids     []string // old
}

// script prepares an application's writes for another namespace.
func (a *Application) script(namespace string) (*script, error) {
	s := &script{uids: a.uids}
	for _, w := range a.Writes {
		r, err := w.prepare(namespace)
		if err != nil {
			return nil, err
		}
		s.requests = append(s.requests, r)
	}
	return s, nil
}

// send sends the requests one after the other, each by its actor's client. One that fails does not keep the others back.
func (s *script) send(ctx context.Context, clients map[audit.Actor]*rest.RESTClient, b *bindings, o *outcome) {
	fresh := make([]string, len(s.uids))
	for _, r := range s.requests {
		if ctx.Err() != nil {
			return
		}
		body := r.body
		for _, i := range r.uses {
			// UIDs are all of one length, so that this is right in protobuf, too.
			if len(fresh[i]) == len(s.uids[i]) {
				body = bytes.ReplaceAll(body, []byte(s.uids[i]), []byte(fresh[i]))
			}
		}
		if err := b.wait(ctx, r.pod); err != nil {
			o.fail(err)
			continue
		}
		uid, err := r.send(ctx, clients[r.actor], body)
		o.answer(time.Now())
		if r.teaches > 0 {
			fresh[r.teaches-1] = uid
		}
		switch {
		case err == nil:
			o.writes.Add(1)
		case apierrors.IsNotFound(err) && r.method == "DELETE":
			// Of two that deleted it one waited for the kubelet, which has nothing to end where a pod was not bound yet.
			o.gone.Add(1)
		default:
			o.fail(fmt.Errorf("%s %s: %w", r.method, r.uri, err))
		}
	}
}

// send sends one request and returns the UID of the object in the answer, if somebody wants to know.
func (r *request) send(ctx context.Context, c *rest.RESTClient, body []byte) (string, error) {
	result := c.Verb(r.method).RequestURI(r.uri).SetHeader("Content-Type", r.contentType).SetHeader("Accept", r.accept).Body(body).Do(ctx)
	if r.teaches == 0 {
		return "", result.Error()
	}
	var made metav1.PartialObjectMetadata
	if err := result.Into(&made); err != nil {
		return "", err
	}
	if made.UID == "" {
		return "", errors.New("the answer has no UID")
	}
	return string(made.UID), nil
}
