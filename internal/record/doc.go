// Package record has no code: the packages below it keep what remains of a run after its pods and its custom resource
// are gone.
//
//   - bucket opens object stores, and explains their errors to users.
//   - store has the layout of everything that is kept: the names of the files, the index of an attempt, and the two
//     places, an object store and the ConfigMap of a custom resource.
//   - capture compresses logs and bounds their memory, and stream uploads the logs of drivers that still run.
//   - logs keeps the logs of drivers and executors. Its Keeper receives the events of pods from internal/intake, and
//     internal/engine queries it before it deletes a pod. The result is a fact of the next pass.
//
// The operator computes each place from its configuration and from the identity of the custom resource. It never reads
// a place from a status, an annotation or another text of a tenant, because the operator's rights reach further than
// the tenant's. A reader, such as sparkctl, uses the rights of its user.
//
// A file is written before the index that lists it. Readers show only what an index lists, so they never show a file of
// which only a part was written.
package record
