// Package engine has no code: the packages below it carry out the passes over custom resources. A pass reads what
// exists, lets a pure dialect decide what is next, carries that out, and stores the outcome in the status.
//
// The package controller holds the one reconciler and the order of a pass; its Reconcile method reads from top to
// bottom. It knows no kind of custom resources: it sees each as a contract.Kind, which internal/kinds/configured
// implements. A package that needs more than that from some kinds declares an interface for it, and finds it by a type
// assertion. The steps are packages, in the order of a pass:
//
//   - observe finds the dependents in the caches, and reads them into the facts of a lifecycle.Observed. The package
//     dependents finds, creates, adopts and deletes objects by the identity of their owner; runs does the same for
//     the applications that a schedule starts.
//   - The kind decides. This step is pure: it reads nothing but the facts.
//   - apply carries out the actions of the decision. An answer that the decision has to know, such as a rejection,
//     is one more fact, and the pass decides again. The package apianswer tells a rejection from an error that
//     passes by.
//   - auxiliary ensures the objects beside the driver that no decision depends on, such as the Service of the web
//     UI.
//   - statuswrite says which part of the new status is written, and when. It also knows whether a cache is as new as
//     the last write, so that no pass acts on a past that is already over.
//
// Three packages serve all steps. The package explain asks for facts that neither a pod's status nor its driver
// shows, such as the reason why a pod waits. The package hold records why the passes over a custom resource are held
// up. The package sentinel probes the whole with custom resources that exist only for this purpose.
//
// Rules. A pass works on a view of the world that nobody changes. Only the reconciler combines the outcomes of the
// steps. There is one status write, at the end; a conflict ends the pass, and the next pass decides anew. Names are
// computed from the owner's UID and the attempt, so a step that is repeated after a crash finds the result of the
// first time.
//
// The engine does not import the webhook, sparkctl, or internal/process, which starts it.
package engine
