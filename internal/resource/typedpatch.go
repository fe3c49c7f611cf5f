package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fakecluster/fakecluster/internal/typed"
)

// Patches returns the patches of a kind with Go types.
func (c *TypedCodec) Patches() Patches {
	return Patches{StrategicMerge: c.StrategicMerge, Merge: c.MergePatch}
}

// MergePatch is Patches.Merge for Go types. Its error only says that it declines; the slow
// way words the answer.
func (c *TypedCodec) MergePatch(current Decoded, patch map[string]any, _ bool) (Decoded, error) {
	obj, err := c.versioned(current.Object.DeepCopyObject())
	if err != nil {
		return Decoded{}, err
	}
	if _, nested := obj.(runtime.NestedObjectDecoder); nested || !typed.Settle(obj) {
		return Decoded{}, typed.ErrUnsettled
	}
	if err := typed.Merge(obj, patch); err != nil {
		return Decoded{}, err
	}
	c.scheme.Default(obj)
	obj, err = c.convertor.ConvertToVersion(obj, c.hub)
	return Decoded{Object: obj}, err
}

// PatchedError says that the result of a patch cannot be decoded.
type PatchedError struct{ Err error }

func (e *PatchedError) Error() string { return e.Err.Error() }
func (e *PatchedError) Unwrap() error { return e.Err }

// StrategicMerge is Patches.StrategicMerge for Go types.
func (c *TypedCodec) StrategicMerge(current runtime.Object, patch map[string]any, validate bool) (runtime.Object, error) {
	versioned, err := c.scheme.ConvertToVersion(current, c.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
	if err != nil {
		return nil, err
	}
	patched, err := c.scheme.New(c.kind)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, patched)
	if err != nil {
		return nil, err
	}
	strict := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, patched, validate)
	if _, ok := runtime.AsStrictDecodingError(strict); strict != nil && !ok {
		return nil, &PatchedError{strict}
	}
	c.scheme.Default(patched)
	obj, err := c.scheme.ConvertToVersion(patched, c.hub)
	if err != nil {
		return nil, err
	}
	return obj, strict
}
