// Package intake has no code: the packages below it bring the objects of the API server to the queues of the engine,
// and keep of them what the operator reads.
//
// An object passes through them in this order:
//
//   - transport removes from the bytes of a response the fields that nobody reads (shed), before they are decoded, and
//     gathers the events of pods that come together. The caches of client-go see a smaller API server.
//   - trim is the list of what is kept of each kind, for transport and for the caches.
//   - access lets each namespace and each kind start for itself, so that missing rights stop no other namespace.
//   - thirdparty watches kinds that a cluster need not have, such as the PodGroups of a scheduler, as soon as their
//     definitions exist.
//   - handlers are the event handlers of the informers. They pass an event to the queue of its owner, at once or
//     gathered, and record executors that have ended.
//   - queue decides which key is next: new work before repeated work, namespaces in turn, errors later.
//   - watchdog measures the age of decodes and passes, and fails the probes of a process in which one of them hangs.
//
// Most of the operator's CPU and memory is spent here: every event of every pod comes through, although
// few of them change a decision. Therefore the code is closer to bytes than elsewhere; docs/decisions/0012 and 0017
// have the measurements. Nothing in this folder decides about an application.
//
// The engine uses queue, shed and trim. Nothing here imports the engine.
package intake
