package crd

import (
	"context"
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	registryrest "k8s.io/apiserver/pkg/registry/rest"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// customStatus is the strategy of the status subresource.
type customStatus struct{ customStrategy }

// inform returns the strategy for one write.
func (s customStatus) inform(informed resource.Informed) registryrest.RESTUpdateStrategy {
	s.informed = &informed
	return s
}

// PrepareForUpdate takes the status and the managedFields from the request, and everything else from the old object. The
// object shares the rest with the old one: later stages set fields of its metadata, and do not alter their values.
func (s customStatus) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	u, former := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	sent, sentMetadata := u.Object, metadataOf(u)
	u.Object = maps.Clone(former.Object)
	if m := maps.Clone(metadataOf(former)); m != nil {
		u.Object["metadata"] = m
		take(m, sentMetadata, "managedFields")
	}
	take(u.Object, sent, "status")
	if s.informed != nil {
		s.informed.Facts.Rest = s.informed.Former.Rest
		s.informed.ValidMetadata = false
	}
}

// take copies a field of from to to, or deletes it if from does not have it.
func take(to, from map[string]any, field string) {
	if value, ok := from[field]; ok {
		to[field] = value
	} else {
		delete(to, field)
	}
}

func metadataOf(u *unstructured.Unstructured) map[string]any {
	m, _ := u.Object["metadata"].(map[string]any)
	return m
}

// ValidateUpdate validates the status by its schema, and the CEL rules and list types of
// the whole object.
func (s customStatus) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	u, former := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	found := s.facts(u, former)
	facts := found.Facts &^ schema.Valid
	status, ok := u.Object["status"] // the schema validates nothing else
	if !ok || found.Parts.Status.Has(schema.Valid) || s.schema.statusNode.Inspect(status, schema.Valid).Has(schema.Valid) {
		facts |= schema.Valid
	}
	var ratchet *common.CorrelatedObject
	if !facts.Has(schema.Valid) {
		ratchet = s.correlate(u, former)
	}
	errs := s.validateType(u)
	if len(errs) == 0 {
		if !s.MetadataIsValid(u, former) {
			errs = append(errs, s.validateMetadataUpdate(ctx, u, former)...)
		}
		if !facts.Has(schema.Valid) {
			errs = append(errs, validation.ValidateCustomResourceUpdate(field.NewPath("status"), status, former.Object["status"], s.schema.status(), s.ratcheting(ratchet, "status")...)...)
		}
		errs = append(errs, s.validateScale(u, false)...)
	}
	errs = append(errs, s.validateListsUpdate(u, former, facts)...)
	return append(errs, s.validateRules(ctx, errs, u, former, ratchet)...)
}

func (customStatus) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
