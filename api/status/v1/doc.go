// Package v1 contains the parts of a status that applications of both API groups share: the counts of their executors,
// and the facts about an application that the operator must remember. It has no kinds and belongs to no API group.
//
// +kubebuilder:object:generate=true
package v1
