package crd

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/schema"
)

// Apply implements resource.FieldShortcut. It knows the outcome of the apply that
// is most frequent by far: a manager applies the fields that it applied the last
// time, with other values, and nobody else has what it changes. Then no field is
// added, none goes, and nobody's fields change hands. The field manager takes
// longer over such an apply than all else together.
func (c *codec) Apply(current, configuration runtime.Object, manager string, now metav1.Time) (runtime.Object, func(runtime.Object)) {
	config, live := configuration.(*unstructured.Unstructured), current.(*unstructured.Unstructured)
	if config.GetAPIVersion() != c.kind.GroupVersion().String() {
		return nil, nil
	}
	shape, ok := c.shapeOf(config)
	if !ok {
		return nil, nil
	}
	shape = "applied" + shape
	if fields, ok := c.owned.of(shape); ok {
		if applied := c.applyAgain(live, config, fields, manager, now); applied != nil {
			return applied, nil
		}
		return nil, nil
	}
	return nil, func(applied runtime.Object) {
		entries := managedFieldsOf(applied.(*unstructured.Unstructured))
		if i := slices.IndexFunc(entries, c.isOf(manager)); i >= 0 {
			if fields, ok := entries[i].(map[string]any)["fieldsV1"].(map[string]any); ok {
				c.owned.learn(shape, fields)
			}
		}
	}
}

func managedFieldsOf(u *unstructured.Unstructured) []any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return entries
}

// isOf tells which entry of managedFields says what a manager has applied.
func (c *codec) isOf(manager string) func(any) bool {
	return func(entry any) bool {
		e, _ := entry.(map[string]any)
		return e["manager"] == manager && e["operation"] == "Apply" && e["apiVersion"] == c.kind.GroupVersion().String() && e["subresource"] == nil
	}
}

// applyAgain is what an apply of the given fields comes to if they are those that
// the manager applied the last time; nil if it cannot tell.
func (c *codec) applyAgain(live, config *unstructured.Unstructured, fields map[string]any, manager string, now metav1.Time) *unstructured.Unstructured {
	entries := managedFieldsOf(live)
	s := c.schemas[c.kind.Version]
	if len(entries) == 0 || !c.isOf(manager)(entries[0]) || s.outline == nil {
		return nil
	}
	// What kubectl applies it is also told of by an annotation, if there is one.
	if manager == "kubectl" && live.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		return nil
	}
	mine := entries[0].(map[string]any)
	if !json.Equal(mine["fieldsV1"], fields) {
		return nil
	}
	r := &reapply{}
	for _, entry := range entries[1:] {
		e, _ := entry.(map[string]any)
		others, ok := e["fieldsV1"].(map[string]any)
		if !ok || e["operation"] != "Update" || e["apiVersion"] != mine["apiVersion"] || !s.outline.owns(others) {
			return nil
		}
		r.others = append(r.others, others)
	}
	applied := r.object(live.Object, config.Object, s.outline)
	if applied == nil || !s.node.Inspect(applied, schema.Valid).Has(schema.Valid) {
		return nil
	}
	u := &unstructured.Unstructured{Object: applied}
	c.setDefaults(u)
	if r.changed {
		entries = slices.Clone(entries)
		mine = maps.Clone(mine)
		mine["time"] = now.UTC().Format("2006-01-02T15:04:05Z")
		entries[0] = mine
	}
	applied["metadata"].(map[string]any)["managedFields"] = entries
	return u
}

// reapply merges a configuration into an object that has all its fields.
type reapply struct {
	others  []map[string]any // what others own, as in fieldsV1
	changed bool
}

