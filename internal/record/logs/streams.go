package logs

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// APIStreams reads logs through the API server.
type APIStreams struct {
	Pods typedcorev1.PodsGetter
	Live client.Reader // reads the API server, not a cache
}

var _ Streams = APIStreams{}

// Open implements Streams.
func (s APIStreams) Open(ctx context.Context, pod types.NamespacedName, container string, follow bool) (io.ReadCloser, error) {
	return s.Pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, Follow: follow}).Stream(ctx)
}

// UID implements Streams.
func (s APIStreams) UID(ctx context.Context, pod types.NamespacedName) (types.UID, error) {
	found := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("Pod"))

	err := s.Live.Get(ctx, pod, found)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return found.UID, err
}
