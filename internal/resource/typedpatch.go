package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patches returns the types of patches of a kind with Go types.
func (c *TypedCodec) Patches() Patches { return Patches{StrategicMerge: c.StrategicMerge} }

// PatchedError is the error of a patch whose result cannot be decoded.
type PatchedError struct{ Err error }

func (e *PatchedError) Error() string { return e.Err.Error() }
func (e *PatchedError) Unwrap() error { return e.Err }

// StrategicMerge implements Patches.StrategicMerge for Go types.
func (c *TypedCodec) StrategicMerge(current runtime.Object, patch map[string]any, validate bool) (runtime.Object, error) {
	versioned, err := c.scheme.ConvertToVersion(current, c.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	original, err := Tree(versioned)
	if err != nil {
		return nil, err
	}
	c.later.OmitFrom(original)
	patched, err := c.scheme.New(c.kind)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, patched)
	if err != nil {
		return nil, err
	}
	c.later.Rename(merged)
	strict := c.later.Restore(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, patched, validate))
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
