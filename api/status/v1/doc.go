// Package v1 holds the parts of a status that applications have in both API groups: the counts of their executors, and what the operator must
// remember of them. It holds no kinds and belongs to no API group.
//
// +kubebuilder:object:generate=true
package v1
