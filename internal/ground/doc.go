// Package ground has no code: the packages below it are what the rest stands on, and use neither the engine nor the
// settings.
//
//   - identity says to whom an object belongs: the labels, selectors, owners and keys that are computed from the UID
//     of a custom resource and the number of an attempt.
//   - fence ends what a replica may do with its term as the leader: after the term no request and no Event leaves
//     the process.
//   - telemetry are the logs, metrics, traces and Events, with bounds for the number of series.
//   - bykey remembers values by key within a process, for facts that may be lost with it.
//   - nodelog reads the log of a container as a kubelet returns it.
//   - churn remembers executors that ended until a pass has counted them.
//   - goruntime sets Go's runtime: the number of cores, and when Go collects garbage.
//
// A package belongs here if at least two rooms need it and if it knows nothing about how a pass works.
package ground
