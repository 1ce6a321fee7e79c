// Package connect is the dialect of SparkConnects of sparkoperator.k8s.io: it reads one into the terms of lifecycle/connect and spark/connect, and
// writes the decision back into its status. It is pure.
package connect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	machine "github.com/sparkoperator/spark-operator/lifecycle/connect"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// LabelConnectName names, on everything of a server, its SparkConnect.
const LabelConnectName = "sparkoperator.k8s.io/connect-name"

// Options is what the operator's configuration gives every Spark Connect server. The zero value of a field means what it says.
type Options struct {
	// Master is the API server as servers reach it; empty means DefaultMaster.
	Master string
	// MissingGrace is how long a server's pod that was just created may be invisible before it is looked for live.
	MissingGrace time.Duration
	// Policy is whether a server has a NetworkPolicy, and from where its clients may come then.
	Policy Policy
	// UI is how the servers' web UIs may be reached. With UI.Service each has a Service in the cluster; without, only one whose spec asks for an Ingress
	// or a route. The Service for clients is there whatever UI.Service says.
	UI sparkoperator.UI
	// Own is the operator's service account, which no pod of a server may have.
	Own dialect.ServiceAccount
}

// Policy says whether servers have a NetworkPolicy. Any closes the ports for executors to everybody else.
type Policy string

// Values of Policy. The empty one makes none.
const (
	ClientsAnywhere  Policy = "Anywhere"
	ClientsNamespace Policy = "Namespace"
)

// Connects decides about and renders SparkConnects. It is pure: its methods read nothing but their arguments.
type Connects struct{ Options }

// Decide reads the SparkConnect, lets the machine decide, and writes what follows into its status, in memory. One that is being deleted keeps the
// status that it has.
func (c Connects) Decide(sc *v1alpha1.SparkConnect, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	wanted, memory := c.app(sc), decodeConnect(&sc.Status)
	if sc.OutOfBounds != "" {
		wanted = dialect.Unread(wanted, sc.OutOfBounds, true, memory)
	}
	unread := sc.Status.Operator == nil || sc.Status.ObservedGeneration != sc.Generation
	taken := sc.Status.Operator == nil && sc.Status.State != v1alpha1.SparkConnectStateNew && len(seen.Drivers) > 0
	// What is over for good is over because of the spec, or of the operator's configuration, which may be another by now.
	if dialect.MayLaunch(wanted, memory, seen) || memory.Phase.Terminal() && !wanted.Deleting && !wanted.Suspend {
		wanted.Invalid = c.invalid(sc)
	}
	if wanted.Invalid != nil {
		wanted.MinExecutors = 0 // how many a server wants that goes on is not known: it is not of this spec
	}
	plan := machine.Step(wanted, memory, seen, now)
	if wanted.Deleting {
		return plan
	}
	if taken {
		plan.Tell = append([]lifecycle.Notice{serverTakenOver(sc)}, plan.Tell...)
	}
	stampChange(sc, now, func() {
		if unread {
			plan.Tell = append(plan.Tell, c.serviceWarnings(sc)...)
		}
		plan.Tell = append(plan.Tell, c.encodeService(sc, now)...)
		plan.Tell = append(plan.Tell, encodeConnect(sc, plan, seen)...)
		plan.Tell = append(plan.Tell, encodeConnectConditions(sc, plan.Next, seen.Weather, outlived(wanted, plan.Next), now)...)
	})
	return plan
}

// outlived is what is wrong with an edited spec beside which the server of the one before goes on; nil where there is none.
func outlived(wanted lifecycle.App, m lifecycle.Memory) *lifecycle.Cause {
	if m.Phase.Live() && lifecycle.Edited(m.SpecHash, wanted.SpecHash) {
		return wanted.Invalid
	}
	return nil
}

// app reads what the SparkConnect asks for, but for whether that can be: Decide asks when it matters.
func (c Connects) app(sc *v1alpha1.SparkConnect) lifecycle.App {
	return lifecycle.App{
		UID:          string(sc.UID),
		SpecHash:     Hash(&sc.Spec),
		Deleting:     sc.DeletionTimestamp != nil,
		Orphan:       slices.Contains(sc.Finalizers, metav1.FinalizerOrphanDependents),
		Suspend:      sc.Spec.Suspend != nil && *sc.Spec.Suspend,
		MinExecutors: connectExecutors(&sc.Spec),
		MissingGrace: c.MissingGrace,
	}
}

