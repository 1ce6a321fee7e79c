package operator

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/pod-security-admission/api"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/settings/policy"
)

// publishedSchema is the part of a schema published by the API server (OpenAPI v3) that shows which fields the API
// server keeps.
type publishedSchema struct {
	Kinds      []publishedKind             `json:"x-kubernetes-group-version-kind"`
	Preserves  bool                        `json:"x-kubernetes-preserve-unknown-fields"`
	Properties map[string]*publishedSchema `json:"properties"`
}

// publishedKind is a schema.GroupVersionKind in a published schema. That type has no JSON names.
type publishedKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// keeps reports whether the API server keeps a field in an object of this schema.
func (d *publishedSchema) keeps(field []string) bool {
	switch {
	case d == nil:
		return false
	case len(field) == 0 || d.Preserves:
		return true
	}
	return d.Properties[field[0]].keeps(field[1:])
}

// pruned returns those of the given fields that the API server drops from objects of a kind. This happens if the
// CustomResourceDefinition of another operator is installed under the same name. Its schema lacks the fields in which
// this operator stores its decisions, so the operator would lose each decision at the end of the pass.
func pruned(config *rest.Config, client *http.Client, kind schema.GroupVersionKind, fields []string) ([]string, error) {
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("create a client for the schema of %s: %w", kind.Kind, err)
	}

	paths, err := discoveryClient.OpenAPIV3().Paths()
	if err != nil {
		return nil, fmt.Errorf("list published schemas: %w", err)
	}

	published, found := paths[path.Join("apis", kind.Group, kind.Version)]
	if !found {
		return nil, fmt.Errorf("the API server publishes no schema of %s yet", kind.GroupVersion())
	}

	text, err := published.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind.GroupVersion(), err)
	}
	return missing(text, kind, fields)
}

// serverVersion returns the version of the API server, by which the rules of the platform judge pods. If the version
// cannot be read, the result is the zero value, and the rules are strict.
func serverVersion(mgr manager.Manager) api.Version {
	var info *version.Info

	client, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err == nil {
		info, err = client.ServerVersion()
	}

	if err != nil {
		mgr.GetLogger().Error(err, "Could not read the version of the API server; Pod Security is judged by the oldest and by the latest version")
		return api.Version{}
	}
	return policy.ServerVersion(*info)
}

// missing returns those of the given fields that a kind lacks in a published schema. The argument `text` is the schema
// as JSON.
func missing(text []byte, kind schema.GroupVersionKind, fields []string) (dropped []string, err error) {
	var document struct {
		Components struct {
			Schemas map[string]*publishedSchema `json:"schemas"`
		} `json:"components"`
	}
	if err := utiljson.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("decode the schema of %s: %w", kind.GroupVersion(), err)
	}

	for _, d := range document.Components.Schemas {
		if len(d.Kinds) != 1 || schema.GroupVersionKind(d.Kinds[0]) != kind {
			continue
		}

		for _, field := range fields {
			if !d.keeps(strings.Split(field, ".")) {
				dropped = append(dropped, field)
			}
		}
		return dropped, nil
	}
	return nil, fmt.Errorf("the API server publishes no schema of %s yet", kind.Kind)
}
