// Package bounds limits what one custom resource can cost before any of it is decoded. Users choose the text of a
// custom resource, and a short text can stand for a huge value: resource.ParseQuantity computes for hours with
// "1e2000000000". An informer decodes the objects of all namespaces, so one such object would stop the operator for
// everybody.
//
// Decode checks the text of a custom resource against the limits of this package, guided by a Shape of the Go type into
// which the text is decoded. It decodes only the parts that are within the limits. If a spec exceeds a limit, the
// decoded object has an empty spec and a message with the reason. The function Quantity reads all quantities that users
// write.
//
// The definitions have the same limits (tools/crdfinish), so the API server rejects a new object that exceeds them.
// Decode handles objects that were stored under an older definition, or under another operator's definition.
package bounds
