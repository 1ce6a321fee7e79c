package lifecycle_test

import (
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/lifecycle/cluster"
)

// clusterStates writes the section of docs/states.md about standalone clusters.
func clusterStates(b *strings.Builder) {
	fmt.Fprint(b, `
## Standalone clusters

A cluster is objects that the API server keeps, and pods that Kubernetes makes of them. Its machine (`+"`lifecycle/cluster`"+`) makes nothing: it says in which phases the
objects are wanted, which is in all but Ended and Done, and judges by what became of them and by the pods.

`)
	draw(b, cluster.Transitions, "")
	fmt.Fprint(b, "\nLive holds the phases in which all objects are there. ")
	list(b, cluster.Transitions)
	fmt.Fprint(b, "\n### What a cluster waits for\n\n")
	await(b, cluster.Waits)
	fmt.Fprint(b, `
### What holds at any time

- It is Running only once the master and as many workers as are wanted are ready, and no phase follows but by its deletion: what it loses then is told, and
  made again by Kubernetes.
- It fails for a spec of which no objects can be made, before it ran once, or for a master that was not ready within its time; that begins when all objects are there, and anew
  with an edit, and when a master that was ready is not any more.
- What the API server refuses is asked for again for as long as it takes, and adds nothing to the status.
- What failed is released to the last object and pod before it is Done, and begun anew by an edit only after that.
- An edit of which nothing can be made changes nothing of a cluster that runs.
`)
}
