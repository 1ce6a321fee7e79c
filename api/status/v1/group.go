package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// SchemeGroupVersion is served by no API server. The generated apply configurations know each type by a group and a version, these types too.
var SchemeGroupVersion = schema.GroupVersion{Group: "sparkoperator.dev", Version: "v1"}
