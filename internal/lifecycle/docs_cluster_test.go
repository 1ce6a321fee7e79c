package lifecycle_test

import (
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

// clusterStates writes the section of docs/states.md about standalone clusters.
func clusterStates(b *strings.Builder) {
	fmt.Fprint(b, `
## Standalone clusters

A cluster consists of objects that the operator ensures, and of pods that Kubernetes creates from them. The machine of a
cluster (`+"`internal/lifecycle/cluster`"+`) creates nothing. It decides in which phases the objects are wanted: in all
but Ended and Done. It judges the cluster by the state of the objects and by the pods.

`)
	draw(b, cluster.Transitions, "")
	fmt.Fprint(b, "\nLive stands for the phases in which all objects exist.\n")
	list(b, cluster.Transitions)
	fmt.Fprint(b, "\n### What a cluster waits for\n\n")
	await(b, cluster.Waits)
	fmt.Fprint(b, `
### What holds at any time

- A cluster is Running only once its master and the wanted number of workers are ready. Only its deletion ends that
  phase. The operator reports what the cluster loses later, and Kubernetes replaces it.
- A cluster that is not Running yet fails in two cases: its objects cannot be rendered from the spec, or its master is
  not ready in time. This time begins when all objects exist. It begins again with an edit, and when a master that was
  ready no longer is.
- The operator retries an object that the API server rejects, for as long as it takes. Retries do not change the status.
- All objects and pods of a failed cluster are deleted before it is Done. An edit starts it again only after that.
- An edit has no effect on a running cluster if no objects can be rendered from it.
- An edit of a cluster in a queue has no effect until the operator has read that its quota is for the edited spec.
- If the operator's clock goes back, no time limit takes longer than its own duration from then on.
`)
}
