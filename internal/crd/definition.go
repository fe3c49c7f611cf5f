package crd

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Definitions returns the resource of CustomResourceDefinitions: v1 and, with legacyAPIs, v1beta1.
func Definitions(legacyAPIs bool) *resource.Resource {
	r := &resource.Resource{
		Group: kind.Group,
		Names: resource.Names{
			Plural: "customresourcedefinitions", Singular: "customresourcedefinition",
			ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
			Kind: kind.Kind, ListKind: kind.Kind + "List",
		},
		Verbs:  []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		Prefix: DefinitionsPrefix, StoredUnder: "apiextensions.k8s.io/customresourcedefinitions",

		BriefKinds: true,
		// Real servers show the hash of v1beta1, whatever they store.
		StorageVersionHash: "jfWCUB31mvA=",
	}
	strategy := definitionStrategy{Scheme(), names.SimpleNameGenerator}
	r.Storage = definitionVersion(r, kind, strategy)
	r.Versions = []*resource.Version{r.Storage}
	if legacyAPIs {
		legacy := definitionVersion(r, legacyKind, legacyStrategy{strategy})
		legacy.Priority.Version = 9
		legacy.Warnings, legacy.RemovedRelease = []string{legacyWarning}, "1.22"
		r.Versions = append(r.Versions, legacy)
	}
	return r
}

// definitionVersion returns a version of the resource of definitions.
func definitionVersion(r *resource.Resource, kind schema.GroupVersionKind, strategy resource.Strategy) *resource.Version {
	codec := &definitionCodec{resource.NewTypedCodec(Scheme(), kind, hub, kind.Group, nil), kind}
	v := &resource.Version{
		Resource: r, Name: kind.Version, Served: true, Priority: resource.Priority{Group: 16700, Version: 15}, Typed: true, Identity: kind.Version,
		Codec:      codec,
		Serializer: codec.Serializer(),
		Strategy:   strategy,
		Tables:     resource.Tables{Convertor: tableconvertor.New(), NullRows: true},
		Patches:    resource.Patches{StrategicMerge: codec.StrategicMerge},
		// The server's own finalizer is there as long as the objects are.
		ContentFirst: &resource.ContentFirst{Begin: beginDeletion, Remains: func(runtime.Object) bool { return false }, Mismatch: "precondition failed"},
		Subresource: map[string]*resource.Subresource{
			"status": {
				Strategy: definitionStatus{definitionStrategy{Scheme(), names.SimpleNameGenerator}}, Verbs: []string{"get", "patch", "update"},
				FieldManager: newDefinitionFields(kind, "status", "spec"),
				NoTable:      true,
			},
		},
		FieldManager: newDefinitionFields(kind, "", "status"),
		Types:        definitionTypes().Converter,
	}
	v.OpenAPI = &resource.OpenAPI{Server: openAPIServer, Schemas: sync.OnceValues(func() (map[string]*spec.Schema, error) {
		return resource.Reachable(Scheme(), openAPIDefinitions(), []schema.GroupVersionKind{kind})
	})}
	return v
}

// openAPIServer describes definitions. It is merged after the servers of the built-in kinds.
var openAPIServer = &resource.OpenAPIServer{Scheme: Scheme, Order: 2, Definitions: true}

// DefinitionsPrefix is the prefix of the store keys of definitions; the name follows.
const DefinitionsPrefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

// definitionStrategy is the behaviour of apiextensions-apiserver's
// pkg/registry/customresourcedefinition.
type definitionStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

func (definitionStrategy) NamespaceScoped() bool { return false }

func (definitionStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	crd.Status = apiextensions.CustomResourceDefinitionStatus{}
	crd.Generation = 1
	recordStorageVersion(crd)
}

func (definitionStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	crd, former := obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition)
	crd.Status = *former.Status.DeepCopy()
	if !equality.Semantic.DeepEqual(crd.Spec, former.Spec) {
		crd.Generation = former.Generation + 1
	}
	recordStorageVersion(crd)
}

// recordStorageVersion adds the storage version to status.storedVersions.
func recordStorageVersion(crd *apiextensions.CustomResourceDefinition) {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i >= 0 && !apiextensions.IsStoredVersion(crd, crd.Spec.Versions[i].Name) {
		crd.Status.StoredVersions = append(crd.Status.StoredVersions, crd.Spec.Versions[i].Name)
	}
}

