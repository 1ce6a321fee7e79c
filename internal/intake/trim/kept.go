package trim

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/intake/transport"
)

// The messages below specify which part of incoming dependents is decoded. They contain the fields that Pod, Child and
// Metadata read, by the field numbers in Kubernetes' generated.proto. TestKeptIsWhatTrimReads checks the numbers.

// parts specifies the kept fields of a message: it maps the number of each kept field to the Message that specifies
// what is kept of its content.
type parts = map[protowire.Number]*transport.Message

// keptAnnotations keeps podAnnotations. It also keeps the annotation by which a watch marks the end of its initial
// events.
var keptAnnotations = transport.Named(append(slices.Clone(podAnnotations), metav1.InitialEventsAnnotationKey)...)

// keptMeta returns the kept part of metav1.ObjectMeta. The argument specifies which labels are kept.
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
		14: transport.Whole, // finalizers
	})
}

// keptContainer specifies the kept part of corev1.Container.
var keptContainer = transport.Fields(parts{
	1: transport.Whole,                                                            // name
	7: transport.Named(ServerVariable),                                            // env
	8: transport.Fields(parts{1: transport.Named(string(corev1.ResourceMemory))}), // resources: limits
})

// keptContainerStatus specifies the kept part of corev1.ContainerStatus.
var keptContainerStatus = transport.Fields(parts{
	1: transport.Whole, // name
	2: transport.Whole, // state
	3: transport.Whole, // lastState
	4: transport.Whole, // ready
	5: transport.Whole, // restartCount
	6: transport.Whole, // image
	9: transport.Whole, // started
})

// keptPod and livePod specify the kept part of corev1.Pod: keptPod for the caches, and livePod for reads from the API
// server (KeptLive). Only livePod keeps the volume ConfVolume, which package apply reads to confirm a submission.
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

// keptChild specifies the kept part of metav1.PartialObjectMetadata. It keeps all labels, because selectors of
// namespaces may use any label.
var keptChild = transport.Fields(parts{1: keptMeta(transport.Whole)})

// Kept specifies the kept part of each kind of dependents. In a list, field 1 is metav1.ListMeta and field 2 contains
// the items.
var Kept = transport.Kinds{
	"Pod":                       keptPod,
	"PodList":                   transport.Fields(parts{1: transport.Whole, 2: keptPod}),
	"PartialObjectMetadata":     keptChild,
	"PartialObjectMetadataList": transport.Fields(parts{1: transport.Whole, 2: keptChild}),
}

// KeptLive specifies the kept part of pods that are listed from the API server (dependents.Client.LivePods).
var KeptLive = transport.Kinds{"PodList": transport.Fields(parts{1: transport.Whole, 2: livePod})}
