// Package bounds limits what one custom resource can cost before anything of it is decoded. A user chooses the text of a custom resource, and a short
// text can stand for a huge value: resource.ParseQuantity computes with "1e2000000000" for hours. An informer decodes the objects of all namespaces, so
// one such object would stop the operator for everybody.
//
// Decode checks the text of a custom resource against the limits of this package, guided by a Shape of the Go type that the text is to be decoded into.
// It decodes only what is within the limits. What is not is reported by the object itself, which then has no spec. Quantity is the one reader of
// quantities that users wrote.
//
// The same limits are in the definitions (tools/crdfinish), so that the API server refuses a new object. Decode is for those that were stored under an
// older definition, or under another operator's.
package bounds
