// Package bounds limits the memory and CPU time that decoding one custom resource can cost. Users choose the text of a
// custom resource, and a short text can be expensive: resource.ParseQuantity computes for hours with "1e2000000000". An
// informer decodes the objects of all namespaces, so one such object would stop the operator for everybody.
//
// Before Decode decodes a custom resource, it checks the text against the limits of this package. A Shape describes the
// Go type into which a text is decoded, and therefore which limits apply. Decode decodes only the parts that are within
// the limits. If a spec exceeds a limit, the decoded object has an empty spec and a message with the reason. The
// operator parses every quantity that a user wrote with the function Quantity.
//
// The definitions have the same limits (tools/crdfinish), so the API server rejects a new object that exceeds them.
// Decode handles objects that were stored under an older definition, or under another operator's definition.
package bounds
