package stream

import (
	"context"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/ground/nodelog"
)

// Request selects the log of a container.
type Request struct {
	Pod       types.NamespacedName
	Container string
	Follow    bool      // the stream ends when the container does
	Times     bool      // each line begins with its time
	Since     time.Time // the first second of the lines; zero for all lines
}

// Source reads the logs of pods.
type Source interface {
	// Open opens the log of a container. If the node cannot read it to its end, it ends with a nodelog.Error.
	Open(ctx context.Context, r Request) (io.ReadCloser, error)
	// UID returns the UID of the pod that has the name now; empty if there is none.
	UID(ctx context.Context, pod types.NamespacedName) (types.UID, error)
}

// API reads logs through the API server.
type API struct {
	Pods typedcorev1.PodsGetter
	Live client.Reader // reads the API server, not a cache
}

var _ Source = API{}

// NewAPI returns a source with connections of its own, which use HTTP/1.1. With HTTP/2, the operator would have the
// text that was not read yet in its memory, up to 4 MiB of each log, and a read would take more CPU time.
func NewAPI(config *rest.Config, live client.Reader) (API, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}

	pods, err := typedcorev1.NewForConfig(config)
	return API{Pods: pods, Live: live}, err
}

// Open implements Source.
func (s API) Open(ctx context.Context, r Request) (io.ReadCloser, error) {
	o := &corev1.PodLogOptions{Container: r.Container, Follow: r.Follow, Timestamps: r.Times}
	if !r.Since.IsZero() {
		o.SinceTime = &metav1.Time{Time: r.Since}
	}

	log, err := s.Pods.Pods(r.Pod.Namespace).GetLogs(r.Pod.Name, o).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return nodelog.Checked(log), nil
}

// UID implements Source.
func (s API) UID(ctx context.Context, pod types.NamespacedName) (types.UID, error) {
	found := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("Pod"))

	err := s.Live.Get(ctx, pod, found)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return found.UID, err
}
