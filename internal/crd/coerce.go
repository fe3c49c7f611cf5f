package crd

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// requiredFacts are the facts of an object that a write needs.
const requiredFacts = schema.Valid | schema.Distinct | schema.EmbeddedValid | schema.Complete | schema.Pruned

// coerceOptions configure coerce.
type coerceOptions struct {
	stored        bool // drop malformed metadata instead of rejecting it
	reportUnknown bool // return the paths of dropped fields
	setDefaults   bool // fill in the defaults, as setDefaults would afterwards

	ask       schema.Facts   // the facts to find
	like      map[string]any // see schema.Walk
	likeFacts schema.Parts
}

// coerced is the result of coerce.
type coerced struct {
	// Unknown are the paths of the dropped fields, with reportUnknown.
	Unknown []string
	// Parts are the requested facts about the object in the codec's version.
	schema.Parts
}

// coerce does for maps what decoding to a Go type does for built-in kinds: it checks and prunes metadata, and drops
// unknown fields and forbidden nulls.
func (c *codec) coerce(u *unstructured.Unstructured, o coerceOptions) (coerced, error) {
	kind, hasKind, err := unstructured.NestedString(u.Object, "kind")
	if err != nil {
		return coerced{}, err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(u.Object, "apiVersion")
	if err != nil {
		return coerced{}, err
	}
	var found coerced
	var rewritten *metav1.ObjectMeta // if the metadata must be replaced
	hasMetadata := false
	asIs, _ := u.Object["metadata"].(map[string]any)
	canonical := hasCanonicalMetadata(u, o.stored)
	if !canonical {
		rewritten, hasMetadata, found.Unknown, err = objectmeta.GetObjectMetaWithOptions(u.Object, objectmeta.ObjectMetaOptions{
			DropMalformedFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown,
		})
		if err != nil {
			return coerced{}, err
		}
	}
	version, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil {
		return coerced{}, err
	}
	var defaults *schema.Node // fill in at the end
	if version.Group == c.kind.Group && kind == c.kind.Kind {
		s := c.schemas[version.Version]
		if s == nil {
			s = noSchema
		}
		normalized, complete, err := c.normalize(u, s, o)
		if err != nil {
			return coerced{}, err
		}
		found.Unknown = append(found.Unknown, normalized.Unknown...)
		switch {
		case !complete && o.setDefaults:
			defaults = s.node
		case complete && version.Version == c.kind.Version:
			found.Parts = normalized.Parts
		}
		if o.stored && rewritten != nil && rewritten.Generation == 0 {
			rewritten.Generation = 1
		}
	}
	// Pruning may have dropped these fields, because the schema need not have them.
	if hasKind {
		u.SetKind(kind)
	}
	if hasVersion {
		u.SetAPIVersion(apiVersion)
	}
	if canonical {
		u.Object["metadata"] = asIs
	} else if hasMetadata {
		if err := objectmeta.SetObjectMeta(u.Object, rewritten); err != nil {
			return coerced{}, err
		}
	}
	if defaults != nil {
		if err := defaults.Normalize(u.Object, schema.Walk{Do: schema.Default}).Err(); err != nil {
			return coerced{}, err
		}
	}
	return found, nil
}

// hasCanonicalMetadata reports whether coerce would not change the metadata.
func hasCanonicalMetadata(u *unstructured.Unstructured, stored bool) bool {
	m, ok := u.Object["metadata"].(map[string]any)
	return ok && metadata.IsCanonical(m) && (!stored || m["generation"] != nil)
}

// readBack changes an object, in the version of the codec, as reading it from the store would. It reports whether it has
// changed anything, which is rare. As on a real server, it prunes before and after defaulting, because a default may
// contain nulls. The object may share parts with others.
func (c *codec) readBack(u *unstructured.Unstructured, verified schema.Parts) (changed bool, err error) {
	if c.readsAsItIs(u, verified) {
		return false, nil
	}
	before := u.Object
	u.Object = runtime.DeepCopyJSON(u.Object)
	if _, err := c.coerce(u, coerceOptions{stored: true, setDefaults: true}); err != nil {
		return true, err
	}
	if _, err := c.coerce(u, coerceOptions{}); err != nil {
		return true, err
	}
	return !json.Equal(before, u.Object), nil
}

// readsAsItIs is a fast check that readBack would change nothing. It may return false for such an object.
func (c *codec) readsAsItIs(u *unstructured.Unstructured, verified schema.Parts) bool {
	if !hasCanonicalMetadata(u, true) || u.GroupVersionKind() != c.kind {
		return false
	}
	s, normal := c.schemas[c.kind.Version], schema.Complete|schema.Pruned
	if c.preserve {
		normal = schema.Complete
	}
	return s.node.Normalize(u.Object, schema.Walk{Check: normal, Verified: verified}).Has(normal) && s.hasCanonicalResources(u.Object)
}

// hasCanonicalResources reports whether coerce would not change the metadata of embedded resources.
func (s *compiledSchema) hasCanonicalResources(obj map[string]any) bool {
	return !s.node.HasEmbedded() || s.node.Inspect(obj, schema.EmbeddedCanonical).Has(schema.EmbeddedCanonical)
}

// noSchema is the schema for versions that the definition does not have: every field is unknown.
var noSchema = &compiledSchema{node: schema.Compile(nil, nil)}

// normalize drops unknown fields, and makes the metadata of embedded resources canonical. If no later step can affect
// defaults, it fills them in on the same walk and returns complete: the facts that it has found are then final.
func (c *codec) normalize(u *unstructured.Unstructured, s *compiledSchema, o coerceOptions) (found schema.Result, complete bool, err error) {
	walk := schema.Walk{Check: o.ask, TrackUnknown: o.reportUnknown, Like: o.like, LikeVerified: o.likeFacts}
	if !c.preserve {
		walk.Do = schema.Prune | schema.DropNulls
	}
	asTheyAre := s.hasCanonicalResources(u.Object)
	if !asTheyAre { // CoerceWithOptions rewrites them in place
		if o.like != nil {
			u.Object = runtime.DeepCopyJSON(u.Object)
		}
		walk.Like, walk.Check = nil, 0
	}
	if complete = o.setDefaults && asTheyAre && s.node.Additional == nil && !s.node.Properties["metadata"].HasDefaults(); complete {
		walk.Do |= schema.Default
	}
	found = s.node.Normalize(u.Object, walk)
	if err := found.Err(); err != nil {
		return found, false, err
	}
	if asTheyAre {
		return found, complete, nil
	}
	invalid, embedded := objectmeta.CoerceWithOptions(nil, u.Object, s.structural, false,
		objectmeta.CoerceOptions{DropInvalidFields: o.stored, ReturnUnknownFieldPaths: o.reportUnknown})
	if invalid != nil {
		return found, false, invalid
	}
	found.Unknown = append(found.Unknown, embedded...)
	return found, false, nil
}
