package trim

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// The messages below specify which part of incoming dependents is decoded. They contain the fields that Pod, Child and
// Metadata read, by the field numbers in Kubernetes' generated.proto. TestKeptIsWhatTrimReads checks the numbers.

// parts specifies the kept fields of a message: it maps the number of each kept field to the Message that specifies
// what is kept of its content.
type parts = map[protowire.Number]*shed.Message

// keptAnnotations keeps podAnnotations. It also keeps the annotation by which a watch marks the end of its initial
// events.
var keptAnnotations = shed.Named(append(slices.Clone(podAnnotations), metav1.InitialEventsAnnotationKey)...)

// keptMeta returns the kept part of metav1.ObjectMeta. The argument specifies which labels are kept.
func keptMeta(labels *shed.Message) *shed.Message {
	return shed.Fields(parts{
		1:  shed.Whole, // name
		3:  shed.Whole, // namespace
		5:  shed.Whole, // uid
		6:  shed.Whole, // resourceVersion
		7:  shed.Whole, // generation
		8:  shed.Whole, // creationTimestamp
		9:  shed.Whole, // deletionTimestamp
		11: labels,
		12: keptAnnotations,
		13: shed.Whole, // ownerReferences
		14: shed.Whole, // finalizers
	})
}

// keptRequests keeps the requests of which usage consists.
var keptRequests = shed.Named(requestNames()...)

func requestNames() []string {
	names := []string{string(corev1.ResourceCPU), string(corev1.ResourceMemory)}
	for _, gpu := range lifecycle.GPUResources {
		names = append(names, string(gpu))
	}
	return names
}

// keptContainer specifies the kept part of corev1.Container.
var keptContainer = shed.Fields(parts{
	1: shed.Whole,                 // name
	2: shed.Whole,                 // image
	7: shed.Named(ServerVariable), // env
	8: shed.Fields(parts{ // resources
		1: shed.Named(string(corev1.ResourceMemory)), // limits
		2: keptRequests,
	}),
})

// keptInitContainer specifies the kept part of an init container.
var keptInitContainer = shed.Fields(parts{
	8:  shed.Fields(parts{2: keptRequests}), // resources: requests
	24: shed.Whole,                          // restartPolicy
})

// keptContainerStatus specifies the kept part of corev1.ContainerStatus.
var keptContainerStatus = shed.Fields(parts{
	1: shed.Whole, // name
	2: shed.Whole, // state
	3: shed.Whole, // lastState
	4: shed.Whole, // ready
	5: shed.Whole, // restartCount
	6: shed.Whole, // image
	7: shed.Whole, // imageID
	9: shed.Whole, // started
})

// keptPod and livePod specify the kept part of corev1.Pod: keptPod for the caches, and livePod for reads from the API
// server (KeptLive). Only livePod keeps the volume ConfVolume, which package apply reads to confirm a submission.
var keptPod, livePod = podWith(nil), podWith(shed.Named(ConfVolume))

func podWith(volumes *shed.Message) *shed.Message {
	return shed.Fields(parts{
		1: keptMeta(shed.Named(childLabels...)),
		2: shed.Fields(parts{ // spec
			1:  volumes,
			2:  keptContainer, // containers
			4:  shed.Whole,    // terminationGracePeriodSeconds
			8:  shed.Whole,    // serviceAccountName
			10: shed.Whole,    // nodeName
			19: shed.Whole,    // schedulerName
			20: keptInitContainer,
			32: keptRequests,                        // overhead
			38: shed.Whole,                          // schedulingGates
			40: shed.Fields(parts{2: keptRequests}), // resources: requests
		}),
		3: shed.Fields(parts{ // status
			1:  shed.Whole, // phase
			2:  shed.Whole, // conditions
			3:  shed.Whole, // message
			4:  shed.Whole, // reason
			6:  shed.Whole, // podIP
			7:  shed.Whole, // startTime
			8:  keptContainerStatus,
			10: keptContainerStatus, // initContainerStatuses
		}),
	})
}

// keptChild specifies the kept part of metav1.PartialObjectMetadata. It keeps all labels, because selectors of
// namespaces may use any label.
var keptChild = shed.Fields(parts{1: keptMeta(shed.Whole)})

// Kept specifies the kept part of each kind of dependents. In a list, field 1 is metav1.ListMeta and field 2 contains
// the items.
var Kept = shed.Kinds{
	"Pod":                       keptPod,
	"PodList":                   shed.Fields(parts{1: shed.Whole, 2: keptPod}),
	"PartialObjectMetadata":     keptChild,
	"PartialObjectMetadataList": shed.Fields(parts{1: shed.Whole, 2: keptChild}),
}

// KeptLive specifies the kept part of pods that are listed from the API server (dependents.Client.LivePods).
var KeptLive = shed.Kinds{"PodList": shed.Fields(parts{1: shed.Whole, 2: livePod})}
