package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// SchemeGroupVersion is a group and version for the generated apply configurations, which identify each type by its
// group and version. No API server serves it.
var SchemeGroupVersion = schema.GroupVersion{Group: "sparkoperator.dev", Version: "v1"}