// object is a copy of the live object with the configuration merged into it; nil
// if it is not as simple as that.
func (r *reapply) object(live, config map[string]any, o *outline) map[string]any {
	metadata, _ := config["metadata"].(map[string]any)
	liveMetadata, _ := live["metadata"].(map[string]any)
	merged := maps.Clone(liveMetadata)
	for key, value := range metadata {
		switch key {
		case "name", "namespace":
			if value != liveMetadata[key] {
				return nil
			}
		case "labels", "annotations":
			was, _ := liveMetadata[key].(map[string]any)
			is, ok := value.(map[string]any)
			if !ok {
				return nil
			}
			inner := r.merge(was, is, texts, "metadata", key)
			if inner == nil {
				return nil
			}
			merged[key] = inner
		default:
			return nil
		}
	}
	rest := maps.Clone(config)
	for _, key := range []string{"apiVersion", "kind"} {
		if rest[key] != live[key] {
			return nil
		}
		delete(rest, key)
	}
	delete(rest, "metadata")
	if _, ok := rest["status"]; ok {
		return nil
	}
	liveRest := maps.Clone(live)
	delete(liveRest, "metadata")
	applied := r.merge(liveRest, rest, o)
	if applied != nil {
		applied["metadata"] = runtime.DeepCopyJSON(withoutManagedFields(merged))
	}
	return applied
}

func withoutManagedFields(metadata map[string]any) map[string]any {
	m := maps.Clone(metadata)
	delete(m, "managedFields")
	return m
}

// texts is the outline of labels and annotations.
var texts = &outline{additional: &outline{}}

// merge is a copy of a map with another merged into it, which is at a path of the
// object; nil if it is not as simple as that.
func (r *reapply) merge(live, config map[string]any, o *outline, path ...string) map[string]any {
	if live == nil || o.opaque || o.preserve {
		return nil
	}
	merged := make(map[string]any, len(live))
	for key, was := range live {
		is, ok := config[key]
		if !ok {
			merged[key] = runtime.DeepCopyJSONValue(was)
			continue
		}
		of := o.of(key)
		if of == nil || is == nil {
			return nil
		}
		isMap, isGranular := is.(map[string]any)
		if isGranular && !of.atomic {
			wasMap, _ := was.(map[string]any)
			inner := r.merge(wasMap, isMap, of, append(path, key)...)
			if inner == nil {
				return nil
			}
			merged[key] = inner
			continue
		}
		if reflect.TypeOf(is) != reflect.TypeOf(was) {
			return nil
		}
		merged[key] = runtime.DeepCopyJSONValue(is)
		if !json.Equal(is, was) {
			if r.isOthers(append(path, key)) {
				return nil
			}
			r.changed = true
		}
	}
	for key := range config {
		if _, ok := live[key]; !ok {
			return nil
		}
	}
	return merged
}

// isOthers tells whether somebody else owns the field at a path.
func (r *reapply) isOthers(path []string) bool {
	for _, fields := range r.others {
		owned := true
		for _, name := range path {
			if fields, owned = fields["f:"+name].(map[string]any); !owned {
				break
			}
		}
		if owned {
			return true
		}
	}
	return false
}

// of is the outline of a field; nil if the schema does not know it.
func (o *outline) of(name string) *outline {
	if of, ok := o.properties[name]; ok {
		return of
	}
	return o.additional
}

// owns tells whether fields, as in fieldsV1, are such as the schema makes them: a
// schema that changes can make others of them. Metadata has one schema for ever.
func (o *outline) owns(fields map[string]any) bool {
	for name, below := range fields {
		if name == "f:metadata" {
			continue
		}
		if !o.ownsField(name, below) {
			return false
		}
	}
	return true
}

func (o *outline) ownsField(name string, below any) bool {
	fields, ok := below.(map[string]any)
	if name == "." {
		return ok && len(fields) == 0
	}
	if !ok || len(name) < 2 || name[:2] != "f:" {
		return false
	}
	of := o.of(name[2:])
	if of == nil || of.opaque || of.preserve || of.lists {
		return false
	}
	granular := !of.atomic && (of.properties != nil || of.additional != nil)
	if granular != (len(fields) > 0) {
		return false
	}
	for name, below := range fields {
		if !of.ownsField(name, below) {
			return false
		}
	}
	return true
}