// invalid is what keeps the spec from ever making a server, or that server from making executors, about which it would say nothing on any pod; nil
// where nothing does. It depends on neither the attempt nor the time.
func (c Connects) invalid(sc *v1alpha1.SparkConnect) *lifecycle.Cause {
	if invalid := dialect.Invalid(ValidateConnect(sc)); invalid != nil {
		return invalid
	}
	_, err := c.build(sc, c.request(sc, 1))
	if err == nil {
		_, err = c.Executor(sc, 1, 1, "", time.Time{})
	}
	if err != nil {
		return &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return nil
}

// connectHashVersion is the version of Hash's algorithm; see hashVersion.
const connectHashVersion = 1

// Hash names what a server is made from: the spec less the fields that may change beside a server that goes on (suspend, ui, server.service). Two
// ways to write the same have one hash, since tools write differently what nobody means differently: an empty template and none, the creationTimestamp of
// typed clients, 1000m and 1, an empty field and none, and a dynamicAllocation that is off and none.
func Hash(spec *v1alpha1.SparkConnectSpec) string {
	s := *spec
	s.Suspend, s.UI, s.Server.Service = nil, nil, nil
	s.Server.Template, s.Executor.Template = plainTemplate(s.Server.Template), plainTemplate(s.Executor.Template)
	for _, text := range []**string{&s.Image, &s.Server.Memory, &s.Executor.Memory} {
		if sparkoperator.Value(*text) == "" {
			*text = nil
		}
	}
	if s.DynamicAllocation != nil && !s.DynamicAllocation.Enabled {
		s.DynamicAllocation = nil // as it is rendered
	}
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(err.Error()) // a template that holds no JSON, which no API server stores
	}
	sum := sha256.Sum256(text)
	return strconv.Itoa(connectHashVersion) + ":" + hex.EncodeToString(sum[:12])
}

// plainTemplate is a template less what is not its to say, each value in one spelling; nil where nothing is left. One that cannot be read is as it is.
func plainTemplate(template *runtime.RawExtension) *runtime.RawExtension {
	read, err := podtemplate.Read(sparkoperator.Raw(template))
	if err != nil {
		return template
	}
	tree, err := podtemplate.Tree(read.Pod)
	if err != nil {
		return template
	}
	podtemplate.Graft(tree, runtime.DeepCopyJSON(read.Extra), func(string) {})
	if read.Pod.Spec.Containers == nil {
		if spec, ok := tree["spec"].(map[string]any); ok {
			delete(spec, "containers") // which the type writes always
			if len(spec) == 0 {
				delete(tree, "spec")
			}
		}
	}
	if len(tree) == 0 {
		return nil
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return template
	}
	return &runtime.RawExtension{Raw: text}
}

// Render returns the objects of a Create action: the ConfigMap, and the Secret where there is one, in Objects.Before and the server's pod as Objects.Driver. An error is a *FieldError that
// names what the user wrote.
func (c Connects) Render(sc *v1alpha1.SparkConnect, action lifecycle.Action, _ time.Time) (submit.Objects, error) {
	if action.Verb != lifecycle.Create || action.Part != lifecycle.Submission {
		return submit.Objects{}, fmt.Errorf("nothing is rendered for %v", action)
	}
	request := c.request(sc, action.Attempt)
	request.Annotations = map[string]string{lifecycle.SpecHashAnnotation: Hash(&sc.Spec)}
	made, err := c.build(sc, request)
	if err != nil {
		return submit.Objects{}, err
	}
	before := []submit.Object{made.Config}
	if made.Secret != nil {
		before = append(before, made.Secret)
	}
	return submit.Objects{
		Before: before, Driver: made.Server, DriverExtra: made.ServerExtra,
		Warnings: append(connectWarnings(&sc.Spec), inConnectFields(&sc.Spec, made.Warnings)...),
	}, nil
}

func (c Connects) build(sc *v1alpha1.SparkConnect, request connect.Request) (connect.Objects, error) {
	made, err := connect.Build(request)
	if err != nil {
		return connect.Objects{}, asConnectError(sc, err)
	}
	return made, c.Own.Denies("spec.server.template.spec.serviceAccountName", sc.Namespace, &made.Server.Spec)
}

// Executor returns the pod that the server of an attempt, of the UID given, would ask the API server for as the executor of an id, as far as that is
// known without the server (connect.Executor). Nobody creates it.
func (c Connects) Executor(sc *v1alpha1.SparkConnect, attempt int32, id int, server types.UID, _ time.Time) (*corev1.Pod, error) {
	pod, err := connect.Executor(c.request(sc, attempt), id, server)
	if err != nil {
		return nil, asConnectError(sc, err)
	}
	return pod, c.Own.Denies("spec.executor.template.spec.serviceAccountName", sc.Namespace, &pod.Spec)
}

// asConnectError names the field of the SparkConnect that a rendering was refused for.
func asConnectError(sc *v1alpha1.SparkConnect, err error) error {
	refused, ok := errors.AsType[*submit.Error](err)
	if !ok {
		return &sparkoperator.FieldError{Field: "spec", Message: err.Error()}
	}
	field := connectFields[refused.Field]
	if refused.Key != "" {
		field = connectKeyField(&sc.Spec, refused.Key)
	}
	if field == "" {
		field = "spec"
	}
	return &sparkoperator.FieldError{Field: field, Message: refused.Message}
}
