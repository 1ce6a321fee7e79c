package apianswer

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Unblocking is a client that creates objects also for owners whose kind the API server does not know yet.
//
// The admission plugin OwnerReferencesPermissionEnforcement looks up the kinds of owners with blockOwnerDeletion, and
// learns a new CustomResourceDefinition only after up to half a minute. Without this client, the first application
// after an installation would wait that long. blockOwnerDeletion delays only the deletion of the owner, and only if
// somebody deletes it in the foreground, so such an object is created without it.
type Unblocking struct {
	client.Client
}

// Create creates an object. If the API server does not know the kind of its owner, Create tries once more without
// blockOwnerDeletion, and changes the object accordingly.
func (u Unblocking) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	err := u.Client.Create(ctx, object, options...)
	if !UnknownOwnerKind(err) {
		return err
	}

	owners := slices.Clone(object.GetOwnerReferences())
	for i := range owners {
		owners[i].BlockOwnerDeletion = nil
	}

	object.SetOwnerReferences(owners)
	return u.Client.Create(ctx, object, options...)
}
