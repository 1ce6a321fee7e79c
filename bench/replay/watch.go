package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/bench/audit"
)

// watches are open watches, what they say is dropped unread: the API server has its work with them, the client has as little as can be.
type watches struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu  sync.Mutex
	err error // one ended and could not be opened again
}

// open opens watches in another namespace, and returns when all of them are.
func open(ctx context.Context, config *rest.Config, list []Watch, namespace func(string) string) (*watches, error) {
	c, err := client(config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watches{stop: stop}
	for _, one := range list {
		stream, err := one.open(ctx, c, namespace)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watch %s: %w", one.URI, err), w.close())
		}
		w.running.Go(func() {
			if err := one.keep(ctx, stream, c, namespace); err != nil && ctx.Err() == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.err = errors.Join(w.err, fmt.Errorf("watch %s: %w", one.URI, err))
			}
		})
	}
	return w, nil
}

// keep reads a watch until the context ends, which may be an error of it, and opens it again where the API server ends it, as it does with who reads more slowly than things happen: an
// operator's would be opened again too.
func (w Watch) keep(ctx context.Context, stream io.ReadCloser, c *rest.RESTClient, namespace func(string) string) (err error) {
	for ctx.Err() == nil {
		_, _ = io.Copy(io.Discard, stream) // how it ended is told by whether it can be opened again
		_ = stream.Close()
		if stream, err = w.open(ctx, c, namespace); err != nil {
			return fmt.Errorf("open it again: %w", err)
		}
	}
	return stream.Close()
}

// close ends the watches, and tells of those that could not be kept open.
func (w *watches) close() error {
	w.stop()
	w.running.Wait()
	return w.err
}

// open opens a watch from now on.
func (w Watch) open(ctx context.Context, c *rest.RESTClient, namespace func(string) string) (io.ReadCloser, error) {
	uri, err := moved(w.URI, w.Object.Namespace, namespace(w.Object.Namespace))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Del("watch")
	q.Set("limit", "1")
	u.RawQuery = q.Encode()
	var now metav1.PartialObjectMetadataList
	const listAsMetadata = runtime.ContentTypeProtobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	if err := c.Get().RequestURI(u.String()).SetHeader("Accept", listAsMetadata).Do(ctx).Into(&now); err != nil {
		return nil, err
	}
	q.Del("limit")
	q.Set("watch", "true")
	q.Set("resourceVersion", now.ResourceVersion)
	q.Set("timeoutSeconds", fmt.Sprint(int(time.Hour.Seconds())))
	u.RawQuery = q.Encode()
	return c.Get().RequestURI(u.String()).SetHeader("Accept", w.accept()).Stream(ctx)
}

// accept is the form in which the actor had the objects, which the log does not tell. The operator has of built-in kinds but pods the metadata only, in protobuf
// (internal/controller, optional.go and watch.go). Custom resources are JSON.
func (w Watch) accept() string {
	switch {
	case !scheme.Scheme.IsGroupRegistered(w.Object.Group):
		return runtime.ContentTypeJSON
	case w.Actor == audit.Operator && w.Object.Resource != "pods":
		return runtime.ContentTypeProtobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	}
	return runtime.ContentTypeProtobuf + ";stream=watch"
}
