// Package v1 holds the parts of a status that applications of both API groups share: the counts of their executors, and
// what the operator must remember about an application. It has no kinds and belongs to no API group.
//
// +kubebuilder:object:generate=true
package v1
