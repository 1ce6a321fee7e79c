package trim

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/transport"
)

// What is decoded of children that come in: what Pod, Child and Metadata read, by the numbers of fields in Kubernetes' generated.proto. TestKeptIsWhatTrimReads holds it
// to these.

// parts are the parts of a message that are kept.
type parts = map[protowire.Number]*transport.Message

// keptAnnotations are podAnnotations, and what marks the end of what there is when a watch begins.
var keptAnnotations = transport.Named(append(slices.Clone(podAnnotations), metav1.InitialEventsAnnotationKey)...)

// keptMeta is metav1.ObjectMeta, with some of its labels.
func keptMeta(labels *transport.Message) *transport.Message {
	return transport.Fields(parts{
		1:  transport.Whole, // name
		3:  transport.Whole, // namespace
		5:  transport.Whole, // uid
		6:  transport.Whole, // resourceVersion
		7:  transport.Whole, // generation
		8:  transport.Whole, // creationTimestamp
		9:  transport.Whole, // deletionTimestamp
		11: labels,
		12: keptAnnotations,
		13: transport.Whole, // ownerReferences
	})
}

// keptContainer is corev1.Container.
var keptContainer = transport.Fields(parts{
	1: transport.Whole,                 // name
	7: transport.Named(ServerVariable), // env
})

// keptContainerStatus is corev1.ContainerStatus.
var keptContainerStatus = transport.Fields(parts{
	1: transport.Whole, // name
	2: transport.Whole, // state
	3: transport.Whole, // lastState
	4: transport.Whole, // ready
	5: transport.Whole, // restartCount
	6: transport.Whole, // image
	9: transport.Whole, // started
})

// keptPod is corev1.Pod, and livePod the same with the volume that confirm looks for.
var keptPod, livePod = podWith(nil), podWith(transport.Named(ConfVolume))

func podWith(volumes *transport.Message) *transport.Message {
	return transport.Fields(parts{
		1: keptMeta(transport.Named(childLabels...)),
		2: transport.Fields(parts{ // spec
			1:  volumes,
			2:  keptContainer,   // containers
			4:  transport.Whole, // terminationGracePeriodSeconds
			8:  transport.Whole, // serviceAccountName
			10: transport.Whole, // nodeName
			19: transport.Whole, // schedulerName
			38: transport.Whole, // schedulingGates
		}),
		3: transport.Fields(parts{ // status
			1:  transport.Whole, // phase
			2:  transport.Whole, // conditions
			3:  transport.Whole, // message
			4:  transport.Whole, // reason
			6:  transport.Whole, // podIP
			7:  transport.Whole, // startTime
			8:  keptContainerStatus,
			10: keptContainerStatus, // initContainerStatuses
		}),
	})
}

// keptChild is metav1.PartialObjectMetadata, of a namespace too: those are selected by any label.
var keptChild = transport.Fields(parts{1: keptMeta(transport.Whole)})

// Kept is what is kept of children, by the names of their kinds. metav1.ListMeta is field 1 of a list, the items field 2.
var Kept = transport.Kinds{
	"Pod":                       keptPod,
	"PodList":                   transport.Fields(parts{1: transport.Whole, 2: keptPod}),
	"PartialObjectMetadata":     keptChild,
	"PartialObjectMetadataList": transport.Fields(parts{1: transport.Whole, 2: keptChild}),
}

// KeptLive is what is kept of pods that are listed live (livePods).
var KeptLive = transport.Kinds{"PodList": transport.Fields(parts{1: transport.Whole, 2: livePod})}