func (definitionStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	ctx = context.WithoutCancel(ctx) // others may wait for the result
	crd := obj.(*apiextensions.CustomResourceDefinition)
	validate := func() field.ErrorList {
		readable, errs := withReadableSelections(crd)
		return append(errs, validation.ValidateCustomResourceDefinition(ctx, readable)...)
	}
	if shared := sharedSpecOf(&crd.Spec); shared != nil {
		return shared.validate(crd, nil, validate)
	}
	return validate()
}

func (definitionStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	ctx = context.WithoutCancel(ctx) // others may wait for the result
	crd, former := obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition)
	validate := func() field.ErrorList {
		readable, errs := withReadableSelections(crd)
		return append(errs, validation.ValidateCustomResourceDefinitionUpdate(ctx, readable, former)...)
	}
	if shared := sharedSpecOf(&crd.Spec); shared != nil {
		return shared.validate(crd, former, validate)
	}
	return validate()
}

func (definitionStrategy) Canonicalize(runtime.Object)                   {}
func (definitionStrategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (definitionStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (definitionStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	spec := &obj.(*apiextensions.CustomResourceDefinition).Spec
	if shared := sharedSpecOf(spec); shared != nil {
		return shared.warnings()
	}
	return append(formatWarnings(spec), setWarnings(spec)...)
}

// WarningsOnUpdate leaves out warnings about the old definition.
func (definitionStrategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	spec, former := &obj.(*apiextensions.CustomResourceDefinition).Spec, &old.(*apiextensions.CustomResourceDefinition).Spec
	before := append(formatWarnings(former), setWarnings(former)...)
	return slices.DeleteFunc(append(formatWarnings(spec), setWarnings(spec)...), func(w string) bool {
		return slices.Contains(before, w)
	})
}

// formatWarnings returns a warning for each unknown format.
func formatWarnings(crd *apiextensions.CustomResourceDefinitionSpec) []string {
	var warnings []string
	compatibility := environment.DefaultCompatibilityVersion()
	eachSchema(crd, func(s *apiextensions.JSONSchemaProps) {
		if s.Format == "" {
			return
		}
		node := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
		for _, format := range apiservervalidation.GetUnrecognizedFormats(node, compatibility) {
			warnings = append(warnings, fmt.Sprintf("unrecognized format %q", format))
		}
	})
	return warnings
}

// setWarnings returns a warning for each item type that a set should not have, sorted.
func setWarnings(spec *apiextensions.CustomResourceDefinitionSpec) []string {
	var warnings []string
	eachSchema(spec, func(s *apiextensions.JSONSchemaProps) {
		if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
			return
		}
		if t := s.Items.Schema.Type; t == "object" || t == "array" {
			warnings = append(warnings, fmt.Sprintf(
				"x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", t))
		}
	})
	slices.Sort(warnings)
	return slices.Compact(warnings)
}

// eachSchema visits every node of every schema of a definition.
func eachSchema(spec *apiextensions.CustomResourceDefinitionSpec, visit func(*apiextensions.JSONSchemaProps)) {
	each := func(s *apiextensions.CustomResourceValidation) {
		if s != nil && s.OpenAPIV3Schema != nil {
			validation.SchemaHas(s.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) bool {
				visit(s)
				return false
			})
		}
	}
	each(spec.Validation)
	for i := range spec.Versions {
		each(spec.Versions[i].Schema)
	}
}

// beginDeletion implements resource.ContentFirst.Begin: it adds the server's own finalizer, which keeps the definition
// until its objects are deleted.
func beginDeletion(obj runtime.Object, now metav1.Time) {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	if crd.DeletionTimestamp == nil {
		crd.DeletionTimestamp = &now
	}
	if !apiextensions.CRDHasFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer) {
		crd.Finalizers = append(crd.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	SetCondition(crd, now, apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionTrue,
		Reason:  "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
}

// definitionStatus is the strategy of /status.
type definitionStatus struct{ definitionStrategy }

func (definitionStatus) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*apiextensions.CustomResourceDefinition).Spec = old.(*apiextensions.CustomResourceDefinition).Spec
}

func (definitionStatus) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateUpdateCustomResourceDefinitionStatus(ctx,
		obj.(*apiextensions.CustomResourceDefinition), old.(*apiextensions.CustomResourceDefinition))
}

func (definitionStatus) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
