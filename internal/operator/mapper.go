package operator

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/memory"
)

// mappings remembers which resource each kind is. The mapper behind it walks all groups that the API server serves for each answer, and a cache of several
// namespaces asks it with every list of every pass: that was a fifth of what the operator allocated.
type mappings struct {
	meta.RESTMapper
	known memory.ByKey[schema.GroupVersionKind, *meta.RESTMapping]
}

func newMappings(rc *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	mapper, err := apiutil.NewDynamicRESTMapper(rc, client)
	return &mappings{RESTMapper: mapper}, err
}

// RESTMapping answers for one version from what is known. Who asks for several, or for any, is answered by the mapper behind; and so is each who asks for
// what is not served, since it may be soon.
func (m *mappings) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	gvk := kind.WithVersion(versions[0])
	if mapping, known := m.known.Get(gvk); known {
		return mapping, nil
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Set(gvk, mapping)
	}
	return mapping, err
}
