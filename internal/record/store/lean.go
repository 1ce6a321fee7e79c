package store

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// onlyMetadata is the header Accept of a request whose answer has only the metadata of an object.
const onlyMetadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// lean writes ConfigMaps, and receives only their metadata as the answer. The answer to an ordinary write has the whole
// ConfigMap again, and takes five times the memory of the log until it is decoded.
type lean struct {
	client.Writer
	api   rest.Interface
	owner string
}

// NewWriter returns a writer for ConfigMaps with logs. A write does not change the object that is written. The argument
// owner is the field manager.
func NewWriter(config *rest.Config, http *http.Client, scheme *runtime.Scheme, others client.Writer, owner string) (client.Writer, error) {
	api, err := apiutil.RESTClientForGVK(corev1.SchemeGroupVersion.WithKind("ConfigMap"), false, false, config, serializer.NewCodecFactory(scheme), http)
	return lean{others, api, owner}, err
}

// Create implements client.Writer.
func (l lean) Create(ctx context.Context, object client.Object, _ ...client.CreateOption) error {
	return l.send(ctx, l.api.Post(), object)
}

// Update implements client.Writer.
func (l lean) Update(ctx context.Context, object client.Object, _ ...client.UpdateOption) error {
	return l.send(ctx, l.api.Put().Name(object.GetName()), object)
}

func (l lean) send(ctx context.Context, request *rest.Request, object client.Object) error {
	return request.Namespace(object.GetNamespace()).Resource("configmaps").Param("fieldManager", l.owner).SetHeader("Accept", onlyMetadata).Body(object).Do(ctx).Error()
}
